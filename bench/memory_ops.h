// The ops whose time is that of moving their bytes, at the sizes of bench/peers/torch_gpu.py: its workload "ops".
//
//   SINTER_ASSIGN_OR_RETURN(MemoryOp op, MakeMemoryOp("softmax_bf16", /*scale=*/16));
//   SINTER_ASSIGN_OR_RETURN(Plan plan, Compile(op.graph, {.device = Device::Gpu(0)}));
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan)));
//   SINTER_RETURN_IF_ERROR(SetValues(session, op));
//   session.Run("run", {})
//
// What an op reads is variables, which stay on the device. They are drawn from a normal distribution when a session starts,
// so that a saved plan has them too; labels alone are set by SetValues.
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
  Shape shape;               // Of the tensor that is counted; of the updates of many tensors: {all elements}.
  double minimal_bytes = 0;  // What doing the op once must read and write, counted as the peers count.
  int repeats = 1;           // How often a run of the function does it, one behind the other.
  std::vector<NamedTensor> values;  // Of the variables that are not drawn.
};

// In the order of the peers. The first is a copy within the device's memory, the roof of all others.
std::vector<std::string> MemoryOpNames();

// With 1 / `scale` of the elements of a chain or a copy, of the rows of a matrix, and of the first dimension of each
// parameter that is updated, but at least one. NotFound: another name; InvalidArgument: a scale below 1.
absl::StatusOr<MemoryOp> MakeMemoryOp(std::string_view name, int64_t scale = 1);

absl::Status SetValues(Session& session, const MemoryOp& op);

}  // namespace sinter::bench

#endif  // SINTER_BENCH_MEMORY_OPS_H_
