#include "sinter/runtime/cuda/cudnn/cudnn_attention.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/cuda/cudnn/cudnn_graph.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

using Tensor = CudnnGraph::Tensor;

// Steps choose their parts by the workspace that is left over.
constexpr int64_t kAnyWorkspace = std::numeric_limits<int64_t>::max();

// The last two dimensions exchanged.
CudnnTensor Transposed(CudnnTensor tensor) {
  std::swap(tensor.sizes[2], tensor.sizes[3]);
  std::swap(tensor.strides[2], tensor.strides[3]);
  return tensor;
}

// Engines for attention recognise a graph by its operations: these, in this order, are what those of cuDNN 9 know.
class AttentionGraph {
 public:
  AttentionGraph(const CudnnHandle& cudnn, const CudnnAttention& a)
      : g_(cudnn), a_(a), type_(CudnnType(a.dtype)), square_({a.batch, a.heads, a.queries, a.keys}) {}

  absl::StatusOr<CudnnDescriptor> Forward();
  absl::StatusOr<CudnnDescriptor> Backward();

 private:
  Tensor Square() { return g_.Virtual(CUDNN_DATA_FLOAT, square_); }
  Tensor Rows() { return g_.Virtual(CUDNN_DATA_FLOAT, a_.Stats()); }
  Tensor Pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor y) {
    const Tensor result = Square();
    g_.Pointwise(mode, {x, y}, result);
    return result;
  }
  Tensor Exp(Tensor x) {
    const Tensor result = Square();
    g_.Pointwise(CUDNN_POINTWISE_EXP, {x}, result);
    return result;
  }
  // scale Q K^T, of transposed keys.
  Tensor Scores(Tensor q, Tensor keys_transposed, Tensor scale) {
    const Tensor products = Square();
    g_.Matmul(q, keys_transposed, products);
    return Pointwise(CUDNN_POINTWISE_MUL, products, scale);
  }
  // Minus infinity where a query does not see a key.
  Tensor Masked(Tensor scores) {
    if (!a_.causal) return scores;
    const Tensor row = g_.Virtual(CUDNN_DATA_INT32, square_), column = g_.Virtual(CUDNN_DATA_INT32, square_);
    const Tensor sees = g_.Virtual(CUDNN_DATA_BOOLEAN, square_), masked = g_.Number(kMasked);
    const Tensor result = Square();
    g_.Index(scores, 2, row);
    g_.Index(scores, 3, column);
    g_.Compare(CUDNN_POINTWISE_CMP_GE, row, column, sees);
    g_.Pointwise(CUDNN_POINTWISE_BINARY_SELECT, {scores, masked, sees}, result);
    return result;
  }
  // A square matrix as an operand of a product that sums over its rows.
  Tensor TransposedNarrow(Tensor x) {
    const Tensor result = g_.Virtual(type_, Transposed(PackedTensor(square_, /*channels_last=*/false)));
    g_.Reshape(x, result);
    return result;
  }
  // The sum of g * o along each row.
  Tensor RowSums(Tensor g, Tensor o);

  CudnnGraph g_;
  const CudnnAttention& a_;
  cudnnDataType_t type_;
  std::array<int64_t, 4> square_;
};

absl::StatusOr<CudnnDescriptor> AttentionGraph::Forward() {
  const Tensor q = g_.InMemory(kQueries, type_, a_.Queries());
  const Tensor k = g_.InMemory(kKeys, type_, Transposed(a_.Keys()));
  const Tensor v = g_.InMemory(kValues, type_, a_.Keys());
  const Tensor s = Masked(Scores(q, k, g_.Number(kScale)));
  const Tensor top = Rows(), sum = Rows();
  g_.Reduce(CUDNN_REDUCE_TENSOR_MAX, s, top);
  const Tensor e = Exp(Pointwise(CUDNN_POINTWISE_SUB, s, top));
  g_.Reduce(CUDNN_REDUCE_TENSOR_ADD, e, sum);
  // Where nobody wants the stats they are no operand: without them in the graph, no engine of cuDNN 9.19 knows it.
  const Tensor log = Rows(),
               stats = a_.has_stats ? g_.InMemory(kStats, CUDNN_DATA_FLOAT, a_.Stats()) : Rows();
  g_.Pointwise(CUDNN_POINTWISE_LOG, {sum}, log);
  g_.Pointwise(CUDNN_POINTWISE_ADD, {top, log}, stats);
  const Tensor p = g_.Virtual(type_, square_);
  g_.Pointwise(CUDNN_POINTWISE_DIV, {e, sum}, p);
  g_.Matmul(p, v, g_.InMemory(kOutput, type_, a_.Output()));
  return g_.Finish();
}

Tensor AttentionGraph::RowSums(Tensor g, Tensor o) {
  const Tensor products = g_.Virtual(CUDNN_DATA_FLOAT, a_.Output()), sums = Rows();
  g_.Pointwise(CUDNN_POINTWISE_MUL, {g, o}, products);
  g_.Reduce(CUDNN_REDUCE_TENSOR_ADD, products, sums);
  // Times 1: with dropout it would be the probability of what is kept.
  const Tensor result = g_.InMemory(kRowSums, CUDNN_DATA_FLOAT, a_.Stats());
  g_.Pointwise(CUDNN_POINTWISE_MUL, {sums, g_.Number(kOne)}, result);
  return result;
}

// In order, dQ is one product: to the bit the same in every run. For that the gradients of the scores are in the workspace, in
// the type of the operands. Else tiles of keys add to it in memory, in f32, in whatever order they are done; cuDNN's numerical
// notes do not tell the two apart.
absl::StatusOr<CudnnDescriptor> AttentionGraph::Backward() {
  const Tensor q = g_.InMemory(kQueries, type_, a_.Queries());
  const Tensor k = g_.InMemory(kKeys, type_, Transposed(a_.Keys()));
  const Tensor v = g_.InMemory(kValues, type_, Transposed(a_.Keys()));
  const Tensor o = g_.InMemory(kOutput, type_, a_.Output());
  const Tensor g = g_.InMemory(kOutputGradient, type_, a_.Output());
  const Tensor stats = g_.InMemory(kStats, CUDNN_DATA_FLOAT, a_.Stats());
  const Tensor scale = g_.Number(kScale);
  const Tensor row_sums = RowSums(g, o);
  const Tensor p = Exp(Masked(Pointwise(CUDNN_POINTWISE_SUB, Scores(q, k, scale), stats)));
  g_.Matmul(TransposedNarrow(p), g, g_.InMemory(kValueGradient, type_, a_.Keys()));
  const Tensor dp = Square();
  g_.Matmul(g, v, dp);
  const Tensor unscaled = Pointwise(CUDNN_POINTWISE_MUL, Pointwise(CUDNN_POINTWISE_SUB, dp, row_sums), p);
  const Tensor ds = Pointwise(CUDNN_POINTWISE_MUL, unscaled, scale);
  g_.Matmul(TransposedNarrow(ds), q, g_.InMemory(kKeyGradient, type_, a_.Keys()));
  const Tensor keys = g_.Virtual(type_, a_.Keys());
  g_.Reshape(k, keys);
  const Tensor dq = g_.InMemory(kQueryGradient, type_, a_.Queries());
  if (a_.in_order) {
    g_.Matmul(ds, keys, dq);
  } else {
    const Tensor sums = g_.InMemory(kQuerySums, CUDNN_DATA_FLOAT, a_.QuerySums());
    g_.Matmul(ds, keys, sums);
    g_.Pointwise(CUDNN_POINTWISE_IDENTITY, {sums}, dq);
  }
  return g_.Finish();
}

}  // namespace

CudnnTensor CudnnAttention::Positions(int64_t positions, bool is_packed) const {
  const int64_t all_heads = heads_in_memory == 0 ? heads : heads_in_memory;
  const int64_t position = (is_packed ? 3 : 1) * all_heads * width;
  return {{batch, heads, positions, width}, {positions * position, width, position, 1}};
}

size_t CudnnAttention::ScoresBytes() const {
  if (!backward || !in_order) return 0;
  return static_cast<size_t>(batch * heads * queries * keys * SizeOf(static_cast<DType>(dtype)));
}

std::string CudnnAttention::ToString() const {
  return absl::StrCat(backward ? "backward " : "forward ", std::string(DTypeName(static_cast<DType>(dtype))),
                      causal ? " causal" : "", packed ? " packed" : "", has_stats ? " stats" : "",
                      in_order ? " [" : " in any order [", absl::StrJoin(Queries().sizes, ","), "] by ", keys,
                      " keys");
}

absl::StatusOr<std::unique_ptr<CudnnPlan>> MakeAttentionPlan(const CudnnHandle& cudnn,
                                                             const CudnnAttention& attention) {
  AttentionGraph builder(cudnn, attention);
  const auto plan = [&]() -> absl::StatusOr<std::unique_ptr<CudnnPlan>> {
    SINTER_ASSIGN_OR_RETURN(const CudnnDescriptor graph,
                            attention.backward ? builder.Backward() : builder.Forward());
    return CudnnPlan::Create(cudnn, graph, {.max_workspace = kAnyWorkspace});
  };
  absl::StatusOr<std::unique_ptr<CudnnPlan>> made = plan();
  if (made.ok()) return made;
  return absl::Status(made.status().code(), absl::StrCat("attention ", attention.ToString(), ": ",
                                                         std::string(made.status().message())));
}

}  // namespace sinter
