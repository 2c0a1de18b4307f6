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
// Among several processes only the steps of this one's devices are loaded, and the members of a collective that are here run
// together (runtime/plan/collective.h).
//
// Launches of several steps on a device that records them (DeviceRuntime::Record) are recorded in the second run, because
// libraries set themselves up in the first, and replayed from then on. With a profile there is a second recording, with marks
// between the steps; in a function's first run, and where all devices are CPUs, every step runs by itself. Processes that
// exchange with each other's GPUs must run with a profile, or without, alike.
//
// Devices that are not CPUs and exchange with each other have each a thread that gives them their launches
// (runtime/execute/launch_threads.h). An error in a function with such collectives ends them on all ranks.
//
// A rank whose run fails, for whatever reason, gives up in the world: the others must not wait for it, nor take its next run for
// this one. A run that fails after a step has begun to write variables leaves them in doubt (Memory::in_doubt).
//
// One thread at a time. Neither the plan, the memory with its runtimes, nor the pool may go away before it.
#ifndef SINTER_RUNTIME_EXECUTE_EXECUTABLE_H_
#define SINTER_RUNTIME_EXECUTE_EXECUTABLE_H_

#include <atomic>
#include <chrono>
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
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/device/device_runtime.h"
#include "sinter/runtime/device/profile.h"
#include "sinter/runtime/device/step.h"
#include "sinter/runtime/device/stopwatch.h"
#include "sinter/runtime/execute/collective_joins.h"
#include "sinter/runtime/execute/function_inputs.h"
#include "sinter/runtime/execute/function_outputs.h"
#include "sinter/runtime/execute/index_checks.h"
#include "sinter/runtime/execute/launch_order.h"
#include "sinter/runtime/execute/launch_threads.h"
#include "sinter/runtime/execute/session_memory.h"
#include "sinter/runtime/execute/step_order.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/cpu/host_collective.h"
#include "sinter/runtime/tensor/argument.h"

namespace sinter::fb {
struct Function;
struct Step;
}  // namespace sinter::fb

namespace sinter::internal_session {

class FunctionState {
 public:
  // Of `memory` only the runtimes, the local devices and the world are looked at.
  static absl::StatusOr<std::unique_ptr<FunctionState>> Load(const fb::Plan& plan, const fb::Function& table,
                                                             Memory* memory, const ThreadPool& pool);

  const FunctionInfo& info() const { return info_; }
  // -1: no such input.
  int FindInput(std::string_view name) const;

  const FunctionInputs& inputs() const { return inputs_; }
  FunctionOutputs& outputs() { return outputs_; }
  size_t LibraryWorkspaceBytes(uint32_t device) const { return library_workspace_bytes_[device]; }

  void Place();

  // What is wrong with an argument for an input, or nothing, in which case `value` is bound to it. Among several processes a
  // tensor may have the rows alone that are read here (FunctionInputs::Rows).
  absl::Status Bind(const Argument& argument, InputValue* value) const;
  // With Memory::use. InvalidArgument names the function. FailedPrecondition: variables that it would use are in doubt, or that
  // it writes are shared.
  absl::Status Run(std::span<const InputValue> inputs, Profile* profile);
  Memory& memory() { return *memory_; }

 private:
  struct LoadedStep {
    std::unique_ptr<Step>
        step;  // Null: a copy from another device, a member of a collective on CPUs, or not here.
    const fb::Step* table;
    size_t first_slot;
    bool is_here;
    bool writes_variables;
    size_t profile_entry;
    size_t library_workspace = 0;  // Where its own begins in that of its device.
  };
  struct LoadedLaunch {
    Launch launch;
    bool may_record = false, may_record_with_marks = false;
    std::vector<Join> joins;
    StepOrder order;  // Of a recording without collectives.
    std::unique_ptr<RecordedWork> recorded, recorded_with_marks;
    size_t first_mark = 0;  // Of its device's stopwatch: one before each step, and one behind the last.
    // Of a collective on CPUs: what does it, and each member's operands.
    std::unique_ptr<HostCollective> collective;
    std::vector<void* const*> operands;
  };
  // A table entry that points into an input in main memory.
  struct InputSlot {
    size_t slot;
    size_t input;
    size_t offset;
  };

  FunctionState(const fb::Plan& plan, const fb::Function& table, Memory* memory, const ThreadPool& pool);

  absl::Status LoadSteps();
  absl::Status MakeStep(size_t index);
  absl::Status LoadLaunches();
  // And gives its steps their library workspaces.
  StepOrder OrderOf(const Launch& launch);
  absl::Status CheckCopyBetweenProcesses(size_t index) const;
  std::unique_ptr<HostCollective> MakeHostCollective(const Launch& launch);
  void MakeThreads();
  std::vector<uint32_t> StepsRunWith(uint32_t index) const;
  DeviceRuntime& RuntimeOf(uint32_t device) const { return *memory_->devices[device].runtime; }
  std::byte* PointerOf(uint32_t buffer) const;
  absl::Status FitTensor(const HostTensor& tensor, size_t index, InputValue* value) const;
  absl::Status CheckAllSet(std::span<const InputValue> inputs) const;
  absl::Status FillArenas();
  World::Operation OperationOf(std::string_view name, size_t step) const;
  bool IsBetweenProcesses(const fb::Step& step) const;
  void ListMeeting();
  bool WritesVariables(const fb::Step& step);
  absl::Status CheckVariables() const;
  absl::Status Prepare(std::span<const InputValue> inputs);
  // In executable_run.cc.
  absl::Status RunStep(size_t index);
  absl::Status RunCopyBetweenProcesses(size_t index);
  // In a run that fails later it cannot be told how far a launch has come.
  void SayWritten(const Launch& launch);
  absl::Status RunCollective(LoadedLaunch& launch);
  absl::Status RunSteps(const LoadedLaunch& launch);
  absl::Status RunStepsAsPieces(const LoadedLaunch& launch);
  std::unique_ptr<RecordedWork>& RecordingOf(LoadedLaunch& launch) const;
  absl::Status RecordLaunch(LoadedLaunch& launch);
  absl::Status RunLaunch(LoadedLaunch& launch);
  absl::Status RunTask(const LaunchThreads::Task& task);
  absl::Status RecordLaunches();
  absl::Status WaitForThreadsOf(const Launch& launch);
  absl::Status GiveLaunch(size_t index);
  absl::Status RunLaunches();
  absl::Status SynchronizeAll();
  void AbortDevices(const absl::Status& reason);
  // In executable_profile.cc.
  absl::Status RunByItself(size_t step);
  absl::Status RunByThemselves(std::span<const uint32_t> steps);
  absl::Status RunOneByOne(Profile* profile);
  absl::Status MakeStopwatches();
  absl::Status RunStepsWithMarks(const LoadedLaunch& launch);
  absl::Status RunCollectiveWithMarks(LoadedLaunch& launch);
  absl::Status WaitForSourceOf(const Launch& launch);
  absl::Status RunWithMarks(Profile* profile);
  absl::Status ReadMarks(Profile* profile) const;
  absl::Status RunProfiled(Profile* profile);
  void AddTime(std::span<const uint32_t> steps, double begin, double seconds, Profile* profile) const;
  void AddRun(std::chrono::steady_clock::time_point start, Profile* profile) const;
  void PrepareProfile(Profile* profile) const;
  // `function "train", step 14 (sum)`.
  std::string PlaceOf(size_t index) const;
  // The status with that in front.
  absl::Status AtStep(size_t index, const absl::Status& status) const;
  absl::Status AtLaunch(const Launch& launch, const absl::Status& status) const;

  const fb::Plan* plan_;
  const fb::Function* table_;
  Memory* memory_;
  const ThreadPool* pool_;
  uint32_t index_ = 0;  // Among the plan's functions.
  FunctionInfo info_;
  FunctionInputs inputs_;
  FunctionOutputs outputs_;
  IndexChecks index_checks_;
  std::vector<size_t> library_workspace_bytes_;  // Of each device.
  std::vector<LoadedStep> steps_;                // All of the function's, by index.
  size_t num_here_ = 0;
  std::vector<void*> slots_;
  std::vector<InputSlot> input_slots_;
  std::vector<std::unique_ptr<Stopwatch>> stopwatches_;  // Of each device, made for the first run with marks.
  std::vector<LoadedLaunch> launches_;
  std::vector<Wait> last_waits_;
  std::vector<std::vector<uint32_t>> units_;  // The steps that are here, as RunOneByOne runs them.
  bool has_run_ = false, has_recorded_ = false, has_recorded_marks_ = false;
  bool with_marks_ = false;              // This run.
  bool is_all_host_ = true;              // All launches are of CPUs.
  bool has_device_collectives_ = false;  // On devices that are not CPUs.
  // Among processes whose GPUs exchange by themselves: no message to and from each, for what they say of themselves.
  std::vector<World::Transfer> meeting_;
  bool exchanges_ = false;                 // With other processes, on any device of the plan.
  std::vector<uint32_t> written_;          // The plan's variables that it writes, each once.
  std::atomic<bool> has_written_ = false;  // This run has begun to. Also by the threads.
  std::unique_ptr<LaunchThreads>
      threads_;  // Null: the calling thread gives everything. They use all that stands above.
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_EXECUTABLE_H_
