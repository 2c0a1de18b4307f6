#include "sinter/tools/roofline.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/tools/handmade_plan.h"
#include "sinter/tools/plan_text.h"

namespace sinter::tools {

namespace {

// Much larger than the caches.
constexpr int64_t kCpuCopyFloats = 1 << 25, kGpuCopyFloats = 1 << 26;
// Copies per run. A GPU reaches only two thirds of the rate if a graph contains a single copy.
constexpr int kCopies = 4;
// Larger matmuls than these are not faster.
constexpr int64_t kCpuMatmulSize = 1024, kGpuMatmulSize = 8192, kGpuDoubleMatmulSize = 4096;
constexpr int kMostRuns = 20, kLeastRuns = 3;
constexpr double kSeconds = 0.5;

int64_t SizeOfMatmul(Device device, const ContractionType& type) {
  if (device.is_host()) return kCpuMatmulSize;
  return type.dtype == DType::kF64 ? kGpuDoubleMatmulSize : kGpuMatmulSize;
}

HandmadePlan RooflinePlan(Device device) { return HandmadePlan({device}, "sinter profile", "roofline"); }

// Returns the times of the fastest step. All steps of the function are identical.
absl::StatusOr<StepTimes> BestTimes(Session& session, const std::string& name) {
  SINTER_ASSIGN_OR_RETURN(BoundFunction function, session.Bind(name));
  SINTER_RETURN_IF_ERROR(function.Run());
  SINTER_RETURN_IF_ERROR(session.Synchronize());
  Profile profile;
  for (int run = 0; run < kMostRuns; ++run) {
    if (run >= kLeastRuns && profile.seconds_total > kSeconds) break;
    SINTER_RETURN_IF_ERROR(function.Run(&profile));
  }
  return *std::ranges::min_element(profile.steps, {}, &StepTimes::seconds_min);
}

absl::StatusOr<Roofline> MeasureRoofline(Device device, const std::set<ContractionType>& types, int threads) {
  Roofline roofline{.device = device, .bytes_per_second = 0, .copied_bytes = 0, .matmuls = {}};
  {
    HandmadePlan plan = RooflinePlan(device);
    plan.AddCopy("copy", device.is_host() ? kCpuCopyFloats : kGpuCopyFloats, kCopies);
    SINTER_ASSIGN_OR_RETURN(Plan made, plan.Make());
    SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(made), {.threads = threads}));
    SINTER_ASSIGN_OR_RETURN(const StepTimes copy, BestTimes(session, "copy"));
    roofline.bytes_per_second = copy.bytes / copy.seconds_min;
    roofline.copied_bytes = copy.bytes / 2;
  }
  for (const ContractionType& type : types) {
    HandmadePlan plan = RooflinePlan(device);
    const int64_t size = SizeOfMatmul(device, type);
    plan.AddMatmul(type.ToString(), {.type = type, .m = size, .n = size, .k = size}, 1);
    SINTER_ASSIGN_OR_RETURN(Plan made, plan.Make());
    SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(made), {.threads = threads}));
    SINTER_ASSIGN_OR_RETURN(const StepTimes matmul, BestTimes(session, type.ToString()));
    roofline.matmuls[type] = {matmul.flops / matmul.seconds_min, size};
  }
  return roofline;
}

}  // namespace

absl::StatusOr<std::vector<Roofline>> MeasureRooflines(const fb::Plan& plan, const fb::Function& function,
                                                       int threads) {
  std::map<uint32_t, std::set<ContractionType>> types;
  for (const fb::Step* step : OrEmpty(function.steps())) {
    std::set<ContractionType>& of_device = types[step->device()];
    if (const std::optional<ContractionType> type = ContractionTypeOf(*step); type.has_value()) {
      of_device.insert(*type);
    }
  }
  std::vector<Roofline> rooflines;
  for (const auto& [device, of_device] : types) {
    SINTER_ASSIGN_OR_RETURN(Roofline roofline, MeasureRoofline(DeviceOf(plan, device), of_device, threads));
    rooflines.push_back(std::move(roofline));
  }
  return rooflines;
}

StepBound BoundOf(const fb::Function& function, const fb::Step& step, const Roofline& roofline) {
  if (StepKindOf(step).is_exchange || IsBetweenDevices(function, step)) return {};
  StepBound bound;
  if (step.bytes() > 0) bound = {step.bytes() / roofline.bytes_per_second, "memory"};
  const std::optional<ContractionType> type = ContractionTypeOf(step);
  if (!type.has_value() || !roofline.matmuls.contains(*type)) return bound;
  const double seconds = step.flops() / roofline.matmuls.at(*type).flops_per_second;
  return seconds > bound.seconds ? StepBound{seconds, "compute"} : bound;
}

}  // namespace sinter::tools
