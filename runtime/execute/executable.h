// One loaded function of a plan: its steps on their devices, and the tables of pointers that the steps read.
//
// A Session consists of such functions. Their phases: Load makes the steps and computes the memory that they
// need. Place resolves every pointer once that memory exists. Run binds the inputs and launches the steps in
// the order of launch_order.h; it allocates nothing.
//
//   SINTER_ASSIGN_OR_RETURN(auto train, FunctionState::Load(plan, *plan.functions()->Get(0), &memory, pool));
//   train->Place();
//   SINTER_RETURN_IF_ERROR(train->Run(inputs, nullptr));
//
// With several processes, each process loads only the steps of its own devices. The local members of a
// collective run together (runtime/plan/collective.h).
//
// Recording: on devices that record (DeviceRuntime::Record), launches of several steps or with collectives
// are recorded in the second run, because libraries initialise themselves in the first. Later runs replay the
// recording. Runs with a profile use a second recording, with events between the steps. In a function's first
// run with a profile, and if all devices are CPUs, a profiled run executes the steps one by one. Processes
// whose GPUs exchange data must either all run with a profile or all without.
//
// If several non-CPU devices exchange data, each has a thread that launches its work
// (runtime/execute/launch_threads.h). An error in a function with such collectives aborts the collectives on all
// ranks.
//
// A rank whose run fails gives up in the world. Otherwise the other ranks would wait for it, or take its next
// run for this one. A failed run that has begun to write variables leaves them in doubt (Memory::in_doubt).
//
// Not thread-safe. The plan, the memory with its runtimes, and the pool must outlive this object.
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
  // Uses only the runtimes, the local devices and the world of `memory`.
  static absl::StatusOr<std::unique_ptr<FunctionState>> Load(const fb::Plan& plan, const fb::Function& table,
                                                             Memory* memory, const ThreadPool& pool);

  const FunctionInfo& info() const { return info_; }
  // Returns the index of the input; -1 if there is none of this name.
  int FindInput(std::string_view name) const;

  const FunctionInputs& inputs() const { return inputs_; }
  FunctionOutputs& outputs() { return outputs_; }
  size_t LibraryWorkspaceBytes(uint32_t device) const { return library_workspace_bytes_[device]; }

  void Place();

  // Checks an argument against an input and binds it to `value`, or returns the error. With several processes
  // a tensor may consist only of the rows that this process reads (FunctionInputs::Rows).
  absl::Status Bind(const Argument& argument, InputValue* value) const;
  // Requires Memory::use. InvalidArgument names the function. FailedPrecondition: variables that it uses are
  // in doubt, or variables that it writes are shared.
  absl::Status Run(std::span<const InputValue> inputs, Profile* profile);
  Memory& memory() { return *memory_; }

 private:
  struct LoadedStep {
    // Null for a copy from another device, a member of a collective on CPUs, and a step of another process.
    std::unique_ptr<Step> step;
    const fb::Step* table;
    size_t first_slot;
    bool is_here;
    bool writes_variables;
    size_t profile_entry;
    size_t library_workspace = 0;  // Offset in the device's library workspace.
  };
  struct LoadedLaunch {
    Launch launch;
    bool may_record = false, may_record_with_marks = false;
    std::vector<Join> joins;
    StepOrder order;  // For a recording without collectives.
    std::unique_ptr<RecordedWork> recorded, recorded_with_marks;
    // Index in the device's stopwatch: one mark before each step, and one after the last.
    size_t first_mark = 0;
    // For a collective on CPUs: its implementation, and each member's operands.
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
  // Also sets the library workspaces of the launch's steps.
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
  // Records that the launch writes variables. If the run fails later, the progress of a launch is unknown.
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
  // Prefixes the status with PlaceOf(index), or with the launch's steps and device.
  absl::Status AtStep(size_t index, const absl::Status& status) const;
  absl::Status AtLaunch(const Launch& launch, const absl::Status& status) const;

  const fb::Plan* plan_;
  const fb::Function* table_;
  Memory* memory_;
  const ThreadPool* pool_;
  uint32_t index_ = 0;  // Index in the plan's functions.
  FunctionInfo info_;
  FunctionInputs inputs_;
  FunctionOutputs outputs_;
  IndexChecks index_checks_;
  std::vector<size_t> library_workspace_bytes_;  // Per device.
  std::vector<LoadedStep> steps_;                // All steps of the function, by index.
  size_t num_here_ = 0;
  std::vector<void*> slots_;
  std::vector<InputSlot> input_slots_;
  std::vector<std::unique_ptr<Stopwatch>> stopwatches_;  // Per device, made for the first run with marks.
  std::vector<LoadedLaunch> launches_;
  std::vector<Wait> last_waits_;
  std::vector<std::vector<uint32_t>> units_;  // Units that RunOneByOne runs, made of the local steps.
  bool has_run_ = false, has_recorded_ = false, has_recorded_marks_ = false;
  bool with_marks_ = false;              // Current run only.
  bool is_all_host_ = true;              // All launches run on CPUs.
  bool has_device_collectives_ = false;  // Non-CPU devices take part in collectives.
  // Empty messages to and from every process, if the processes' GPUs exchange data directly. The messages
  // carry the call stamps.
  std::vector<World::Transfer> meeting_;
  bool exchanges_ = false;                 // With other processes, on any device of the plan.
  std::vector<uint32_t> written_;          // The plan's variables that the function writes, each once.
  std::atomic<bool> has_written_ = false;  // This run has begun to write them. Set also by the threads.
  // Null if the calling thread launches all work. The threads use all members above.
  std::unique_ptr<LaunchThreads> threads_;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_EXECUTABLE_H_
