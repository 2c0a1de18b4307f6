#include "sinter/bench/sweep/draw.h"

#include <exception>
#include <fstream>
#include <map>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter::bench {

namespace {

const std::map<std::string, DType>& DrawnTypes() {
  static const auto* const kTypes = new std::map<std::string, DType>{
      {"f32", F32}, {"bf16", BF16}, {"i32", I32}, {"i64", I64}, {"i8", I8}, {"i1", I1}};
  return *kTypes;
}

const std::map<std::string, DrawnOperand::Kind>& DrawnKinds() {
  static const auto* const kKinds =
      new std::map<std::string, DrawnOperand::Kind>{{"normal", DrawnOperand::Kind::kNormal},
                                                    {"whole", DrawnOperand::Kind::kWhole},
                                                    {"truth", DrawnOperand::Kind::kTruth},
                                                    {"parameter", DrawnOperand::Kind::kParameter}};
  return *kKinds;
}

DrawnOperand OperandOf(const nlohmann::json& json) {
  return {.name = json.at("name"),
          .dtype = DrawnTypes().at(json.at("dtype")),
          .shape = json.at("shape").get<Shape>(),
          .kind = DrawnKinds().at(json.at("kind")),
          .scale = json.at("scale"),
          .high = json.at("high")};
}

Draw DrawOf(const nlohmann::json& json) {
  Draw draw{.id = json.at("id"),
            .form = json.at("form"),
            .name = json.at("name"),
            .dtype = DrawnTypes().at(json.at("dtype")),
            .operands = {},
            .wrt = json.at("wrt").get<std::vector<std::string>>(),
            .is_whole = json.at("whole"),
            .options = json.at("options")};
  for (const nlohmann::json& operand : json.at("operands")) draw.operands.push_back(OperandOf(operand));
  return draw;
}

// Numbers that are equal on every machine: splitmix64 (Steele et al., "Fast Splittable Pseudorandom Number
// Generators", 2014).
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  double NextUnit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

template <typename T>
absl::Status FillWhole(HostTensor& tensor, int64_t high, SplitMix& numbers) {
  SINTER_ASSIGN_OR_RETURN(const std::span<T> values, tensor.MutableSpan<T>());
  for (T& value : values) value = static_cast<T>(numbers.Next() % static_cast<uint64_t>(high));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Draw>> ReadDraws(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::vector<Draw> draws;
  std::string line;
  while (std::getline(file, line)) {
    try {
      draws.push_back(DrawOf(nlohmann::json::parse(line)));
    } catch (const std::exception& error) {  // From nlohmann or a map of names.
      return absl::InvalidArgumentError(absl::StrCat(path, ", line ", draws.size() + 1, ": ", error.what()));
    }
  }
  return draws;
}

absl::StatusOr<HostTensor> DrawValues(const Draw& draw, const DrawnOperand& operand) {
  uint64_t seed = static_cast<uint64_t>(draw.id);
  for (const char letter : operand.name) seed = seed * 257 + static_cast<uint64_t>(letter);
  SplitMix numbers(seed);
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::Empty(operand.dtype, operand.shape));
  if (operand.kind == DrawnOperand::Kind::kTruth && operand.dtype == I1) {
    SINTER_ASSIGN_OR_RETURN(const std::span<bool> values, tensor.MutableSpan<bool>());
    for (bool& value : values) value = numbers.NextUnit() < operand.scale;
  } else if (operand.kind == DrawnOperand::Kind::kWhole && operand.dtype == I32) {
    SINTER_RETURN_IF_ERROR(FillWhole<int32_t>(tensor, operand.high, numbers));
  } else if (operand.kind == DrawnOperand::Kind::kWhole && operand.dtype == I64) {
    SINTER_RETURN_IF_ERROR(FillWhole<int64_t>(tensor, operand.high, numbers));
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("no values of this kind for ", operand.name, ", ", tensor.ToString()));
  }
  return tensor;
}

}  // namespace sinter::bench
