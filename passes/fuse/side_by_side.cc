#include "sinter/passes/fuse/side_by_side.h"

#include <vector>

#include "llvm/ADT/DenseSet.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/fusion/op_forms.h"
#include "sinter/ir/target/target_model.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

// On a GPU, an update of this many elements takes longer than a launch. Separately it can run while its
// gradient is still in cache, and the gradient's memory is reused. Likewise, a cast of a weight can run just
// before its first reader.
constexpr int64_t kLargeUpdate = 1 << 20;

// A kernel that is a map: its ops, and the shape of its loop.
struct Map {
  llvm::SmallVector<Operation*> ops;
  llvm::SmallVector<int64_t> shape;
};

// Tells which groups are maps. Equal groups are analysed once.
class Maps {
 public:
  explicit Maps(const FusionGraph& graph) : graph_(graph) {}

  // Returns the map; nullopt for other groups.
  std::optional<Map> of(unsigned group, llvm::ArrayRef<Value> outputs) {
    llvm::SmallVector<Operation*> ops = graph_.opsOf({group});
    const auto& shape = shapes_.of(ops, outputs, [&]() -> std::optional<llvm::SmallVector<int64_t>> {
      std::string why;
      auto domain = ir::AnalyzeFusion(ops, outputs, &why);
      if (mlir::failed(domain) || domain->kind() != "map") return std::nullopt;
      return domain->nests[0].shape;
    });
    if (!shape) return std::nullopt;
    return Map{std::move(ops), *shape};
  }

 private:
  const FusionGraph& graph_;
  ir::ByOpForm<std::optional<llvm::SmallVector<int64_t>>> shapes_;
};

bool IsReadByTerminator(const FusionGraph& graph, Value value) {
  return llvm::any_of(graph.readers(value), [&](unsigned reader) {
    return graph.nodes()[reader].op->hasTrait<mlir::OpTrait::IsTerminator>();
  });
}

// Groups that will be one kernel.
class Kernel {
 public:
  // Adds the group, which computes `map`. Returns false if the kernel cannot take it.
  bool add(const FusionGraph& graph, unsigned group, const Map& map, size_t outputs, size_t most_buffers) {
    if (!groups_.empty() && graph.deviceOf(groups_.front()) != graph.deviceOf(group)) return false;
    llvm::DenseSet<Value> inputs;
    for (unsigned member : graph.members(group)) {
      for (Value need : graph.nodes()[member].needs) {
        const int producer = graph.nodeOf(need);
        const bool is_own = producer >= 0 && graph.groupOf(producer) == group;
        if (!is_own && !inputs_.contains(need)) inputs.insert(need);
      }
    }
    if (!groups_.empty() && inputs_.size() + inputs.size() + outputs_ + outputs > most_buffers) return false;
    auto maps = llvm::make_filter_range(
        map.ops, [&](Operation* op) { return graph.isInlined(op) && op->getNumOperands() > 0; });
    for (Operation* op : maps) {
      auto held = inlined_.find(op);
      if (held != inlined_.end() && held->second != map.shape) return false;
    }
    for (Operation* op : maps) inlined_[op] = map.shape;
    groups_.push_back(group);
    inputs_.insert(inputs.begin(), inputs.end());
    outputs_ += outputs;
    return true;
  }

  llvm::ArrayRef<unsigned> groups() const { return groups_; }

 private:
  llvm::SmallVector<unsigned> groups_;
  llvm::DenseSet<Value> inputs_;
  size_t outputs_ = 0;
  llvm::DenseMap<Operation*, llvm::SmallVector<int64_t>> inlined_;  // To the shape of the loops that hold it.
};

// Adds each group to the first kernel that can take it.
class Kernels {
 public:
  Kernels(FusionGraph& graph, size_t most_buffers) : graph_(graph), most_buffers_(most_buffers) {}

  void add(unsigned group, const Map& map, size_t outputs) {
    for (Kernel& kernel : kernels_) {
      if (kernel.add(graph_, group, map, outputs, most_buffers_)) return;
    }
    kernels_.emplace_back().add(graph_, group, map, outputs, most_buffers_);
  }

  void merge() {
    for (const Kernel& kernel : kernels_) graph_.mergeAll(kernel.groups());
  }

 private:
  FusionGraph& graph_;
  size_t most_buffers_;
  std::vector<Kernel> kernels_;
};

bool ComputesLargeInput(const FusionGraph& graph, unsigned group) {
  return llvm::any_of(graph.members(group), [&](unsigned member) {
    return llvm::any_of(graph.nodes()[member].needs, [&](Value need) {
      const int producer = graph.nodeOf(need);
      return producer >= 0 && graph.groupOf(producer) != group &&
             ir::TypeOf(need).getNumElements() >= kLargeUpdate;
    });
  });
}

}  // namespace

void MergeUpdates(FusionGraph& graph, mlir::func::FuncOp function, size_t most_buffers) {
  llvm::DenseSet<Value> new_values;
  for (mlir::OpOperand& result : function.getBody().front().getTerminator()->getOpOperands()) {
    if (function.getResultAttr(result.getOperandNumber(), ir::kVariableAttr)) new_values.insert(result.get());
  }
  Kernels kernels(graph, most_buffers);
  Maps maps(graph);
  for (unsigned group : graph.groups()) {
    if (!graph.nodes()[group].fusible) continue;
    llvm::SmallVector<Value> outputs = graph.outputsOf({group});
    const bool only_updates = llvm::all_of(outputs, [&](Value output) {
      return llvm::all_of(graph.readers(output), [&](unsigned reader) {
        return graph.nodes()[reader].op->hasTrait<mlir::OpTrait::IsTerminator>() ||
               graph.groupOf(reader) == group;
      });
    });
    if (!only_updates || llvm::none_of(outputs, [&](Value output) { return new_values.contains(output); }))
      continue;
    std::optional<Map> map = maps.of(group, outputs);
    if (!map) continue;
    const bool is_large = ir::TargetModel::Of(graph.deviceOf(group)).launches_cost &&
                          mlir::ShapedType::getNumElements(map->shape) >= kLargeUpdate;
    if (!is_large || !ComputesLargeInput(graph, group)) kernels.add(group, *map, outputs.size());
  }
  kernels.merge();
}

void MergeCasts(FusionGraph& graph, mlir::func::FuncOp function, size_t most_buffers) {
  auto is_variable = [&](Value value) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    return argument && function.getArgAttr(argument.getArgNumber(), ir::kVariableAttr);
  };
  Kernels kernels(graph, most_buffers);
  Maps maps(graph);
  for (unsigned group : graph.groups()) {
    if (!graph.nodes()[group].fusible || !ir::TargetModel::Of(graph.deviceOf(group)).launches_cost) continue;
    bool reads_variable = false, reads_others = false;
    for (unsigned member : graph.members(group)) {
      for (Value need : graph.nodes()[member].needs) {
        const int producer = graph.nodeOf(need);
        reads_variable |= is_variable(need);
        reads_others |= producer >= 0 ? graph.groupOf(producer) != group : !is_variable(need);
      }
    }
    if (!reads_variable || reads_others) continue;
    llvm::SmallVector<Value> outputs = graph.outputsOf({group});
    if (llvm::any_of(outputs, [&](Value output) { return IsReadByTerminator(graph, output); })) continue;
    std::optional<Map> map = maps.of(group, outputs);
    if (map && mlir::ShapedType::getNumElements(map->shape) < kLargeUpdate)
      kernels.add(group, *map, outputs.size());
  }
  kernels.merge();
}

}  // namespace sinter
