// One loaded function of a plan, with its inputs, steps, launches and outputs.
//
// A Session consists of such functions. Their phases: Load makes the steps and computes the memory that they
// need. ResolvePointers resolves every pointer once that memory exists. Run binds the inputs and launches the
// steps in the order of launch_order.h; it allocates nothing.
//
//   SINTER_ASSIGN_OR_RETURN(auto train,
//                           LoadedFunction::Load(plan, *plan.functions()->Get(0), &memory, pool));
//   train->ResolvePointers();
//   SINTER_RETURN_IF_ERROR(train->Run(inputs, nullptr));
//
// With several processes, each process loads only the steps of its own devices. The local members of a
// collective run together (runtime/plan/collective.h).
//
// function_steps.h makes and runs the steps, function_launches.h runs and captures launches, and
// profiled_run.h times them. An error in a function whose GPUs exchange data aborts the collectives on all
// ranks.
//
// A rank whose run fails gives up in the world. Otherwise the other ranks would wait for it, or take its next
// run for this one. A failed run that has begun to write variables leaves them in doubt
// (SessionBuffers::in_doubt).
//
// Not thread-safe. The plan, the memory with its runtimes, and the pool must outlive this object.
#ifndef SINTER_RUNTIME_EXECUTE_LOADED_FUNCTION_H_
#define SINTER_RUNTIME_EXECUTE_LOADED_FUNCTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/device/profile.h"
#include "sinter/runtime/execute/function_inputs.h"
#include "sinter/runtime/execute/function_launches.h"
#include "sinter/runtime/execute/function_outputs.h"
#include "sinter/runtime/execute/function_steps.h"
#include "sinter/runtime/execute/index_checks.h"
#include "sinter/runtime/execute/profiled_run.h"
#include "sinter/runtime/execute/session_memory.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/tensor/argument.h"

namespace sinter::internal_session {

class LoadedFunction {
 public:
  // Uses only the runtimes, the local devices and the world of `memory`.
  static absl::StatusOr<std::unique_ptr<LoadedFunction>> Load(const fb::Plan& plan, const fb::Function& table,
                                                              SessionBuffers* memory, const ThreadPool& pool);

  const FunctionInfo& info() const { return info_; }
  // Returns the index of the input; -1 if there is none of this name.
  int FindInput(std::string_view name) const;

  const FunctionInputs& inputs() const { return inputs_; }
  FunctionOutputs& outputs() { return outputs_; }
  size_t LibraryWorkspaceBytes(uint32_t device) const { return steps_.LibraryWorkspaceBytes(device); }
  size_t ExchangeWorkspaceBytes(uint32_t device) const { return steps_.ExchangeWorkspaceBytes(device); }
  size_t ExchangeBytes() const { return steps_.ExchangeBytes(); }

  void ResolvePointers();

  // Checks an argument against an input and binds it to `value`, or returns the error. With several processes
  // a tensor may consist only of the rows that this process reads (FunctionInputs::Rows).
  absl::Status Bind(const Argument& argument, InputValue* value) const;
  // Requires SessionBuffers::use. InvalidArgument names the function. FailedPrecondition: variables that it
  // uses are in doubt, or variables that it writes are shared.
  absl::Status Run(std::span<const InputValue> inputs, Profile* profile);
  SessionBuffers& memory() { return *memory_; }

 private:
  LoadedFunction(const fb::Plan& plan, const fb::Function& table, SessionBuffers* memory,
                 const ThreadPool& pool);

  absl::Status FitTensor(const HostTensor& tensor, size_t index, InputValue* value) const;
  absl::Status CheckAllSet(std::span<const InputValue> inputs) const;
  absl::Status CheckVariables() const;
  absl::Status FillArenas();
  void ListMeeting();
  absl::Status Prepare(std::span<const InputValue> inputs);

  const fb::Plan* plan_;
  SessionBuffers* memory_;
  const ThreadPool* pool_;
  FunctionInfo info_;
  FunctionInputs inputs_;
  FunctionOutputs outputs_;
  IndexChecks index_checks_;
  FunctionSteps steps_;
  FunctionLaunches launches_;
  ProfiledRun profiled_;
  bool has_run_ = false;
  // Empty messages to and from every process, if the processes' GPUs exchange data directly. The messages
  // carry the call stamps.
  std::vector<World::Transfer> meeting_;
  std::string meeting_place_;  // For errors.
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_LOADED_FUNCTION_H_
