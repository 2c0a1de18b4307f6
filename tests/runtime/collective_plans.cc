#include "sinter/tests/runtime/collective_plans.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sinter/runtime/host/number.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/collective.h"

namespace sinter {
namespace {

using Kind = fb::CollectiveKind;

bool IsInParts(const CollectiveCase& c) { return c.kind == Kind::AllGather || c.kind == Kind::ReduceScatter; }
int64_t Total(const CollectiveCase& c) { return std::accumulate(c.sizes.begin(), c.sizes.end(), int64_t{0}); }

// Returns the device index of a rank.
uint32_t DeviceOfRank(const CollectiveCase& c, uint32_t rank) {
  return c.first_device + (c.is_reversed ? c.members - 1 - rank : rank);
}

// Returns the sizes of a member's inputs. OutputSizes returns the sizes of its outputs.
std::vector<int64_t> InputSizes(const CollectiveCase& c, uint32_t rank) {
  if (c.kind == Kind::AllGather) return {c.sizes[rank]};
  if (c.kind == Kind::ReduceScatter) return {Total(c)};
  if (c.kind == Kind::Broadcast && rank != c.root) return {};
  if (c.kind == Kind::SendRecv && rank != 0) return {};
  return c.sizes;
}
std::vector<int64_t> OutputSizes(const CollectiveCase& c, uint32_t rank) {
  if (c.kind == Kind::AllGather) return {Total(c)};
  if (c.kind == Kind::ReduceScatter) return {c.sizes[rank]};
  if (c.kind == Kind::Reduce && rank != c.root) return {};
  if (c.kind == Kind::SendRecv && rank != 1) return {};
  return c.sizes;
}

int64_t StartOf(const CollectiveCase& c, uint32_t rank) {
  return std::accumulate(c.sizes.begin(), c.sizes.begin() + rank, int64_t{0});
}

std::string InputName(uint32_t rank, size_t i) { return absl::StrCat("x", rank, "_", i); }
std::string OutputName(uint32_t rank, size_t i) { return absl::StrCat("y", rank, "_", i); }

// The buffers that a member's collective reads and writes.
struct Operands {
  std::vector<uint32_t> inputs, outputs;
};

// Makes the whole buffers before the parts that are in them.
Operands MemberBuffers(TestFunction& f, const CollectiveCase& c, uint32_t rank) {
  const uint32_t device = DeviceOfRank(c, rank);
  Operands made;
  std::vector<uint32_t> given;
  const std::vector<int64_t> in = InputSizes(c, rank), out = OutputSizes(c, rank);
  for (size_t i = 0; i < in.size(); ++i) {
    given.push_back(f.Input(InputName(rank, i), c.dtype, {in[i]}, device));
  }
  const uint64_t start = static_cast<uint64_t>(StartOf(c, IsInParts(c) ? rank : 0) * SizeOf(c.dtype));
  const auto part_of = [&](uint32_t whole, int64_t size) {
    return f.Buffer(fb::Space::Arena, 0, f.table().buffers[whole]->offset + start, c.dtype, {size}, device);
  };
  if (c.kind == Kind::AllGather && c.is_in_place) {
    made.outputs = {f.Arena(c.dtype, {out[0]}, device)};
    made.inputs = {part_of(made.outputs[0], in[0])};
  } else if (c.is_in_place || c.is_flat) {
    for (const int64_t size : in) made.inputs.push_back(f.Arena(c.dtype, {size}, device));
    if (c.is_in_place && !in.empty()) {
      made.outputs =
          c.kind == Kind::ReduceScatter ? std::vector{part_of(made.inputs[0], out[0])} : made.inputs;
      made.outputs.resize(out.size());
    }
  } else {
    made.inputs = given;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (made.inputs[i] != given[i]) f.Copy(given[i], made.inputs[i]);
  }
  for (size_t i = made.outputs.size(); i < out.size(); ++i) {
    made.outputs.push_back(f.Arena(c.dtype, {out[i]}, device));
  }
  return made;
}

uint64_t LoadBits(DType dtype, const void* from) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(SizeOf(dtype)));
  return bits;
}

int64_t LoadInteger(DType dtype, const void* from) {
  const uint64_t bits = LoadBits(dtype, from);
  switch (dtype) {
    case DType::kI32:
      return static_cast<int32_t>(bits);
    case DType::kI16:
      return static_cast<int16_t>(bits);
    case DType::kI8:
      return static_cast<int8_t>(bits);
    default:
      return static_cast<int64_t>(bits);
  }
}

// Rounds to the type in which the collective computes: f64 for f64, else f32.
double Rounded(DType dtype, double value) {
  return dtype == DType::kF64 ? value : static_cast<double>(static_cast<float>(value));
}

// Returns the value that a store of the type keeps: values too large for f16 become infinite.
double Storable(DType dtype, double value) {
  constexpr double kOverflow = 65520;  // Rounds beyond the largest f16, 65504.
  return dtype == DType::kF16 && std::abs(value) >= kOverflow ? std::copysign(INFINITY, value) : value;
}

double Larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

// Computes in double and rounds to float. For sums of two floats and for quotients this equals float
// arithmetic.
void CombineOne(const CollectiveCase& c, const std::vector<const std::byte*>& values, std::byte* to) {
  const double count = static_cast<double>(values.size());
  if (IsFloat(c.dtype)) {
    double result = LoadNumber(c.dtype, values[0]);
    for (size_t i = 1; i < values.size(); ++i) {
      const double next = LoadNumber(c.dtype, values[i]);
      if (c.combine == fb::ReduceOp::Max) result = Larger(result, next);
      if (c.combine == fb::ReduceOp::Min) result = -Larger(-result, -next);
      if (c.combine <= fb::ReduceOp::Mean) result = Rounded(c.dtype, result + next);
    }
    if (c.combine == fb::ReduceOp::Mean) result = Rounded(c.dtype, result / count);
    SINTER_CHECK(StoreNumber(Storable(c.dtype, result), c.dtype, to).ok());
    return;
  }
  int64_t result = LoadInteger(c.dtype, values[0]);
  for (size_t i = 1; i < values.size(); ++i) {
    const int64_t next = LoadInteger(c.dtype, values[i]);
    const bool is_more =
        c.dtype == DType::kU64 ? static_cast<uint64_t>(next) > static_cast<uint64_t>(result) : next > result;
    if (c.combine == fb::ReduceOp::Max && is_more) result = next;
    if (c.combine == fb::ReduceOp::Min && !is_more) result = next;
    if (c.combine <= fb::ReduceOp::Mean) {
      result = static_cast<int64_t>(static_cast<uint64_t>(result) + static_cast<uint64_t>(next));
    }
  }
  if (c.combine == fb::ReduceOp::Mean) {
    const uint64_t bits = static_cast<uint64_t>(result);
    result = c.dtype == DType::kU64 ? static_cast<int64_t>(bits / values.size())
                                    : result / static_cast<int64_t>(values.size());
  }
  std::memcpy(to, &result, static_cast<size_t>(SizeOf(c.dtype)));
}

const std::byte* BytesAt(const HostTensor& tensor, int64_t element) {
  return static_cast<const std::byte*>(tensor.data()) + element * SizeOf(tensor.dtype());
}

HostTensor Slice(const HostTensor& tensor, int64_t begin, int64_t size) {
  HostTensor part = *HostTensor::Empty(tensor.dtype(), {size});
  if (size > 0) {
    std::memcpy(part.mutable_data(), BytesAt(tensor, begin), static_cast<size_t>(part.num_bytes()));
  }
  return part;
}

HostTensor Joined(const CollectiveCase& c, const std::vector<HostTensor>& parts) {
  int64_t size = 0;
  for (const HostTensor& part : parts) size += part.num_elements();
  HostTensor whole = *HostTensor::Empty(c.dtype, {size});
  std::byte* to = static_cast<std::byte*>(whole.mutable_data());
  for (const HostTensor& part : parts) {
    if (part.num_bytes() > 0) std::memcpy(to, part.data(), static_cast<size_t>(part.num_bytes()));
    to += part.num_bytes();
  }
  return whole;
}

// Returns one output as CollectiveKind defines it.
HostTensor Expected(const CollectiveCase& c, const std::map<std::string, HostTensor>& inputs, uint32_t rank,
                    size_t tensor) {
  const auto input = [&](uint32_t r, size_t i) -> const HostTensor& { return inputs.at(InputName(r, i)); };
  if (c.kind == Kind::Broadcast) return *input(c.root, tensor).Clone();
  if (c.kind == Kind::SendRecv) return *input(0, 0).Clone();
  if (c.kind == Kind::RingShift) return *input((rank + c.members - c.root) % c.members, tensor).Clone();
  if (c.kind == Kind::AllGather || c.kind == Kind::AllToAll) {
    std::vector<HostTensor> parts;
    const int64_t part = c.sizes[0] / c.members;
    for (uint32_t r = 0; r < c.members; ++r) {
      const bool gathers = c.kind == Kind::AllGather;
      parts.push_back(gathers ? *input(r, 0).Clone() : Slice(input(r, 0), rank * part, part));
    }
    return Joined(c, parts);
  }
  const HostTensor& first = input(0, tensor);
  HostTensor all = *HostTensor::Empty(c.dtype, {first.num_elements()});
  std::vector<const HostTensor*> members;
  for (uint32_t r = 0; r < c.members; ++r) members.push_back(&input(r, tensor));
  std::vector<const std::byte*> values(c.members);
  for (int64_t e = 0; e < first.num_elements(); ++e) {
    for (uint32_t r = 0; r < c.members; ++r) values[r] = BytesAt(*members[r], e);
    CombineOne(c, values, static_cast<std::byte*>(all.mutable_data()) + e * SizeOf(c.dtype));
  }
  return c.kind == Kind::ReduceScatter ? Slice(all, StartOf(c, rank), c.sizes[rank]) : std::move(all);
}

void FillWild(std::mt19937& random, HostTensor& tensor) {
  const DType dtype = tensor.dtype();
  constexpr double kSpecial[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, -65000.0};
  for (int64_t e = 0; e < tensor.num_elements(); ++e) {
    std::byte* const to = static_cast<std::byte*>(tensor.mutable_data()) + e * SizeOf(dtype);
    const uint32_t draw = random();
    if (IsFloat(dtype)) {
      const double value = draw % 4 == 0
                               ? kSpecial[draw / 4 % std::size(kSpecial)]
                               : std::ldexp(static_cast<int32_t>(random()), static_cast<int>(draw % 64) - 56);
      SINTER_CHECK(StoreNumber(Storable(dtype, value), dtype, to).ok());
    } else {
      const uint64_t bits = dtype == DType::kI1 ? draw % 2 : uint64_t{draw} << 32 | random();
      std::memcpy(to, &bits, static_cast<size_t>(SizeOf(dtype)));
    }
  }
}

// True if the bits are equal or both are NaN.
bool SameElement(DType dtype, const std::byte* a, const std::byte* b) {
  if (LoadBits(dtype, a) == LoadBits(dtype, b)) return true;
  return IsFloat(dtype) && std::isnan(LoadNumber(dtype, a)) && std::isnan(LoadNumber(dtype, b));
}

}  // namespace

std::string CollectiveCase::Name() const {
  std::string name = absl::StrCat(std::string(CollectiveName(kind)), "_", fb::EnumNameReduceOp(combine), "_",
                                  std::string(DTypeName(dtype)), "_", members);
  if (is_in_place) absl::StrAppend(&name, "_in_place");
  if (is_flat) absl::StrAppend(&name, "_flat");
  if (is_reversed) absl::StrAppend(&name, "_reversed");
  if (root > 0) absl::StrAppend(&name, "_root", root);
  for (const int64_t size : sizes) absl::StrAppend(&name, "_", size);
  return name;
}

TestPlan CollectivePlan(const CollectiveCase& c) {
  TestPlan plan;
  std::vector<Device> devices;
  for (int32_t d = 0; d < static_cast<int32_t>(c.first_device + c.members); ++d) {
    devices.push_back(c.device_kind == DeviceKind::kCpu ? Device::Cpu(d) : Device::Gpu(d));
  }
  plan.UseDevices(devices);
  TestFunction f(plan, "f");
  fb::CollectiveStepT step;
  step.kind = c.kind, step.combine = c.combine, step.dtype = static_cast<fb::DType>(c.dtype);
  step.channel = 7, step.root = c.root, step.is_flat = c.is_flat;
  if (IsInParts(c)) step.parts = c.sizes;
  for (uint32_t rank = 0; rank < c.members; ++rank) step.group.push_back(DeviceOfRank(c, rank));
  std::vector<Operands> operands;
  for (uint32_t rank = 0; rank < c.members; ++rank) operands.push_back(MemberBuffers(f, c, rank));
  for (uint32_t rank = 0; rank < c.members; ++rank) {
    step.rank = rank;
    step.elements = InputSizes(c, rank).empty() ? OutputSizes(c, rank) : InputSizes(c, rank);
    f.CollectiveLayout(step, operands[rank].inputs, operands[rank].outputs);
    for (size_t i = 0; i < operands[rank].outputs.size(); ++i) {
      f.Output(OutputName(rank, i), operands[rank].outputs[i]);
    }
  }
  return plan;
}

std::map<std::string, HostTensor> CollectiveInputs(const CollectiveCase& c, uint32_t seed, bool is_wild) {
  std::mt19937 random(seed);
  std::map<std::string, HostTensor> inputs;
  for (uint32_t rank = 0; rank < c.members; ++rank) {
    const std::vector<int64_t> sizes = InputSizes(c, rank);
    for (size_t i = 0; i < sizes.size(); ++i) {
      HostTensor tensor = *HostTensor::Empty(c.dtype, {sizes[i]});
      if (is_wild) FillWild(random, tensor);
      for (int64_t e = 0; !is_wild && e < sizes[i]; ++e) {
        const int64_t value = static_cast<int64_t>(random() % (c.dtype == DType::kI1 ? 2 : 16));
        std::byte* const to = static_cast<std::byte*>(tensor.mutable_data()) + e * SizeOf(c.dtype);
        SINTER_CHECK(StoreNumber(value, c.dtype, to).ok());
      }
      inputs.emplace(InputName(rank, i), std::move(tensor));
    }
  }
  return inputs;
}

std::map<std::string, HostTensor> ExpectedOutputs(const CollectiveCase& c,
                                                  const std::map<std::string, HostTensor>& inputs) {
  std::map<std::string, HostTensor> outputs;
  for (uint32_t rank = 0; rank < c.members; ++rank) {
    for (size_t i = 0; i < OutputSizes(c, rank).size(); ++i) {
      outputs.emplace(OutputName(rank, i), Expected(c, inputs, rank, i));
    }
  }
  return outputs;
}

void ExpectCollective(Session& session, const CollectiveCase& c, uint32_t seed, bool is_wild, bool has_all) {
  const std::map<std::string, HostTensor> inputs = CollectiveInputs(c, seed, is_wild);
  std::vector<Argument> arguments;
  for (const auto& [name, tensor] : inputs) arguments.emplace_back(name, tensor);
  const absl::StatusOr<Outputs> out = session.Run("f", arguments);
  ASSERT_TRUE(out.ok()) << c.Name() << ": " << out.status();
  for (const auto& [name, expected] : ExpectedOutputs(c, inputs)) {
    const absl::StatusOr<const HostTensor*> actual = out->Get(name);
    if (!has_all && absl::IsFailedPrecondition(actual.status())) continue;
    ASSERT_TRUE(actual.ok()) << c.Name() << ": " << actual.status();
    ASSERT_EQ((*actual)->shape(), expected.shape()) << c.Name() << ", " << name;
    for (int64_t e = 0; e < expected.num_elements(); ++e) {
      if (SameElement(c.dtype, BytesAt(**actual, e), BytesAt(expected, e))) continue;
      FAIL() << c.Name() << ", " << name << "[" << e << "] is " << LoadNumber(c.dtype, BytesAt(**actual, e))
             << ", not " << LoadNumber(c.dtype, BytesAt(expected, e));
    }
  }
}

}  // namespace sinter
