#include "sinter/tools/function_call.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/formats/npy.h"
#include "sinter/runtime/formats/npz.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/checkpoint.h"

namespace sinter::tools {

namespace {

// The value of one input on the command line: a tensor, or `number` if `tensor` is nullopt.
struct Given {
  std::optional<HostTensor> tensor;
  double number = 0;
};
using GivenInputs = std::map<std::string, Given>;

absl::Status AddGiven(GivenInputs& given, const std::string& name, Given value) {
  if (!given.emplace(name, std::move(value)).second) {
    return absl::InvalidArgumentError(absl::StrCat("--input gives \"", name, "\" twice"));
  }
  return absl::OkStatus();
}

absl::StatusOr<GivenInputs> ReadInputs(const std::vector<std::string>& arguments) {
  GivenInputs given;
  for (const std::string& argument : arguments) {
    size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      if (!std::string_view(argument).ends_with(".npz")) {
        return absl::InvalidArgumentError(
            absl::StrCat("--input ", argument, ": expected name=file.npy, name=number or file.npz"));
      }
      SINTER_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors, LoadNpz(argument));
      for (NamedTensor& t : tensors) SINTER_RETURN_IF_ERROR(AddGiven(given, t.name, {std::move(t.tensor)}));
      continue;
    }
    std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
    double number = 0;
    if (absl::SimpleAtod(value, &number)) {
      SINTER_RETURN_IF_ERROR(AddGiven(given, name, {std::nullopt, number}));
      continue;
    }
    SINTER_ASSIGN_OR_RETURN(HostTensor tensor, LoadNpy(value));
    SINTER_RETURN_IF_ERROR(AddGiven(given, name, {std::move(tensor)}));
  }
  return given;
}

template <typename T>
T FromFloat(float value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    return T::FromFloat(value);
  }
}

template <typename T>
absl::Status FillFloats(HostTensor& tensor, std::mt19937_64& bits) {
  SINTER_ASSIGN_OR_RETURN(std::span<T> values, tensor.MutableSpan<T>());
  for (T& value : values) {
    float unit = static_cast<float>(bits() >> 40) / static_cast<float>(1 << 24);
    value = FromFloat<T>(tensor.rank() == 0 ? 0.01f : 2 * unit - 1);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status FillBits(HostTensor& tensor, std::mt19937_64& bits) {
  SINTER_ASSIGN_OR_RETURN(std::span<T> values, tensor.MutableSpan<T>());
  for (T& value : values) value = static_cast<T>(bits() & 1);
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> RandomTensor(const TensorInfo& info, std::mt19937_64& bits) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::Empty(info.dtype, info.shape));
  const absl::Status filled = WithElementType(info.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) {
      return FillBits<T>(tensor, bits);
    } else {
      return FillFloats<T>(tensor, bits);
    }
  });
  SINTER_RETURN_IF_ERROR(filled);
  return tensor;
}

// Sets every input of `function` to its given value or to random numbers. `function` borrows the tensors in
// `tensors`.
absl::Status SetInputs(BoundFunction& function, GivenInputs& given, uint64_t seed,
                       std::vector<HostTensor>& tensors) {
  std::mt19937_64 bits(seed);
  tensors.reserve(function.inputs().size());
  for (const TensorInfo& info : function.inputs()) {
    auto found = given.find(info.name);
    if (found == given.end()) {
      SINTER_ASSIGN_OR_RETURN(HostTensor tensor, RandomTensor(info, bits));
      tensors.push_back(std::move(tensor));
      SINTER_RETURN_IF_ERROR(function.SetInput(info.name, tensors.back()));
    } else if (found->second.tensor) {
      tensors.push_back(*std::move(found->second.tensor));
      SINTER_RETURN_IF_ERROR(function.SetInput(info.name, tensors.back()));
    } else {
      SINTER_RETURN_IF_ERROR(function.SetScalar(info.name, found->second.number));
    }
  }
  for (const auto& [name, value] : given) {
    auto is_it = [&](const TensorInfo& info) { return info.name == name; };
    if (std::ranges::any_of(function.inputs(), is_it)) continue;
    std::vector<std::string> names;
    for (const TensorInfo& info : function.inputs()) names.push_back(info.name);
    return absl::InvalidArgumentError(
        absl::StrCat("the function has no input \"", name, "\"; it has ", absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> FunctionName(const Plan& plan, const std::string& asked) {
  if (!asked.empty()) {
    SINTER_RETURN_IF_ERROR(plan.Function(asked).status());
    return asked;
  }
  std::vector<std::string> names;
  for (const FunctionInfo& info : plan.Functions()) names.push_back(info.name);
  if (names.size() == 1) return names[0];
  return absl::InvalidArgumentError(absl::StrCat(
      "the plan has ", names.size(), " functions; choose one with --function: ", absl::StrJoin(names, ", ")));
}

}  // namespace

absl::StatusOr<FunctionCall> FunctionCall::Make(const FunctionCallOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  SINTER_ASSIGN_OR_RETURN(Plan plan, Plan::Load(options.plan));
  const std::chrono::duration<double> plan_time = std::chrono::steady_clock::now() - start;
  SINTER_ASSIGN_OR_RETURN(std::string name, FunctionName(plan, options.function));
  SINTER_ASSIGN_OR_RETURN(GivenInputs given, ReadInputs(options.inputs));
  SINTER_ASSIGN_OR_RETURN(Session session,
                          Session::Create(std::move(plan), {.threads = options.threads,
                                                            .world = options.world,
                                                            .expected_hash = options.expected_hash}));
  if (!options.checkpoint.empty()) {
    const LoadOptions load = {.allow_unchecked = options.allow_unchecked};
    SINTER_RETURN_IF_ERROR(LoadCheckpoint(session, options.checkpoint, load).status());
  }
  SINTER_ASSIGN_OR_RETURN(BoundFunction function, session.Bind(name));
  FunctionCall call(std::move(name), std::move(session), std::move(function));
  call.plan_seconds_ = plan_time.count();
  SINTER_RETURN_IF_ERROR(SetInputs(call.function_, given, options.seed, call.inputs_));
  return call;
}

}  // namespace sinter::tools
