// One function of a plan, loaded: its steps and the tables of pointers that they read. What a Session is made of.
//
// Phases: Load makes the steps and says what memory they need; Place, once, is given that memory and resolves every
// pointer; Run checks the inputs, patches their pointers into the tables and launches the steps, allocating nothing.
//
//   SINTER_ASSIGN_OR_RETURN(auto train, FunctionState::Load(plan, *plan.functions()->Get(0), context));
//   train->Place({.arena = arena, ...});
//   SINTER_RETURN_IF_ERROR(train->Run(inputs, nullptr));
//
// One thread at a time. Neither the plan nor the context's pool and code may go away before it.
#ifndef SINTER_RUNTIME_EXECUTABLE_H_
#define SINTER_RUNTIME_EXECUTABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/plan.h"
#include "sinter/runtime/profile.h"
#include "sinter/runtime/session.h"
#include "sinter/runtime/step.h"
#include "sinter/runtime/tensor.h"

namespace sinter::fb {
struct Function;
struct Step;
}  // namespace sinter::fb

namespace sinter::internal_session {

// All memory that functions share. Every piece starts at a multiple of 64 and is never null.
struct Memory {
  std::byte* arena = nullptr;
  size_t arena_bytes = 0;
  bool poison = false;
  std::vector<std::byte*> variables;
  std::vector<size_t> variable_bytes;
  const std::byte* constants = nullptr;
  std::byte* staging = nullptr;
  std::byte* thread_scratch = nullptr;
  std::byte* library_workspace = nullptr;
};

// What an input is bound to.
struct InputValue {
  bool is_set = false;
  const void* data = nullptr;  // Null: the number.
  alignas(8) std::byte number[8] = {};
};

class FunctionState {
 public:
  static absl::StatusOr<std::unique_ptr<FunctionState>> Load(const fb::Plan& plan, const fb::Function& table,
                                                             const StepContext& context);

  const FunctionInfo& info() const { return info_; }
  // -1: no such input.
  int FindInput(std::string_view name) const;

  size_t StagingBytes() const { return staging_bytes_; }
  size_t OutputCopyBytes() const { return output_copy_bytes_; }
  size_t LibraryWorkspaceBytes() const { return library_workspace_bytes_; }

  void Place(const Memory* memory, std::byte* output_copies);

  // What is wrong with an argument for an input, or nothing, in which case `value` is bound to it.
  absl::Status Bind(const Argument& argument, InputValue* value) const;
  absl::Status Run(std::span<const InputValue> inputs, Profile* profile);

  const std::vector<HostTensor>& outputs() const { return outputs_; }

 private:
  struct LoadedStep {
    std::unique_ptr<Step> step;
    const fb::Step* table;
    size_t first_slot;
  };
  // A table entry that points into an input.
  struct InputSlot {
    size_t slot;
    size_t input;
    size_t offset;
  };
  // An output that points into an input, whose memory is the caller's.
  struct OutputCopy {
    size_t input;
    size_t input_offset;
    size_t copy_offset;
    size_t bytes;
    size_t output;
  };

  FunctionState(const fb::Plan& plan, const fb::Function& table, const StepContext& context)
      : plan_(&plan), table_(&table), context_(context) {}

  void LayOutInputs();
  void LayOutOutputs();
  std::byte* PointerOf(uint32_t buffer) const;
  bool IsOurs(const void* data, size_t bytes) const;
  absl::Status CheckAllSet(std::span<const InputValue> inputs) const;
  void PatchInputs(std::span<const InputValue> inputs);
  absl::Status RunSteps(Profile* profile);
  void PrepareProfile(Profile* profile) const;

  const fb::Plan* plan_;
  const fb::Function* table_;
  StepContext context_;
  FunctionInfo info_;
  std::vector<size_t> input_bytes_;
  std::vector<size_t> staging_offsets_;
  size_t staging_bytes_ = 0;
  size_t output_copy_bytes_ = 0;
  size_t library_workspace_bytes_ = 0;
  std::vector<LoadedStep> steps_;
  std::vector<void*> slots_;
  std::vector<InputSlot> input_slots_;
  std::vector<OutputCopy> copies_;
  std::vector<const void*> bound_;  // Where each input is in this run.
  std::vector<HostTensor> outputs_;
  const Memory* memory_ = nullptr;
  std::byte* output_copies_ = nullptr;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTABLE_H_
