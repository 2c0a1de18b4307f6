// Builder::Log: the next value of a log and its variables (runtime/tensor/scalar_log.h).
#include "sinter/runtime/tensor/scalar_log.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/graph_state.h"

namespace sinter {

namespace {

// Returns the capacity of an existing log; nullopt if there is none.
std::optional<int64_t> CapacityOf(GraphState& graph, const std::string& ring) {
  auto found = graph.variable_ops.find(ring);
  if (found == graph.variable_ops.end()) return std::nullopt;
  return llvm::cast<mlir::RankedTensorType>(found->second.getType()).getDimSize(1);
}

// Appends a value to the ring and increments its counts. Each cell is computed only from itself, so that both
// variables are updated in place, in one kernel with other updates. Each cell therefore holds a copy of the
// count.
std::pair<ir::Expr, ir::Expr> Append(ir::Expr ring, ir::Expr counts, ir::Expr value) {
  ir::GraphBuilder& b = *ring.builder;
  const double capacity = static_cast<double>(ring.shape()[1]);
  ir::Expr column = counts - b.floor(counts / capacity) * capacity, number = counts + 1.0;
  ir::Expr is_next = b.eq(b.iota(ring.shape(), ring.element(), 1), column);
  ir::Expr row = b.iota(ring.shape(), ring.element(), 0);
  ir::Expr entry = b.select(b.eq(row, b.zeros(row)), b.splat(b.cast(value, ring.element()), ring), number);
  return {b.select(is_next, entry, ring), number};
}

}  // namespace

void Builder::Log(std::string_view name, const Tensor& value, LogOptions options, Where where) {
  const std::string text(name);
  Call call(absl::StrCat("Log \"", text, "\""), where, function(), {value});
  if (!call.ok()) return;
  const std::string ring_name = absl::StrCat(std::string(kLogPrefix), text);
  const std::optional<int64_t> exists = CapacityOf(call.graph(), ring_name);
  if (text.empty()) {
    call.Fail("has no name");
  } else if (value.rank() != 0) {
    call.Fail("takes one number, a tensor of rank 0; Mean(x) or Sum(x) first");
  } else if (options.capacity < 1) {
    call.Fail(absl::StrCat("needs a capacity of at least 1, got ", options.capacity));
  } else if (exists && *exists != options.capacity) {
    call.Fail(absl::StrCat("has a capacity of ", options.capacity, " here and of ", *exists,
                           " where it was logged first; give both the same"));
  } else {
    // The log is on the value's device, regardless of open scopes.
    UnplacedScope unplaced(&call.function());
    const VariableOptions state{.init = {}, .trainable = false};
    GraphState& graph = call.graph();
    const Shape shape = {2, options.capacity};
    ir::VariableOp ring = graph.FindOrMake(ring_name, DType::kF64, shape, state, where);
    ir::VariableOp count =
        graph.FindOrMake(absl::StrCat(std::string(kLogCountPrefix), text), DType::kF64, shape, state, where);
    if (!ring || !count) return;  // FindOrMake keeps the error.
    ir::GraphBuilder& b = call.b();
    auto [cells, counts] =
        Append(b.wrap(call.function().Read(ring)), b.wrap(call.function().Read(count)), call.expr(0));
    call.function().Assign(ring, cells.value);
    call.function().Assign(count, counts.value);
  }
}

}  // namespace sinter
