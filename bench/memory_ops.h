// Memory-bound ops at the sizes of the workload "ops" in bench/peers/torch_gpu.py.
//
//   SINTER_ASSIGN_OR_RETURN(MemoryOp op, MakeMemoryOp("softmax_bf16", /*scale=*/16));
//   SINTER_ASSIGN_OR_RETURN(Plan plan, Compile(op.graph, {.device = Device::Gpu(0)}));
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan)));
//   SINTER_RETURN_IF_ERROR(SetValues(session, op));
//   session.Run("run", {})
//
// The operands are variables, which stay on the device. A session draws them from a normal distribution when
// it starts, also from a saved plan. Only labels are set by SetValues.
#ifndef SINTER_BENCH_MEMORY_OPS_H_
#define SINTER_BENCH_MEMORY_OPS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/sinter.h"
#include "sinter/runtime/tensor/named_tensor.h"

namespace sinter::bench {

// A graph with one function "run", without inputs.
struct MemoryOp {
  std::string name;
  Graph graph;
  Shape shape;               // Shape of the counted tensor; for AdamW {number of all elements}.
  double minimal_bytes = 0;  // Least bytes that one op reads and writes, counted as the peers count them.
  int repeats = 1;           // Number of times that a run executes the op, in sequence.
  std::vector<NamedTensor> values;  // Values of the variables that are not drawn.
};

// Returns the names in the order of the peers. The first op is a copy within the device's memory, the limit
// of the others.
std::vector<std::string> MemoryOpNames();

// Returns the op `name`. Divides by `scale` the elements of a chain or copy, the rows of a matrix, and the
// first dimension of each updated parameter, but keeps at least one. NotFound: unknown name. InvalidArgument:
// `scale` is below 1.
absl::StatusOr<MemoryOp> MakeMemoryOp(std::string_view name, int64_t scale = 1);

// Sets the variables in `op.values`.
absl::Status SetValues(Session& session, const MemoryOp& op);

}  // namespace sinter::bench

#endif  // SINTER_BENCH_MEMORY_OPS_H_
