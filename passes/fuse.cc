#include <cassert>

#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/fusion_domain.h"
#include "sinter/ir/ops.h"
#include "sinter/passes/fusion_graph.h"
#include "sinter/passes/fusion_rules.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/pool_gradients.h"
#include "sinter/passes/topological_order.h"

namespace sinter {

#define GEN_PASS_DEF_FUSE
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// Groups that only become legal through other merges are tried again, this often.
constexpr int kRounds = 3;
// Reading less than this twice costs nothing.
constexpr int64_t kSharedElements = 1024;
// On a GPU an update of so many elements takes longer than a launch: alone it can run while its gradient is still in cache,
// and the gradient's memory serves the next one. So can a cast of a weight run right before its first reader.
constexpr int64_t kLargeUpdate = 1 << 20;

struct Edge {
  unsigned producer, consumer;
  int64_t bytes;
  std::string refusal;
};

int64_t Bytes(Value value) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

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
  void mergeUpdates(FusionGraph& graph);
  void mergeCasts(FusionGraph& graph);
  void buildFusions(FusionGraph& graph, mlir::Block& block);
};

llvm::SmallVector<Edge> CollectEdges(const FusionGraph& graph, const FusionRules& rules) {
  llvm::SmallVector<Edge> edges;
  for (unsigned consumer = 0; consumer < graph.nodes().size(); ++consumer) {
    for (Value need : graph.nodes()[consumer].needs) {
      int producer = graph.nodeOf(need);
      if (producer < 0) continue;
      edges.push_back(
          {static_cast<unsigned>(producer), consumer, Bytes(need), rules.boundary(producer, consumer)});
    }
  }
  return edges;
}

mlir::LogicalResult FusePass::checkOps(mlir::Block& block) {
  for (Operation& op : block.without_terminator()) {
    if (llvm::isa<ir::FusibleInterface, ir::ReductionInterface, ir::LibraryInterface, ir::FusionOp>(op))
      continue;
    return op.emitOpError(
        "can be neither fused nor called: decompose composites and differentiate gradients first");
  }
  return mlir::success();
}

void FusePass::mergeAlongEdges(FusionGraph& graph, const FusionRules& rules,
                               llvm::MutableArrayRef<Edge> edges) {
  // What saves most memory traffic first, then in program order: a producer prefers its nearest reader.
  llvm::SmallVector<Edge*> order;
  for (Edge& edge : edges) {
    if (graph.nodes()[edge.producer].fusible && graph.nodes()[edge.consumer].fusible) order.push_back(&edge);
  }
  llvm::stable_sort(order, [](Edge* a, Edge* b) { return a->bytes > b->bytes; });
  for (int round = 0; round < kRounds; ++round) {
    bool changed = false;
    for (Edge* edge : order) {
      unsigned a = graph.groupOf(edge->producer), b = graph.groupOf(edge->consumer);
      if (a == b) continue;
      edge->refusal = rules.refuse(a, b);
      if (!edge->refusal.empty()) {
        // What lies between may come along, such as what a row's sum goes through on its way to the row.
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

// Kernels that loop over the same large value read it once when they are one.
void FusePass::mergeSiblings(FusionGraph& graph, const FusionRules& rules, mlir::Block& block) {
  auto try_readers = [&](Value value) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type || type.getNumElements() < kSharedElements) return;
    llvm::SmallVector<unsigned> groups;
    for (unsigned reader : graph.readers(value)) {
      if (!graph.nodes()[reader].fusible) continue;
      unsigned group = graph.groupOf(reader);
      auto merges = [&](unsigned& other) {
        if (other == group) return true;
        if (!rules.refuse(other, group).empty()) return false;
        other = graph.merge(other, group);
        return true;
      };
      for (unsigned& other : groups) other = graph.groupOf(other);
      if (llvm::none_of(groups, merges)) groups.push_back(group);
    }
  };
  for (Value argument : block.getArguments()) try_readers(argument);
  for (unsigned n = 0; n < graph.nodes().size(); ++n) {
    for (Value result : graph.nodes()[n].op->getResults()) try_readers(result);
  }
}

bool ComputesLargeInput(const FusionGraph& graph, unsigned group) {
  return llvm::any_of(graph.members(group), [&](unsigned member) {
    return llvm::any_of(graph.nodes()[member].needs, [&](Value need) {
      const int producer = graph.nodeOf(need);
      return producer >= 0 && graph.groupOf(producer) != group &&
             llvm::cast<mlir::RankedTensorType>(need.getType()).getNumElements() >= kLargeUpdate;
    });
  });
}

// Pointwise updates of variables that nothing else reads become one kernel a device, whatever their shapes, but for large
// ones on a GPU whose gradients are computed in this program. Loops of two shapes hold no op in common, so updates that read
// one inlined op in loops of two shapes become two kernels.
void FusePass::mergeUpdates(FusionGraph& graph) {
  struct Updates {
    unsigned group = 0;
    llvm::DenseMap<Operation*, llvm::SmallVector<int64_t>>
        inlined;  // To the shape of the loops that hold it.

    bool add(const FusionGraph& graph, const ir::LoopNest& nest) {
      auto maps = llvm::make_filter_range(
          nest.ops, [&](Operation* op) { return graph.isInlined(op) && op->getNumOperands() > 0; });
      for (Operation* op : maps) {
        auto held = inlined.find(op);
        if (held != inlined.end() && held->second != nest.shape) return false;
      }
      for (Operation* op : maps) inlined[op] = nest.shape;
      return true;
    }
  };
  mlir::func::FuncOp function = getOperation();
  std::vector<Updates> kernels;
  for (unsigned group : graph.groups()) {
    if (!graph.nodes()[group].fusible) continue;
    llvm::SmallVector<Value> outputs = graph.outputsOf({group});
    bool only_updates = !outputs.empty() && llvm::all_of(outputs, [&](Value output) {
      return llvm::all_of(graph.readers(output), [&](unsigned reader) {
        return graph.nodes()[reader].op->hasTrait<mlir::OpTrait::IsTerminator>() ||
               graph.groupOf(reader) == group;
      });
    });
    bool updates_variable = false;
    for (mlir::OpOperand& result : function.getBody().front().getTerminator()->getOpOperands()) {
      updates_variable |= llvm::is_contained(outputs, result.get()) &&
                          function.getResultAttr(result.getOperandNumber(), ir::kVariableAttr);
    }
    if (!only_updates || !updates_variable) continue;
    std::string why;
    auto domain = ir::AnalyzeFusion(graph.opsOf({group}), outputs, &why);
    if (mlir::failed(domain) || domain->kind() != "map") continue;
    const ir::LoopNest& nest = domain->nests[0];
    if (ir::KindOf(graph.deviceOf(group)) == ir::DeviceKind::gpu && nest.elements() >= kLargeUpdate &&
        ComputesLargeInput(graph, group)) {
      continue;
    }
    auto found = llvm::find_if(kernels, [&](Updates& updates) {
      bool together = graph.deviceOf(updates.group) == graph.deviceOf(group);
      return together && updates.add(graph, nest);
    });
    if (found != kernels.end()) {
      found->group = graph.merge(found->group, group);
    } else {
      kernels.emplace_back().group = group;
      kernels.back().add(graph, nest);
    }
  }
}

// On a GPU small maps of variables alone, such as a weight's cast to bf16, become one kernel: each takes less than its launch.
void FusePass::mergeCasts(FusionGraph& graph) {
  mlir::func::FuncOp function = getOperation();
  auto is_variable = [&](Value value) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    return argument && function.getArgAttr(argument.getArgNumber(), ir::kVariableAttr);
  };
  llvm::SmallVector<unsigned> kernels;  // One a device.
  for (unsigned group : graph.groups()) {
    if (!graph.nodes()[group].fusible || ir::KindOf(graph.deviceOf(group)) != ir::DeviceKind::gpu) continue;
    bool reads_variable = false, reads_others = false;
    for (unsigned member : graph.members(group)) {
      for (Value need : graph.nodes()[member].needs) {
        const int producer = graph.nodeOf(need);
        reads_variable |= is_variable(need);
        reads_others |= producer >= 0 ? graph.groupOf(producer) != group : !is_variable(need);
      }
    }
    llvm::SmallVector<Value> outputs = graph.outputsOf({group});
    const bool is_result = llvm::any_of(outputs, [&](Value output) {
      return llvm::any_of(graph.readers(output), [&](unsigned reader) {
        return graph.nodes()[reader].op->hasTrait<mlir::OpTrait::IsTerminator>();
      });
    });
    if (!reads_variable || reads_others || is_result) continue;
    std::string why;
    auto domain = ir::AnalyzeFusion(graph.opsOf({group}), outputs, &why);
    if (mlir::failed(domain) || domain->kind() != "map" || domain->nests[0].elements() >= kLargeUpdate)
      continue;
    auto same_device = [&](unsigned other) { return graph.deviceOf(other) == graph.deviceOf(group); };
    auto found = llvm::find_if(kernels, same_device);
    if (found == kernels.end()) {
      kernels.push_back(group);
    } else {
      *found = graph.merge(*found, group);
    }
  }
}

// Clones one group into a sinter.fusion before the terminator and redirects the readers of its outputs.
ir::FusionOp BuildFusion(const FusionGraph& graph, unsigned group, mlir::Block& block) {
  llvm::SmallVector<Operation*> ops = graph.opsOf({group});
  llvm::SmallVector<Value> outputs = graph.outputsOf({group});
  llvm::SmallVector<mlir::Location> locations;
  for (Operation* op : ops) {
    if (!graph.isInlined(op)) locations.push_back(op->getLoc());
  }
  if (locations.empty()) locations.push_back(ops.back()->getLoc());
  mlir::OpBuilder builder(block.getTerminator());
  std::string why;
  auto domain = ir::AnalyzeFusion(ops, outputs, &why);
  assert(mlir::succeeded(domain) && "groups only grow into what is legal");

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
                                             builder.getStringAttr(domain->kind()));
  mlir::Block& body = fusion.getBody().emplaceBlock();
  mlir::IRMapping mapping;
  for (Value input : inputs) mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  ir::SetDevice(fusion, ir::DeviceOf(graph.nodes()[group].op));
  builder.setInsertionPointToEnd(&body);
  for (Operation* op : ops) ir::SetDevice(builder.clone(*op, mapping), nullptr);  // The fusion says it.
  llvm::SmallVector<Value> yielded;
  for (Value output : outputs) yielded.push_back(mapping.lookup(output));
  builder.create<ir::YieldOp>(fusion.getLoc(), yielded);
  for (auto [output, result] : llvm::zip_equal(outputs, fusion.getOutputs())) {
    // Kernels that get a copy of an inlined op do not read the stored one.
    output.replaceUsesWithIf(result, [&, output = output](mlir::OpOperand& use) {
      if (!graph.isInlined(output.getDefiningOp())) return true;
      return llvm::any_of(graph.readers(output),
                          [&](unsigned reader) { return graph.nodes()[reader].op == use.getOwner(); });
    });
  }
  return fusion;
}

void FusePass::buildFusions(FusionGraph& graph, mlir::Block& block) {
  llvm::DenseMap<Operation*, unsigned> rank;
  for (Operation& op : block) rank[&op] = graph.position(&op);
  for (unsigned group : graph.groups()) {
    const FusionGraph::Node& node = graph.nodes()[group];
    if (!node.fusible && !node.is_part) continue;
    llvm::SmallVector<Operation*> ops = graph.opsOf({group});
    ir::FusionOp fusion = BuildFusion(graph, group, block);
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
  if (enable) SpreadPoolGradients(block);
  EraseDeadOps(block);
  ElementCost costs;
  FusionGraph graph(block, costs);
  FusionRules rules(graph, costs, most_ops);
  llvm::SmallVector<Edge> edges = CollectEdges(graph, rules);
  if (enable) {
    mergeAlongEdges(graph, rules, edges);
    mergeSiblings(graph, rules, block);
    mergeUpdates(graph);
    mergeCasts(graph);
  }
  for (const Edge& edge : edges) {
    if (!report || graph.groupOf(edge.producer) == graph.groupOf(edge.consumer)) continue;
    bool loops = graph.nodes()[edge.producer].fusible && graph.nodes()[edge.consumer].fusible;
    std::string reason = loops && !enable ? "fusion is off" : edge.refusal;
    if (reason.empty()) continue;
    mlir::emitRemark(graph.nodes()[edge.consumer].op->getLoc())
        << "not fused with " << graph.nodes()[edge.producer].op->getName() << ": " << reason;
  }
  buildFusions(graph, block);
}

}  // namespace
}  // namespace sinter
