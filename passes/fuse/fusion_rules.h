// FusionRules: decides if two groups should be one kernel, and gives the reason if not.
//
//   FusionRules rules(graph, costs, /*most_ops=*/256, /*most_buffers=*/4095);
//   std::string why = rules.refuse(a, b);
//   if (why.empty()) graph.merge(a, b);
#ifndef SINTER_PASSES_FUSE_FUSION_RULES_H_
#define SINTER_PASSES_FUSE_FUSION_RULES_H_

#include <string>

#include "llvm/ADT/DenseMap.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/fusion/op_forms.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/fuse/fusion_graph.h"

namespace sinter {

class FusionRules {
 public:
  // The refusal of groups with a computation between them.
  static constexpr char kComputedBetween[] =
      "a value between them is computed by another kernel or library call";

  FusionRules(const FusionGraph& graph, ElementCost& costs, size_t most_ops, size_t most_buffers);

  // Returns why groups `a` and `b` must stay two kernels; empty if they may be one. Checks legality first
  // (one loop nest, no cycle), then profit: nothing expensive is computed several times, and no stored result
  // needs loops of its own.
  std::string refuse(unsigned a, unsigned b) const;
  // Returns the groups between `a` and `b` if only they keep the two apart and all of them may be one kernel.
  // Only on a GPU, where storing a value costs more than another kernel's arithmetic.
  llvm::SmallVector<unsigned> joinable(unsigned a, unsigned b) const;
  // Returns why no kernel can hold both node `producer` and node `consumer`: one of them is not a loop.
  std::string boundary(unsigned producer, unsigned consumer) const;

 private:
  std::string refuseTogether(llvm::ArrayRef<unsigned> groups) const;
  const std::string& refuseOps(llvm::ArrayRef<mlir::Operation*> ops, llvm::ArrayRef<mlir::Value> outputs,
                               const ir::TargetModel& target) const;
  size_t countBuffers(llvm::ArrayRef<unsigned> groups, size_t outputs, size_t few) const;
  std::string refuseNest(const ir::LoopNest& nest, const ir::TargetModel& target) const;
  int64_t costOfReading(mlir::Value value, const ir::LoopNest& nest) const;
  bool overwritesTooEarly(llvm::ArrayRef<unsigned> groups) const;

  // Says if the ops of a group of this size are pointwise over one shape; inlined are only constants and
  // numbers that are spread.
  struct Pointwise {
    size_t members = 0;
    bool holds = false;
    llvm::ArrayRef<int64_t> shape;
  };
  Pointwise pointwise(unsigned group) const;
  bool readsResultOf(unsigned a, unsigned b) const;
  bool isPointwiseLoop(llvm::ArrayRef<unsigned> groups) const;

  // The answer of refuseTogether for two groups of these sizes.
  struct Answer {
    std::pair<size_t, size_t> sizes;
    std::string why;
  };

  const FusionGraph& graph_;
  ElementCost& costs_;
  size_t most_ops_;      // Ops of a kernel, without inlined ones.
  size_t most_buffers_;  // Inputs and results of a kernel.
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<mlir::Value, 1>>
      overwritten_;  // For each op: the variables that it updates.
  mutable ir::ByOpForm<std::string> refusals_;
  mutable llvm::DenseMap<std::pair<unsigned, unsigned>, Answer> answers_;  // By the groups.
  mutable llvm::DenseMap<unsigned, Pointwise> pointwise_;                  // By the group.
};

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_FUSION_RULES_H_
