#include "sinter/tools/run_plan.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/checkpoint.h"
#include "sinter/runtime/half.h"
#include "sinter/runtime/npy.h"
#include "sinter/runtime/npz.h"
#include "sinter/runtime/session.h"
#include "sinter/runtime/status.h"

namespace sinter::tools {

namespace {

// What the command line gives for one input.
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
  absl::Status filled;
  switch (info.dtype) {
    case DType::kF64:
      filled = FillFloats<double>(tensor, bits);
      break;
    case DType::kF32:
      filled = FillFloats<float>(tensor, bits);
      break;
    case DType::kBf16:
      filled = FillFloats<BFloat16>(tensor, bits);
      break;
    case DType::kF16:
      filled = FillFloats<Float16>(tensor, bits);
      break;
    case DType::kI64:
      filled = FillBits<int64_t>(tensor, bits);
      break;
    case DType::kI32:
      filled = FillBits<int32_t>(tensor, bits);
      break;
    case DType::kI8:
      filled = FillBits<int8_t>(tensor, bits);
      break;
    case DType::kU8:
      filled = FillBits<uint8_t>(tensor, bits);
      break;
    case DType::kI1:
      filled = FillBits<bool>(tensor, bits);
      break;
  }
  SINTER_RETURN_IF_ERROR(filled);
  return tensor;
}

// The inputs of `function`, given or random; holds the tensors that `arguments` refer to.
absl::Status SetInputs(BoundFunction& function, GivenInputs& given, uint64_t seed,
                       std::vector<HostTensor>& random) {
  std::mt19937_64 bits(seed);
  random.reserve(function.inputs().size());
  for (const TensorInfo& info : function.inputs()) {
    auto found = given.find(info.name);
    if (found == given.end()) {
      SINTER_ASSIGN_OR_RETURN(HostTensor tensor, RandomTensor(info, bits));
      random.push_back(std::move(tensor));
      SINTER_RETURN_IF_ERROR(function.SetInput(info.name, random.back()));
    } else if (found->second.tensor) {
      SINTER_RETURN_IF_ERROR(function.SetInput(info.name, *found->second.tensor));
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

template <typename T>
std::string Summary(std::span<const T> values) {
  double low = static_cast<double>(values[0]), high = low, sum = 0;
  for (T value : values) {
    low = std::min(low, static_cast<double>(value));
    high = std::max(high, static_cast<double>(value));
    sum += static_cast<double>(value);
  }
  if (values.size() == 1) return absl::StrFormat("= %.9g", low);
  return absl::StrFormat("min %.6g, mean %.6g, max %.6g", low, sum / static_cast<double>(values.size()),
                         high);
}

template <typename T>
std::string SummaryAs(const HostTensor& tensor) {
  return Summary(
      std::span<const T>(static_cast<const T*>(tensor.data()), static_cast<size_t>(tensor.num_elements())));
}

std::string SummaryOf(const HostTensor& tensor) {
  if (tensor.num_elements() == 0) return "no elements";
  switch (tensor.dtype()) {
    case DType::kF64:
      return SummaryAs<double>(tensor);
    case DType::kF32:
      return SummaryAs<float>(tensor);
    case DType::kI64:
      return SummaryAs<int64_t>(tensor);
    case DType::kI32:
      return SummaryAs<int32_t>(tensor);
    case DType::kI8:
      return SummaryAs<int8_t>(tensor);
    case DType::kU8:
    case DType::kI1:
      return SummaryAs<uint8_t>(tensor);
    case DType::kBf16:
    case DType::kF16:
      break;
  }
  std::vector<float> values;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    values.push_back(tensor.dtype() == DType::kBf16
                         ? static_cast<const BFloat16*>(tensor.data())[i].ToFloat()
                         : static_cast<const Float16*>(tensor.data())[i].ToFloat());
  }
  return Summary(std::span<const float>(values));
}

// "-" where the rate would mean nothing.
std::string Rate(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? absl::StrFormat("%.2f", amount / seconds / 1e9) : "-";
}

void PrintProfile(const Profile& profile, std::ostream& out) {
  double sum = 0;
  for (const StepTimes& step : profile.steps) sum += step.seconds_total;
  auto is_elsewhere = [&](const StepTimes& step) { return step.device != profile.steps[0].device; };
  bool has_several = std::ranges::any_of(profile.steps, is_elsewhere);
  out << absl::StrFormat("%5s %10s %10s %6s %9s %9s  %s\n", "step", "ms mean", "ms min", "%", "GB/s",
                         "GFLOP/s", "what");
  double runs = static_cast<double>(std::max<int64_t>(profile.runs, 1));
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    const StepTimes& s = profile.steps[i];
    std::string lines = absl::StrJoin(s.locations.begin(),
                                      s.locations.begin() + std::min<size_t>(3, s.locations.size()), ", ");
    if (s.locations.size() > 3) absl::StrAppend(&lines, " and ", s.locations.size() - 3, " more");
    out << absl::StrFormat("%5d %10.4f %10.4f %6.1f %9s %9s  %s %s%s; %s\n", i, s.seconds_total / runs * 1e3,
                           s.seconds_min * 1e3, sum > 0 ? 100 * s.seconds_total / sum : 0.0,
                           Rate(s.bytes, s.seconds_min), Rate(s.flops, s.seconds_min), std::string(s.kind),
                           s.name, has_several ? " on " + s.device.ToString() : "",
                           lines.empty() ? "-" : lines);
  }
  out << absl::StrFormat("  sum %10.4f ms of steps, %.4f ms of whole runs\n", sum / runs * 1e3,
                         profile.seconds_total / runs * 1e3);
}

absl::Status SaveOutputs(const std::string& path, const Outputs& outputs) {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < outputs.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(const HostTensor* const output, outputs.Get(outputs.name(i)));
    SINTER_ASSIGN_OR_RETURN(HostTensor copy, output->Clone());
    tensors.push_back({std::string(outputs.name(i)), std::move(copy)});
  }
  return SaveNpz(path, tensors);
}

// Each run until its last device is done.
absl::Status TimeRuns(Session& session, BoundFunction& function, const RunOptions& options, Profile* profile,
                      std::ostream& out) {
  std::vector<double> ms;
  for (int i = 0; i < options.repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    SINTER_RETURN_IF_ERROR(function.Run(profile));
    SINTER_RETURN_IF_ERROR(session.Synchronize());
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  double first = ms[0];
  std::ranges::sort(ms);
  out << absl::StrFormat("%d %s: median %.4f ms, least %.4f ms, first %.4f ms\n", options.repeat,
                         options.repeat == 1 ? "run" : "runs", ms[ms.size() / 2], ms[0], first);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunPlan(const RunOptions& options, std::ostream& out) {
  if (options.repeat < 1) return absl::InvalidArgumentError("--repeat must be at least 1");
  SINTER_ASSIGN_OR_RETURN(Plan plan, Plan::Load(options.plan));
  SINTER_ASSIGN_OR_RETURN(std::string name, FunctionName(plan, options.function));
  SINTER_ASSIGN_OR_RETURN(GivenInputs given, ReadInputs(options.inputs));
  SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan), {.threads = options.threads}));
  if (!options.checkpoint.empty())
    SINTER_RETURN_IF_ERROR(LoadCheckpoint(session, options.checkpoint).status());
  SINTER_ASSIGN_OR_RETURN(BoundFunction function, session.Bind(name));
  std::vector<HostTensor> random;
  SINTER_RETURN_IF_ERROR(SetInputs(function, given, options.seed, random));

  Profile profile;
  SINTER_RETURN_IF_ERROR(TimeRuns(session, function, options, options.profile ? &profile : nullptr, out));
  Outputs outputs = function.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(const HostTensor* const output, outputs.Get(outputs.name(i)));
    out << "output " << outputs.name(i) << ": " << output->ToString() << " " << SummaryOf(*output) << "\n";
  }
  if (options.profile) PrintProfile(profile, out);
  if (!options.output.empty()) SINTER_RETURN_IF_ERROR(SaveOutputs(options.output, outputs));
  if (!options.save_checkpoint.empty())
    SINTER_RETURN_IF_ERROR(SaveCheckpoint(session, options.save_checkpoint));
  return absl::OkStatus();
}

}  // namespace sinter::tools
