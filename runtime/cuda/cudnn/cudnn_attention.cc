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

// No limit: steps choose the size of their parts by the plan's workspace.
constexpr int64_t kAnyWorkspace = std::numeric_limits<int64_t>::max();

// Swaps the last two dimensions.
CudnnTensor Transposed(CudnnTensor tensor) {
  std::swap(tensor.sizes[2], tensor.sizes[3]);
  std::swap(tensor.strides[2], tensor.strides[3]);
  return tensor;
}

// Builds the graph. cuDNN's attention engines match a graph by its operations: cuDNN 9 recognizes exactly
// these operations in this order.
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
  // Returns scale Q K^T, given the transposed keys.
  Tensor Scores(Tensor q, Tensor keys_transposed, Tensor scale) {
    const Tensor matmuls = Square();
    g_.Matmul(q, keys_transposed, matmuls);
    return Pointwise(CUDNN_POINTWISE_MUL, matmuls, scale);
  }
  // Returns the sum of the scores and the bias, if there is one.
  Tensor Biased(Tensor scores) {
    if (!a_.has_bias) return scores;
    return Pointwise(CUDNN_POINTWISE_ADD, scores,
                     g_.InMemory(kScoreBias, CudnnType(a_.bias_dtype), a_.Bias()));
  }
  // Sets scores to minus infinity where a query does not attend to a key.
  Tensor Masked(Tensor scores) {
    if (a_.causal || a_.window != 0) scores = WithoutLaterKeys(scores);
    return a_.window == 0 ? scores : WithoutEarlierKeys(scores);
  }
  Tensor WithoutLaterKeys(Tensor scores);
  Tensor WithoutEarlierKeys(Tensor scores);
  // Returns the coordinate of each score along an axis.
  Tensor Index(Tensor scores, int64_t axis) {
    const Tensor result = g_.Virtual(CUDNN_DATA_INT32, square_);
    g_.Index(scores, axis, result);
    return result;
  }
  Tensor Offset(cudnnPointwiseMode_t mode, Tensor index, int64_t number) {
    const Tensor result = g_.Virtual(CUDNN_DATA_INT32, square_);
    g_.PointwiseOf(mode, CUDNN_DATA_INT32, {index, g_.Number(number, CUDNN_DATA_INT32)}, result);
    return result;
  }
  Tensor Select(Tensor scores, cudnnPointwiseMode_t mode, Tensor x, Tensor y) {
    const Tensor sees = g_.Virtual(CUDNN_DATA_BOOLEAN, square_), masked = g_.Number(kMasked);
    const Tensor result = Square();
    g_.Compare(mode, x, y, sees);
    g_.Pointwise(CUDNN_POINTWISE_BINARY_SELECT, {scores, masked, sees}, result);
    return result;
  }
  // Writes one product of matrices for each head of q as the gradient of k or v: heads that share one add up.
  void SumOfHeads(Tensor x, Tensor y, Tensor result) {
    if (a_.heads == a_.key_heads) return g_.Matmul(x, y, result);
    const Tensor each = g_.Virtual(type_, a_.KeysOfEachHead());
    g_.Matmul(x, y, each);
    g_.Reduce(CUDNN_REDUCE_TENSOR_ADD, each, result);
  }
  // Transposes a [queries, keys] matrix and rounds it to the operands' type, so that a matmul can sum over
  // its rows.
  Tensor TransposedNarrow(Tensor x) {
    const Tensor result = g_.Virtual(type_, Transposed(PackedTensor(square_, /*channels_last=*/false)));
    g_.Reshape(x, result);
    return result;
  }
  // Returns the sum of g * o along each row.
  Tensor RowSums(Tensor g, Tensor o);

  CudnnGraph g_;
  const CudnnAttention& a_;
  cudnnDataType_t type_;
  std::array<int64_t, 4> square_;
};

Tensor AttentionGraph::WithoutLaterKeys(Tensor scores) {
  Tensor row = Index(scores, 2);
  const Tensor column = Index(scores, 3);
  if (a_.queries != a_.keys) {
    row = Offset(CUDNN_POINTWISE_ADD, row, kKeyCount);
    row = Offset(CUDNN_POINTWISE_SUB, row, kQueryCount);
  }
  if (!a_.causal) row = Offset(CUDNN_POINTWISE_ADD, row, kRightBound);
  return Select(scores, CUDNN_POINTWISE_CMP_GE, row, column);
}

Tensor AttentionGraph::WithoutEarlierKeys(Tensor scores) {
  const Tensor row = Index(scores, 2), column = Index(scores, 3), shifted = Square();
  g_.Pointwise(CUDNN_POINTWISE_ADD, {column, g_.Number(kLeftBound)}, shifted);
  return Select(scores, CUDNN_POINTWISE_CMP_GT, shifted, row);
}

absl::StatusOr<CudnnDescriptor> AttentionGraph::Forward() {
  const Tensor q = g_.InMemory(kQueries, type_, a_.Queries());
  const Tensor k = g_.InMemory(kKeys, type_, Transposed(a_.Keys()));
  const Tensor v = g_.InMemory(kValues, type_, a_.Keys());
  const Tensor s = Masked(Biased(Scores(q, k, g_.Number(kScale))));
  const Tensor top = Rows(), sum = Rows();
  g_.Reduce(CUDNN_REDUCE_TENSOR_MAX, s, top);
  const Tensor e = Exp(Pointwise(CUDNN_POINTWISE_SUB, s, top));
  g_.Reduce(CUDNN_REDUCE_TENSOR_ADD, e, sum);
  // Unused stats are a virtual tensor: no engine of cuDNN 9.19 recognizes a graph without them.
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
  const Tensor matmuls = g_.Virtual(CUDNN_DATA_FLOAT, a_.Output()), sums = Rows();
  g_.Pointwise(CUDNN_POINTWISE_MUL, {g, o}, matmuls);
  g_.Reduce(CUDNN_REDUCE_TENSOR_ADD, matmuls, sums);
  // A multiplication by 1: with dropout, the factor would be the probability of keeping a value.
  const Tensor result = g_.InMemory(kRowSums, CUDNN_DATA_FLOAT, a_.Stats());
  g_.Pointwise(CUDNN_POINTWISE_MUL, {sums, g_.Number(kOne)}, result);
  return result;
}

// With `in_order`, dQ is one matmul with the same bits in every run. It needs the gradients of the scores in
// the workspace, in the operands' type. Otherwise tiles of keys add to dQ in memory, in f32 and in any order.
// cuDNN's numerical notes do not distinguish the two.
absl::StatusOr<CudnnDescriptor> AttentionGraph::Backward() {
  const Tensor q = g_.InMemory(kQueries, type_, a_.Queries());
  const Tensor k = g_.InMemory(kKeys, type_, Transposed(a_.Keys()));
  const Tensor v = g_.InMemory(kValues, type_, Transposed(a_.Keys()));
  const Tensor o = g_.InMemory(kOutput, type_, a_.Output());
  const Tensor g = g_.InMemory(kOutputGradient, type_, a_.Output());
  const Tensor stats = g_.InMemory(kStats, CUDNN_DATA_FLOAT, a_.Stats());
  const Tensor scale = g_.Number(kScale);
  const Tensor row_sums = RowSums(g, o);
  const Tensor p = Exp(Masked(Pointwise(CUDNN_POINTWISE_SUB, Biased(Scores(q, k, scale)), stats)));
  SumOfHeads(TransposedNarrow(p), g, g_.InMemory(kValueGradient, type_, a_.Keys()));
  const Tensor dp = Square();
  g_.Matmul(g, v, dp);
  const Tensor unscaled = Pointwise(CUDNN_POINTWISE_MUL, Pointwise(CUDNN_POINTWISE_SUB, dp, row_sums), p);
  const Tensor ds = Pointwise(CUDNN_POINTWISE_MUL, unscaled, scale);
  SumOfHeads(TransposedNarrow(ds), q, g_.InMemory(kKeyGradient, type_, a_.Keys()));
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

CudnnTensor CudnnAttention::Positions(int64_t positions, int64_t of_heads, int64_t in_memory,
                                      bool is_packed) const {
  const int64_t all_heads = in_memory == 0 ? of_heads : in_memory;
  const int64_t position = (is_packed ? 3 : 1) * all_heads * width;
  return {{batch, of_heads, positions, width}, {positions * position, width, position, 1}};
}

// A bias that all queries share is as many equal rows: cuDNN 9.19 computes wrong gradients with one row.
CudnnTensor CudnnAttention::Bias() const {
  const int64_t all_heads = bias_heads_in_memory == 0 ? bias_heads : bias_heads_in_memory;
  const int64_t matrix = bias_queries * keys;
  return {{bias_batch, bias_heads, queries, keys},
          {all_heads * matrix, matrix, bias_queries == 1 ? 0 : keys, 1}};
}

size_t CudnnAttention::ScoresBytes() const {
  if (!backward || !in_order) return 0;
  return static_cast<size_t>(batch * heads * queries * keys * SizeOf(static_cast<DType>(dtype)));
}

std::string CudnnAttention::ToString() const {
  return absl::StrCat(backward ? "backward " : "forward ", std::string(DTypeName(static_cast<DType>(dtype))),
                      causal ? " causal" : "", window != 0 ? absl::StrCat(" window ", window) : "",
                      has_bias ? absl::StrCat(" bias [", absl::StrJoin(Bias().sizes, ","), "]") : "",
                      packed ? " packed" : "", has_stats ? " stats" : "", in_order ? " [" : " in any order [",
                      absl::StrJoin(Queries().sizes, ","), "] by ", keys, " keys of ", key_heads, " heads");
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
