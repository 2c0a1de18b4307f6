// One function of a plan, loaded: its steps, on their devices, and the tables of pointers that they read. What a Session is
// made of.
//
// Phases: Load makes the steps and says what memory they need; Place, once that memory is there, resolves every pointer;
// Run binds the inputs and launches the steps in the order of launch_order.h, allocating nothing.
//
//   SINTER_ASSIGN_OR_RETURN(auto train, FunctionState::Load(plan, *plan.functions()->Get(0), &memory, pool));
//   train->Place();
//   SINTER_RETURN_IF_ERROR(train->Run(inputs, nullptr));
//
// Launches of several steps on a device that records them (DeviceRuntime::Record) are recorded in the second run, because
// libraries set themselves up in the first, and replayed from then on. With a profile every step runs by itself.
//
// One thread at a time. Neither the plan, the memory with its runtimes, nor the pool may go away before it.
#ifndef SINTER_RUNTIME_EXECUTABLE_H_
#define SINTER_RUNTIME_EXECUTABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/device_runtime.h"
#include "sinter/runtime/function_inputs.h"
#include "sinter/runtime/function_outputs.h"
#include "sinter/runtime/launch_order.h"
#include "sinter/runtime/plan.h"
#include "sinter/runtime/profile.h"
#include "sinter/runtime/session.h"
#include "sinter/runtime/session_memory.h"
#include "sinter/runtime/step.h"
#include "sinter/runtime/thread_pool.h"

namespace sinter::fb {
struct Function;
struct Step;
}  // namespace sinter::fb

namespace sinter::internal_session {

class FunctionState {
 public:
  // Of `memory` only the runtimes are looked at.
  static absl::StatusOr<std::unique_ptr<FunctionState>> Load(const fb::Plan& plan, const fb::Function& table,
                                                             Memory* memory, const ThreadPool& pool);

  const FunctionInfo& info() const { return info_; }
  // -1: no such input.
  int FindInput(std::string_view name) const;

  const FunctionInputs& inputs() const { return inputs_; }
  FunctionOutputs& outputs() { return outputs_; }
  size_t LibraryWorkspaceBytes(uint32_t device) const { return library_workspace_bytes_[device]; }

  void Place();

  // What is wrong with an argument for an input, or nothing, in which case `value` is bound to it.
  absl::Status Bind(const Argument& argument, InputValue* value) const;
  absl::Status Run(std::span<const InputValue> inputs, Profile* profile);

 private:
  struct LoadedStep {
    std::unique_ptr<Step> step;  // Null: a copy from another device.
    const fb::Step* table;
    size_t first_slot;
  };
  struct LoadedLaunch {
    Launch launch;
    bool may_record;
    std::unique_ptr<RecordedWork> recorded;
  };
  // A table entry that points into an input in main memory.
  struct InputSlot {
    size_t slot;
    size_t input;
    size_t offset;
  };

  FunctionState(const fb::Plan& plan, const fb::Function& table, Memory* memory, const ThreadPool& pool);

  absl::Status LoadSteps();
  DeviceRuntime& RuntimeOf(uint32_t device) const { return *memory_->devices[device].runtime; }
  std::byte* PointerOf(uint32_t buffer) const;
  absl::Status CheckAllSet(std::span<const InputValue> inputs) const;
  absl::Status FillArenas();
  absl::Status RunStep(size_t index);
  absl::Status RunSteps(const Launch& launch);
  absl::Status RunLaunch(LoadedLaunch& launch);
  absl::Status RunLaunches();
  absl::Status RunOneByOne(Profile* profile);
  void PrepareProfile(Profile* profile) const;
  // The status with the step's name in front.
  absl::Status AtStep(size_t index, const absl::Status& status) const;

  const fb::Plan* plan_;
  const fb::Function* table_;
  Memory* memory_;
  const ThreadPool* pool_;
  FunctionInfo info_;
  FunctionInputs inputs_;
  FunctionOutputs outputs_;
  std::vector<size_t> library_workspace_bytes_;  // Of each device.
  std::vector<LoadedStep> steps_;
  std::vector<void*> slots_;
  std::vector<InputSlot> input_slots_;
  std::vector<LoadedLaunch> launches_;
  std::vector<Wait> last_waits_;
  bool has_run_ = false;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTABLE_H_
