#include "sinter/runtime/world/exchange_patience.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/environment.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter {
namespace {

// Per second: the operations and bytes of a device, or the bytes of a link.
constexpr double kGpuFlops = 1e12, kGpuF64Flops = 5e10, kGpuBytes = 2e10;
constexpr double kCpuFlops = 1e9, kCpuBytes = 1e9;
constexpr double kLinkBytes = 5e7;
constexpr double kSecondsOfStep = 1e-3;

constexpr int64_t kMostSeconds = 100'000'000;  // Three years.

double OperandBytes(const fb::Function& function, const fb::Step& step) {
  double bytes = 0;
  for (const auto* operands : {step.inputs(), step.outputs()}) {
    for (size_t i = 0; i < SizeOrZero(operands); ++i) {
      const fb::Buffer& buffer = *function.buffers()->Get(operands->Get(static_cast<uint32_t>(i)));
      bytes += static_cast<double>(buffer.bytes());
    }
  }
  return bytes;
}

bool ComputesInF64(const fb::Function& function, const fb::Step& step) {
  if (SizeOrZero(step.outputs()) == 0) return false;
  return function.buffers()->Get(step.outputs()->Get(0))->type()->dtype() == fb::DType::F64;
}

double SecondsOf(const fb::Function& function, const fb::Step& step, bool is_host) {
  if (StepKindOf(step).is_exchange || IsBetweenDevices(function, step)) {
    return kSecondsOfStep + OperandBytes(function, step) / kLinkBytes;
  }
  if (is_host) return kSecondsOfStep + step.flops() / kCpuFlops + step.bytes() / kCpuBytes;
  const double flops = ComputesInF64(function, step) ? kGpuF64Flops : kGpuFlops;
  return kSecondsOfStep + step.flops() / flops + step.bytes() / kGpuBytes;
}

}  // namespace

std::chrono::milliseconds LongestRunOf(const fb::Plan& plan, const fb::Function& function) {
  double hosts = 0;  // CPUs of one machine share its cores.
  std::vector<double> gpus(NumDevices(plan));
  for (size_t i = 0; i < SizeOrZero(function.steps()); ++i) {
    const fb::Step& step = *function.steps()->Get(static_cast<uint32_t>(i));
    const bool is_host = DeviceOf(plan, step.device()).is_host();
    (is_host ? hosts : gpus[step.device()]) += SecondsOf(function, step, is_host);
  }
  const double seconds = hosts + *std::ranges::max_element(gpus);
  // Not all plans are of our compiler: their numbers may be anything.
  if (!(seconds < static_cast<double>(kMostSeconds))) return std::chrono::seconds(kMostSeconds);
  return std::chrono::milliseconds(std::llround(seconds * 1e3));
}

absl::StatusOr<std::optional<std::chrono::milliseconds>> ExchangePatience::FromEnvironment() {
  const std::string text = Environment(kExchangePatienceVariable);
  if (text.empty()) return std::nullopt;
  int64_t seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || read != end || seconds < 0 || seconds > kMostSeconds) {
    return absl::InvalidArgumentError(
        absl::StrCat(kExchangePatienceVariable, " is \"", text,
                     "\": write the seconds that a rank waits for the others in one exchange, 1 to ",
                     kMostSeconds, ", or 0 for no limit"));
  }
  return std::chrono::seconds(seconds);
}

absl::StatusOr<ExchangePatience> ExchangePatience::Of(std::optional<std::chrono::milliseconds> option) {
  ExchangePatience made;
  if (!option.has_value()) {
    SINTER_ASSIGN_OR_RETURN(made.given_, FromEnvironment());
    return made;
  }
  if (option->count() != 0 && *option < std::chrono::seconds(1)) {
    return absl::InvalidArgumentError(absl::StrCat("SessionOptions::exchange_patience is ", option->count(),
                                                   " ms: give at least 1000, or 0 for no limit"));
  }
  made.given_ = option;
  return made;
}

std::chrono::milliseconds ExchangePatience::WithinRun(const fb::Plan& plan,
                                                      const fb::Function& function) const {
  return given_.has_value() ? *given_ : kLeastPatience + LongestRunOf(plan, function);
}

}  // namespace sinter
