#include "sinter/tools/predict/measured_steps.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/device/profile.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/tools/predict/lone_world.h"
#include "sinter/tools/predict/plan_simulation.h"

namespace sinter::tools {
namespace {

// The first run initializes libraries and the second captures the graph; then caches and clocks settle.
constexpr int kWarmUp = 5;

double MedianOf(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// The medians of the entries of a profile.
absl::StatusOr<std::vector<double>> TimeEntries(FunctionCall& call, int repeat) {
  for (int run = 0; run < kWarmUp; ++run) SINTER_RETURN_IF_ERROR(call.function().Run());
  std::vector<std::vector<double>> samples;
  std::vector<double> totals;
  Profile profile;
  // Run -1 captures the graph with its events and is not counted.
  for (int run = -1; run < repeat; ++run) {
    SINTER_RETURN_IF_ERROR(call.function().Run(&profile));
    samples.resize(profile.steps.size());
    totals.resize(profile.steps.size());
    for (size_t i = 0; i < totals.size(); ++i) {
      const double total = profile.steps[i].seconds_total;
      if (run >= 0) samples[i].push_back(total - totals[i]);
      totals[i] = total;
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& of_step : samples) medians.push_back(MedianOf(std::move(of_step)));
  return medians;
}

uint32_t IndexOf(const fb::Plan& plan, const fb::Function* function) {
  uint32_t index = 0;
  while (plan.functions()->Get(index) != function) ++index;
  return index;
}

class StepsMeasurement {
 public:
  StepsMeasurement(const FunctionCallOptions& call, const MeasureStepsOptions& options)
      : call_(call), options_(options) {}

  absl::StatusOr<MeasuredSteps> Run() {
    if (options_.repeat < 1) return absl::InvalidArgumentError("--repeat must be at least 1");
    SINTER_ASSIGN_OR_RETURN(const Plan plan, Plan::Load(call_.plan));
    const fb::Plan& table = plan.table();
    SINTER_ASSIGN_OR_RETURN(const std::string name, ChooseFunction(plan, call_.function));
    measured_.repeat = options_.repeat;
    const uint32_t devices = NumDevices(table);
    const RankMesh mesh(table);
    for (const std::vector<const fb::Function*>& variants : FunctionVariants(table)) {
      if (variants.front()->name()->string_view() != name) continue;
      for (const fb::Function* const variant : variants) {
        const uint32_t index = IndexOf(table, variant);
        if (table.mesh() == nullptr) {
          for (uint32_t d = 0; d < devices; ++d) SINTER_RETURN_IF_ERROR(Measure(*variant, index, d, devices));
          continue;
        }
        uint32_t rank = 0;
        while (VariantOf(mesh, variants, rank) != variant) ++rank;
        SINTER_RETURN_IF_ERROR(Measure(*variant, index, rank, mesh.num_ranks()));
      }
    }
    return std::move(measured_);
  }

 private:
  // The times of one process's part of the function. `processes`: each has one rank of the mesh, or without a
  // mesh one device.
  absl::Status Measure(const fb::Function& function, uint32_t index, uint32_t process, uint32_t processes) {
    LoneWorld world(static_cast<int>(process), static_cast<int>(processes));
    FunctionCallOptions options = call_;
    if (processes > 1) options.world = &world;
    SINTER_ASSIGN_OR_RETURN(FunctionCall call, FunctionCall::Make(options));
    SINTER_ASSIGN_OR_RETURN(const std::vector<double> entries, TimeEntries(call, options_.repeat));
    AddWorkspaces(call.session(), process);
    const bool has_mesh = call.session().plan().table().mesh() != nullptr;
    size_t entry = 0;
    for (uint32_t i = 0; i < SizeOrZero(function.steps()); ++i) {
      const fb::Step& step = *function.steps()->Get(i);
      const bool is_between = IsBetweenDevices(function, step);
      // As the runtime decides it: a copy between processes is a step of both.
      const auto is_here = [&](uint32_t device) { return has_mesh || processes == 1 || device == process; };
      const bool is_sent = is_between && !IsCopyOfInput(function, step) &&
                           is_here(function.buffers()->Get(step.inputs()->Get(0))->device());
      if (!is_here(step.device()) && !is_sent) continue;
      if (entry == entries.size()) return Differs();
      if (!StepKindOf(step).is_exchange && !is_between) measured_.seconds[{index, i}] = entries[entry];
      ++entry;
    }
    if (entry != entries.size()) return Differs();
    if (!measured_.device.empty()) return absl::OkStatus();
    const Device device = call.session().allocator().device();
    SINTER_ASSIGN_OR_RETURN(const DeviceInfo described, QueryDevice(device));
    measured_.device = absl::StrCat(device.ToString(), " (", described.name, ")");
    return absl::OkStatus();
  }

  // Without a mesh and with several processes, each has one device of the plan.
  void AddWorkspaces(const Session& session, uint32_t process) {
    const fb::Plan& table = session.plan().table();
    const RankMesh mesh(table);
    const uint32_t rank = table.mesh() == nullptr ? 0 : process;
    for (uint32_t d = 0; d < NumDevices(table); ++d) {
      const int64_t bytes = session.memory(DeviceOfRank(table, rank, d)).library_workspace;
      uint64_t& most = measured_.library_bytes[d];
      most = std::max(most, static_cast<uint64_t>(bytes));
    }
  }

  static absl::Status Differs() {
    return absl::InternalError("the profile of a rank has other steps than its function");
  }

  const FunctionCallOptions& call_;
  const MeasureStepsOptions& options_;
  MeasuredSteps measured_;
};

}  // namespace

absl::StatusOr<MeasuredSteps> MeasureSteps(const FunctionCallOptions& call,
                                           const MeasureStepsOptions& options) {
  return StepsMeasurement(call, options).Run();
}

}  // namespace sinter::tools
