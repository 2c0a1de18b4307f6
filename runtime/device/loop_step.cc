#include "sinter/runtime/device/loop_step.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/loop_workspace.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"

namespace sinter {
namespace {

class LoopStep : public Step {
 public:
  LoopStep(const fb::Plan& plan, const fb::Step& step, DeviceRuntime& runtime)
      : runtime_(runtime),
        fragment_(*plan.fragments()->Get(step.body_as_LoopStep()->fragment())),
        trips_(step.body_as_LoopStep()->trips()),
        guard_(step.body_as_LoopStep()->guard()),
        count_offset_(LoopCountOffset(ArenaBytes(fragment_, step.device()))) {
    const fb::LoopStep& table = *step.body_as_LoopStep();
    for (uint32_t i = 0; i < SizeOrZero(table.arguments()); ++i) {
      const fb::LoopArgument& argument = *table.arguments()->Get(i);
      arguments_.push_back({argument.operand(), argument.first(), argument.stride()});
    }
  }

  absl::Status Load(const fb::Plan& plan) {
    if (guard_ >= 0) SINTER_RETURN_IF_ERROR(runtime_.PrepareWhile());
    for (uint32_t i = 0; i < SizeOrZero(fragment_.steps()); ++i) {
      const fb::Step& table = *fragment_.steps()->Get(i);
      absl::StatusOr<std::unique_ptr<Step>> made = table.body_as_LoopStep() != nullptr
                                                       ? MakeLoopStep(plan, table, runtime_)
                                                       : runtime_.MakeStep(plan, table);
      if (!made.ok()) return AtStep(i, made.status());
      library_workspace_ = std::max(library_workspace_, (*made)->LibraryWorkspaceBytes());
      steps_.push_back({*std::move(made), &table, slots_.size()});
      AddSlots(table);
    }
    return absl::OkStatus();
  }

  size_t LibraryWorkspaceBytes() const override { return library_workspace_; }

  CaptureLimit capture_limit() const override {
    CaptureLimit limit = CaptureLimit::kAnywhere;
    for (const Inner& inner : steps_) limit = std::max(limit, inner.step->capture_limit());
    const bool is_condition = guard_ >= 0;
    return is_condition && limit != CaptureLimit::kAnywhere ? CaptureLimit::kNowhere : limit;
  }

  absl::Status Run(const StepArgs& args) override {
    std::byte* const arena = static_cast<std::byte*>(args.workspace);
    for (const Place& place : in_arena_) slots_[place.slot] = arena + place.offset;
    if (guard_ >= 0) return RunWhile(args);
    for (int64_t trip = 0; trip < trips_; ++trip) {
      SetParameters(args, trip);
      SINTER_RETURN_IF_ERROR(RunTrip(args, trip));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunWhile(const StepArgs& args) {
    // Without steps nothing changes the flag.
    if (trips_ == 0 || steps_.empty()) return absl::OkStatus();
    SetParameters(args, 0);
    int64_t trip = 0;
    return runtime_.RunWhile(args.buffers[guard_], static_cast<std::byte*>(args.workspace) + count_offset_,
                             trips_, [&] { return RunTrip(args, trip++); });
  }

  void SetParameters(const StepArgs& args, int64_t trip) {
    for (const Place& place : trip == 0 ? in_parameters_ : moving_) {
      const Argument& argument = arguments_[place.parameter];
      slots_[place.slot] = static_cast<std::byte*>(args.buffers[argument.operand]) + argument.first +
                           trip * argument.stride + place.offset;
    }
  }

  struct Argument {
    uint32_t operand;
    uint64_t first;
    int64_t stride;
  };
  struct Inner {
    std::unique_ptr<Step> step;
    const fb::Step* table;
    size_t first_slot;
  };
  // The target of a slot: bytes of the arena or of a parameter.
  struct Place {
    size_t slot;
    uint32_t parameter;
    uint64_t offset;
  };

  void AddSlots(const fb::Step& table) {
    for (const auto* indices : {table.inputs(), table.outputs()}) {
      for (uint32_t k = 0; k < SizeOrZero(indices); ++k) {
        const fb::Buffer& buffer = *fragment_.buffers()->Get(indices->Get(k));
        const Place place = {slots_.size(), buffer.index(), buffer.offset()};
        slots_.push_back(nullptr);
        if (buffer.space() == fb::Space::Arena) {
          in_arena_.push_back(place);
          continue;
        }
        in_parameters_.push_back(place);
        if (arguments_[buffer.index()].stride != 0) moving_.push_back(place);
      }
    }
  }

  absl::Status RunTrip(const StepArgs& args, int64_t trip) {
    std::byte* const arena = static_cast<std::byte*>(args.workspace);
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Inner& inner = steps_[i];
      const absl::Status status = inner.step->Run({.buffers = slots_.data() + inner.first_slot,
                                                   .workspace = inner.table->workspace_bytes() == 0
                                                                    ? nullptr
                                                                    : arena + inner.table->workspace_offset(),
                                                   .scratch = args.scratch,
                                                   .library_workspace = args.library_workspace});
      if (!status.ok()) return AtTrip(trip, AtStep(i, status));
    }
    return absl::OkStatus();
  }

  absl::Status AtStep(size_t index, const absl::Status& status) const {
    const fb::Step& table = *fragment_.steps()->Get(static_cast<uint32_t>(index));
    return absl::Status(status.code(), absl::StrCat("\"", Text(fragment_.name()), "\", step ", index, " (",
                                                    Text(table.name()), "): ", status.message()));
  }

  static absl::Status AtTrip(int64_t trip, const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat("trip ", trip, ", ", status.message()));
  }

  DeviceRuntime& runtime_;
  const fb::Function& fragment_;
  int64_t trips_;
  int32_t guard_;  // The operand that ends the loop; negative if there is none.
  uint64_t count_offset_;
  std::vector<Argument> arguments_;
  std::vector<Inner> steps_;
  std::vector<void*> slots_;  // Operands of all steps.
  std::vector<Place> in_arena_, in_parameters_;
  std::vector<Place> moving_;  // Those of `in_parameters_` that differ between trips.
  size_t library_workspace_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeLoopStep(const fb::Plan& plan, const fb::Step& step,
                                                   DeviceRuntime& runtime) {
  auto loop = std::make_unique<LoopStep>(plan, step, runtime);
  SINTER_RETURN_IF_ERROR(loop->Load(plan));
  return loop;
}

}  // namespace sinter
