// The steps of one loaded function, made on their devices, and the tables of pointers that they read.
//
//   FunctionSteps steps(plan, table, &memory, inputs);
//   SINTER_RETURN_IF_ERROR(steps.Load());          // Makes the steps, and counts the memory that they need.
//   steps.ResolvePointers();                       // Once that memory exists.
//   steps.SetInputs();                             // In each run, after the inputs are bound.
//   SINTER_RETURN_IF_ERROR(steps.Run(0));
//
// With several processes, each process makes only the steps of its own devices. Not thread-safe, but for Run
// of steps of several devices. The plan, the memory with its runtimes, and the inputs must outlive this
// object.
#ifndef SINTER_RUNTIME_EXECUTE_FUNCTION_STEPS_H_
#define SINTER_RUNTIME_EXECUTE_FUNCTION_STEPS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/device/device_runtime.h"
#include "sinter/runtime/device/step.h"
#include "sinter/runtime/execute/function_inputs.h"
#include "sinter/runtime/execute/launch_order.h"
#include "sinter/runtime/execute/session_memory.h"

namespace sinter::fb {
struct Function;
struct Step;
}  // namespace sinter::fb

namespace sinter::internal_session {

struct LoadedStep {
  // Null for a copy from another device, a member of a collective on CPUs, and a step of another process.
  std::unique_ptr<Step> step;
  const fb::Step* table;
  size_t first_slot;
  bool is_here;
  bool writes_variables;
  size_t profile_entry;
  size_t library_workspace = 0;  // Offset in the device's library workspace.
  // Limit of an exchange with other processes; 0: the world's own alone.
  std::chrono::milliseconds patience{0};
};

class FunctionSteps {
 public:
  // Uses only the runtimes, the local devices and the world of `memory`.
  FunctionSteps(const fb::Plan& plan, const fb::Function& table, SessionBuffers* memory,
                const FunctionInputs& inputs);

  absl::Status Load();
  void ResolvePointers();
  // Points the steps that read inputs in main memory to the bound inputs.
  void SetInputs();

  const fb::Plan& plan() const { return plan_; }
  const fb::Function& table() const { return table_; }
  SessionBuffers& memory() const { return *memory_; }
  DeviceRuntime& RuntimeOf(uint32_t device) const { return *memory_->devices[device].runtime; }
  size_t size() const { return steps_.size(); }
  const LoadedStep& operator[](size_t index) const { return steps_[index]; }
  size_t num_here() const { return num_here_; }
  // The operands of a step: inputs, then outputs.
  void* const* OperandsOf(size_t index) const { return slots_.data() + steps_[index].first_slot; }

  // Bytes of a device's library workspace; NeedLibraryWorkspace raises it.
  size_t LibraryWorkspaceBytes(uint32_t device) const { return library_workspace_bytes_[device]; }
  void NeedLibraryWorkspace(uint32_t device, size_t bytes);
  // Bytes that the device's exchanges share.
  size_t ExchangeWorkspaceBytes(uint32_t device) const { return exchange_workspace_bytes_[device]; }
  // Largest staging that a copy between two devices needs (device_exchange.h).
  size_t ExchangeBytes() const { return exchange_bytes_; }
  void SetLibraryWorkspace(size_t index, size_t offset) { steps_[index].library_workspace = offset; }

  absl::Status Run(size_t index);
  // Runs the step and waits for it on its device, if it is asynchronous. The error names the step.
  absl::Status RunAndWait(size_t index);

  // The plan's variables that the function writes, each once.
  const std::vector<uint32_t>& written() const { return written_; }
  // True once this run has begun to write them. Set also by threads that launch.
  bool has_written() const { return has_written_.load(std::memory_order_relaxed); }
  void ForgetWritten() { has_written_.store(false, std::memory_order_relaxed); }
  // Records that the launch writes variables. If the run fails later, the progress of a launch is unknown.
  void SayWritten(const Launch& launch);

  // True if the function exchanges data with other processes, on any device of the plan.
  bool exchanges() const { return exchanges_; }
  // `number`: the number of the exchange in the function, the same on all its processes. `patience`: that of
  // its step.
  World::Operation OperationOf(std::string_view name, uint64_t number,
                               std::chrono::milliseconds patience) const;

  // `function "train", step 14 (sum)`.
  std::string Describe(size_t index) const;
  // The same text on all processes of the collective: its first member's step, or for an exchange over a
  // mesh's axes `function "train", epoch 14 (sum, net.cc:12: Linear(4))`.
  std::string DescribeCollective(size_t index) const;
  // Prefixes the status with Describe(index), or with the launch's steps and device.
  absl::Status AtStep(size_t index, const absl::Status& status) const;
  absl::Status AtLaunch(const Launch& launch, const absl::Status& status) const;

 private:
  // A table entry that points into an input in main memory.
  struct InputSlot {
    size_t slot;
    size_t input;
    size_t offset;
  };

  absl::Status MakeStep(size_t index);
  absl::Status CheckCopyBetweenProcesses(size_t index) const;
  size_t ExchangeBytesOf(const fb::Step& copy) const;
  absl::Status RunCopyBetweenProcesses(size_t index);
  bool IsBetweenProcesses(const fb::Step& step) const;
  void SetPatience();
  // The devices that exchange in the step.
  std::vector<uint32_t> MembersOf(const fb::Step& step) const;
  bool WritesVariables(const fb::Step& step);
  std::byte* PointerOf(uint32_t buffer) const;

  const fb::Plan& plan_;
  const fb::Function& table_;
  SessionBuffers* memory_;
  const FunctionInputs& inputs_;
  uint32_t index_ = 0;                                                      // Index in the plan's functions.
  std::vector<size_t> library_workspace_bytes_, exchange_workspace_bytes_;  // Per device.
  size_t exchange_bytes_ = 0;
  std::vector<LoadedStep> steps_;  // All steps of the function, by index.
  size_t num_here_ = 0;
  std::vector<void*> slots_;
  std::vector<InputSlot> input_slots_;
  bool exchanges_ = false;
  std::vector<uint32_t> written_;
  std::atomic<bool> has_written_ = false;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_FUNCTION_STEPS_H_
