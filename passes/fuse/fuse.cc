#include <cassert>

#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/fusion/op_forms.h"
#include "sinter/passes/call_paths.h"
#include "sinter/passes/fuse/fusion_graph.h"
#include "sinter/passes/fuse/fusion_rules.h"
#include "sinter/passes/fuse/sibling_index.h"
#include "sinter/passes/fuse/side_by_side.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/topological_order.h"

namespace sinter {

#define GEN_PASS_DEF_FUSE
#include "passes/passes.h.inc"

namespace {

using ir::NumBytes;
using mlir::Operation;
using mlir::Value;

// Rounds of retries for groups that become legal only through other merges.
constexpr int kRounds = 3;
// Reading fewer elements than this twice costs nothing.
constexpr int64_t kSharedElements = 1024;

struct Edge {
  unsigned producer, consumer;
  int64_t bytes;
  std::string refusal;
};

std::string ShapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

void EraseDeadOps(mlir::Block& block) {
  for (Operation& op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.use_empty() && mlir::isMemoryEffectFree(&op) && !op.hasTrait<mlir::OpTrait::IsTerminator>())
      op.erase();
  }
}

class FusePass : public impl::FuseBase<FusePass> {
 public:
  using FuseBase::FuseBase;
  void runOnOperation() override;

 private:
  mlir::LogicalResult checkOps(mlir::Block& block);
  void mergeAlongEdges(FusionGraph& graph, const FusionRules& rules, llvm::MutableArrayRef<Edge> edges);
  void mergeSiblings(FusionGraph& graph, const FusionRules& rules, mlir::Block& block);
  void buildFusions(FusionGraph& graph, mlir::Block& block);
};

llvm::SmallVector<Edge> CollectEdges(const FusionGraph& graph, const FusionRules& rules) {
  llvm::SmallVector<Edge> edges;
  for (unsigned consumer = 0; consumer < graph.nodes().size(); ++consumer) {
    for (Value need : graph.nodes()[consumer].needs) {
      int producer = graph.nodeOf(need);
      if (producer < 0) continue;
      edges.push_back(
          {static_cast<unsigned>(producer), consumer, NumBytes(need), rules.boundary(producer, consumer)});
    }
  }
  return edges;
}

mlir::LogicalResult FusePass::checkOps(mlir::Block& block) {
  for (Operation& op : block.without_terminator()) {
    if (llvm::isa<ir::FusibleInterface, ir::ReductionInterface, ir::StepInterface, ir::FusionOp>(op))
      continue;
    return op.emitOpError(
        "can be neither fused nor called: decompose composites and differentiate gradients first");
  }
  return mlir::success();
}

bool IsOfLoops(const FusionGraph& graph, const Edge& edge) {
  return graph.nodes()[edge.producer].fusible && graph.nodes()[edge.consumer].fusible;
}

// Refuses, for good, edges whose value also flows through a library call from one end to the other.
void RefuseAroundCalls(const FusionGraph& graph, llvm::MutableArrayRef<Edge> edges) {
  llvm::SmallVector<llvm::SmallVector<unsigned>> producers;
  llvm::BitVector is_call;
  for (const FusionGraph::Node& node : graph.nodes()) {
    producers.push_back(node.producers);
    is_call.push_back(!node.fusible);
  }
  const CallPaths paths(producers, is_call);
  for (Edge& edge : edges) {
    if (IsOfLoops(graph, edge) && paths.isBetween(edge.producer, edge.consumer))
      edge.refusal = FusionRules::kComputedBetween;
  }
}

void FusePass::mergeAlongEdges(FusionGraph& graph, const FusionRules& rules,
                               llvm::MutableArrayRef<Edge> edges) {
  RefuseAroundCalls(graph, edges);
  // The largest savings of memory traffic first, then program order: a producer prefers its nearest reader.
  llvm::SmallVector<Edge*> order;
  for (Edge& edge : edges) {
    if (IsOfLoops(graph, edge) && edge.refusal.empty()) order.push_back(&edge);
  }
  llvm::stable_sort(order, [](Edge* a, Edge* b) { return a->bytes > b->bytes; });
  for (int round = 0; round < kRounds; ++round) {
    bool changed = false;
    for (Edge* edge : order) {
      unsigned a = graph.groupOf(edge->producer), b = graph.groupOf(edge->consumer);
      if (a == b) continue;
      edge->refusal = rules.refuse(a, b);
      if (!edge->refusal.empty()) {
        // Groups between the two may join them, such as those between a row's sum and its use in the row.
        llvm::SmallVector<unsigned> between = rules.joinable(a, b);
        if (between.empty()) continue;
        for (unsigned group : between) a = graph.merge(a, group);
        edge->refusal.clear();
      }
      graph.merge(a, b);
      changed = true;
    }
    if (!changed) break;
  }
}

// Merges kernels that loop over the same large value, so that they read it once.
void FusePass::mergeSiblings(FusionGraph& graph, const FusionRules& rules, mlir::Block& block) {
  auto try_readers = [&](Value value) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type || type.getNumElements() < kSharedElements) return;
    llvm::SmallVector<unsigned> readers = graph.fusibleReaders(value);
    // Most values are read by one kernel.
    if (llvm::all_of(readers,
                     [&](unsigned reader) { return graph.groupOf(reader) == graph.groupOf(readers[0]); }))
      return;
    llvm::SmallVector<unsigned> groups;  // By their numbers in the index.
    SiblingIndex index(graph);
    for (unsigned reader : readers) {
      const unsigned group = graph.groupOf(reader);
      auto merges = [&](unsigned number) {
        const unsigned other = graph.groupOf(groups[number]);
        if (other == group) return true;
        if (!rules.refuse(other, group).empty()) return false;
        groups[number] = graph.merge(other, group);
        index.merge(number, groups[number]);
        return true;
      };
      if (llvm::any_of(index.find(group), merges)) continue;
      index.add(group);
      groups.push_back(group);
    }
  };
  for (Value argument : block.getArguments()) try_readers(argument);
  for (unsigned n = 0; n < graph.nodes().size(); ++n) {
    for (Value result : graph.nodes()[n].op->getResults()) try_readers(result);
  }
}

// Clones one group into a sinter.fusion before the terminator and redirects the readers of its outputs.
ir::FusionOp BuildFusion(const FusionGraph& graph, unsigned group, mlir::Block& block,
                         ir::ByOpForm<llvm::StringRef>& kinds) {
  llvm::SmallVector<Operation*> ops = graph.opsOf({group});
  llvm::SmallVector<Value> outputs = graph.outputsOf({group});
  llvm::SmallVector<mlir::Location> locations;
  for (Operation* op : ops) {
    if (!graph.isInlined(op)) locations.push_back(op->getLoc());
  }
  if (locations.empty()) locations.push_back(ops.back()->getLoc());
  mlir::OpBuilder builder(block.getTerminator());
  const llvm::StringRef kind = kinds.of(ops, outputs, [&] {
    std::string why;
    auto domain = ir::AnalyzeFusion(ops, outputs, &why);
    assert(mlir::succeeded(domain) && "groups only grow into what is legal");
    return domain->kind();
  });

  llvm::DenseSet<Operation*> held(ops.begin(), ops.end());
  llvm::SetVector<Value> inputs;
  for (Operation* op : ops) {
    for (Value operand : op->getOperands()) {
      if (!operand.getDefiningOp() || !held.contains(operand.getDefiningOp())) inputs.insert(operand);
    }
  }
  llvm::SmallVector<mlir::Type> types;
  for (Value output : outputs) types.push_back(output.getType());
  auto fusion = builder.create<ir::FusionOp>(builder.getFusedLoc(locations), types, inputs.getArrayRef(),
                                             builder.getStringAttr(kind));
  mlir::Block& body = fusion.getBody().emplaceBlock();
  mlir::IRMapping mapping;
  for (Value input : inputs) mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  ir::SetDevice(fusion, ir::DeviceOf(graph.nodes()[group].op));
  builder.setInsertionPointToEnd(&body);
  // The fusion has the device.
  for (Operation* op : ops) ir::SetDevice(builder.clone(*op, mapping), nullptr);
  llvm::SmallVector<Value> yielded;
  for (Value output : outputs) yielded.push_back(mapping.lookup(output));
  builder.create<ir::YieldOp>(fusion.getLoc(), yielded);
  for (auto [output, result] : llvm::zip_equal(outputs, fusion.getOutputs())) {
    // Kernels with a copy of an inlined op do not read the stored result.
    llvm::DenseSet<Operation*> readers;
    for (unsigned reader : graph.readers(output)) readers.insert(graph.nodes()[reader].op);
    const bool is_inlined = graph.isInlined(output.getDefiningOp());
    output.replaceUsesWithIf(
        result, [&](mlir::OpOperand& use) { return !is_inlined || readers.contains(use.getOwner()); });
  }
  return fusion;
}

void FusePass::buildFusions(FusionGraph& graph, mlir::Block& block) {
  llvm::DenseMap<Operation*, unsigned> rank;
  ir::ByOpForm<llvm::StringRef> kinds;
  for (Operation& op : block) rank[&op] = graph.position(&op);
  for (unsigned group : graph.groups()) {
    const FusionGraph::Node& node = graph.nodes()[group];
    if (!node.fusible && !node.is_part) continue;
    llvm::SmallVector<Operation*> ops = graph.opsOf({group});
    ir::FusionOp fusion = BuildFusion(graph, group, block, kinds);
    rank[fusion] = graph.position(ops.back());
    if (report && node.fusible) {
      std::string why;
      auto domain = ir::AnalyzeFusion(fusion.getBody().front(), &why);
      auto remark = mlir::emitRemark(ops.back()->getLoc())
                    << "fused " << graph.members(group).size() << " op(s) into a " << domain->kind()
                    << " kernel over ";
      llvm::interleaveComma(domain->nests, remark, [&](const ir::LoopNest& nest) {
        remark << ShapeText(nest.shape);
        if (!nest.reduced.empty()) remark << " reduced along " << ShapeText(nest.reduced);
        if (!nest.column_reductions.empty()) remark << " and along " << ShapeText(nest.parallelDims());
      });
    }
  }
  EraseDeadOps(block);
  SortTopologically(block, rank);
}

void FusePass::runOnOperation() {
  mlir::func::FuncOp function = getOperation();
  if (function.isExternal()) return;
  mlir::Block& block = function.getBody().front();
  if (mlir::failed(checkOps(block))) return signalPassFailure();
  EraseDeadOps(block);
  ElementCost costs;
  FusionGraph graph(block, costs);
  FusionRules rules(graph, costs, most_ops, most_buffers);
  llvm::SmallVector<Edge> edges = CollectEdges(graph, rules);
  if (enable) {
    mergeAlongEdges(graph, rules, edges);
    mergeSiblings(graph, rules, block);
    MergeUpdates(graph, function, most_buffers);
    MergeCasts(graph, function, most_buffers);
  }
  for (const Edge& edge : edges) {
    if (!report || graph.groupOf(edge.producer) == graph.groupOf(edge.consumer)) continue;
    std::string reason = IsOfLoops(graph, edge) && !enable ? "fusion is off" : edge.refusal;
    if (reason.empty()) continue;
    mlir::emitRemark(graph.nodes()[edge.consumer].op->getLoc())
        << "not fused with " << graph.nodes()[edge.producer].op->getName() << ": " << reason;
  }
  buildFusions(graph, block);
}

}  // namespace
}  // namespace sinter
