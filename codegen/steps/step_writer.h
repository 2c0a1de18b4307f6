// Writes the buffers and the steps of one plan.function into a plan file.
//
//   StepWriter writer(function, plan);
//   SINTER_ASSIGN_OR_RETURN(StepWriter::Step step, writer.StepOf(call, 0, 1, inputs, outputs));
//   step.type = fb::StepBody::KernelStep, step.body = ...;
//   writer.AddStep(step, call);
#ifndef SINTER_CODEGEN_STEPS_STEP_WRITER_H_
#define SINTER_CODEGEN_STEPS_STEP_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/codegen/loops/fused_launches.h"
#include "sinter/codegen/places/buffer_region.h"
#include "sinter/codegen/steps/plan_contents.h"

namespace sinter::codegen {

class StepWriter {
 public:
  struct Step {
    std::string name;
    fb::StepBody type = fb::StepBody::NONE;
    flatbuffers::Offset<void> body;
    std::vector<uint32_t> inputs, outputs;  // Indices of buffers.
    uint64_t workspace_offset = 0, workspace_bytes = 0;
    double flops = 0, bytes = 0;
  };

  StepWriter(plan_ir::FunctionOp function, PlanContents& plan);

  PlanContents& plan() { return plan_; }
  flatbuffers::FlatBufferBuilder& builder() { return plan_.builder; }

  // Returns the buffer's index. INVALID_ARGUMENT, with the user's line, for a buffer without a place in
  // memory.
  absl::StatusOr<uint32_t> AddBuffer(mlir::Value buffer);
  // Returns the index of the caller's whole tensor, of which `input` may be a rank's part.
  uint32_t AddWholeInput(plan_ir::InputOp input);
  absl::StatusOr<std::vector<uint32_t>> AddSlots(plan_ir::CallOp call, const std::vector<Slot>& slots);
  // Returns the contents of step `i` of the `count` steps that a call becomes, but for its body and costs.
  absl::StatusOr<Step> StepOf(plan_ir::CallOp call, size_t i, size_t count, const std::vector<Slot>& inputs,
                              const std::vector<Slot>& outputs);
  // Returns the contents of a library op's step but for its body and flops: its inputs are the op's operands.
  absl::StatusOr<Step> StepOfLibraryOp(plan_ir::CallOp call);
  void AddStep(const Step& step, mlir::Operation* op);
  // Numbers the exchanges of the function over axes of the mesh from 1, in the order of their steps.
  uint64_t NextEpoch() { return ++epoch_; }

  // The error for memory that has no place in the arena.
  absl::Status Unplaced(mlir::Location loc);

  const std::vector<flatbuffers::Offset<fb::Buffer>>& buffers() const { return buffers_; }
  const std::vector<flatbuffers::Offset<fb::Step>>& steps() const { return steps_; }
  // Parameters of a fragment that its steps name, in the order of the buffers' indices.
  const std::vector<FragmentParameter>& parameters() const { return parameters_; }
  // Sums over the steps.
  double flops() const { return flops_; }
  double bytes() const { return bytes_; }

 private:
  // Two buffers with equal keys share one entry of the table.
  using Key = std::tuple<fb::Space, uint32_t, uint64_t, std::string, uint32_t, std::vector<int64_t>>;

  uint32_t AddBuffer(fb::Space space, uint32_t index, uint64_t offset, mlir::RankedTensorType type,
                     uint32_t device, const std::vector<int64_t>& rank_strides = {});
  uint32_t AddInput(const BufferRegion& place, mlir::RankedTensorType type);
  absl::StatusOr<uint32_t> AddInFragment(const BufferRegion& place, mlir::Value buffer);

  plan_ir::FunctionOp function_;
  PlanContents& plan_;
  std::map<std::string, uint32_t> inputs_;  // Index of the function's input by name.
  std::map<Key, uint32_t> buffer_index_;
  std::vector<flatbuffers::Offset<fb::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<fb::Step>> steps_;
  std::vector<FragmentParameter> parameters_;
  uint64_t epoch_ = 0;
  double flops_ = 0, bytes_ = 0;
};

// OK if the call has the `needed` bytes of workspace. INVALID_ARGUMENT, with the user's line, if not.
absl::Status CheckWorkspace(plan_ir::CallOp call, int64_t needed);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_STEPS_STEP_WRITER_H_
