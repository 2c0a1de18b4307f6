// The operations on tensors.
// In ops of two or three operands, shapes broadcast as in NumPy and element types must agree.
//
//   auto p = sn::Softmax(sn::MatMul(x, w) + b);
//
// Every function takes the user's line as its last argument and never throws (see tensor.h). Negative
// dimensions count from the end. For formulas and gradients see docs/ops.md, which is generated from the op
// records in ir/.
#ifndef SINTER_FRONTEND_OPS_OPS_H_
#define SINTER_FRONTEND_OPS_OPS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "sinter/frontend/graph/tensor.h"
#include "sinter/frontend/ops/activations.h"  // IWYU pragma: export
#include "sinter/frontend/ops/attention.h"    // IWYU pragma: export
#include "sinter/frontend/ops/images.h"       // IWYU pragma: export
#include "sinter/frontend/ops/indexing.h"     // IWYU pragma: export
#include "sinter/frontend/ops/losses.h"       // IWYU pragma: export
#include "sinter/frontend/ops/pointwise.h"    // IWYU pragma: export

namespace sinter {

// Arithmetic. Integer division rounds towards zero, and gives 0 for a divisor of 0.
Tensor operator+(Operand x, Operand y);
Tensor operator-(Operand x, Operand y);
Tensor operator*(Operand x, Operand y);
Tensor operator/(Operand x, Operand y);
Tensor operator-(Operand x);

// Comparisons return i1. If an operand is NaN, only NotEqual is true.
Tensor Equal(Operand x, Operand y);
Tensor NotEqual(Operand x, Operand y);
Tensor operator<(Operand x, Operand y);
Tensor operator<=(Operand x, Operand y);
Tensor operator>(Operand x, Operand y);
Tensor operator>=(Operand x, Operand y);
Tensor operator&&(Operand x, Operand y);
Tensor operator||(Operand x, Operand y);
Tensor LogicalXor(Operand x, Operand y);
Tensor operator!(Operand x);
// Bits of integers, and truth values of i1.
Tensor operator&(Operand x, Operand y);
Tensor operator|(Operand x, Operand y);
Tensor operator^(Operand x, Operand y);
Tensor operator~(Operand x);
// Integers x shifted by y places; to the right with copies of the sign. No bit of x is left if y is negative
// or at least the number of bits: 0, or -1 to the right of a negative number.
Tensor ShiftLeft(Operand x, Operand y);
Tensor ShiftRight(Operand x, Operand y);
// on_true where the condition (i1) is true, else on_false.
Tensor Select(Operand condition, Operand on_true, Operand on_false);

// More functions of each element are in pointwise.h. They take floats unless noted; "Numbers" means floats
// and integers.
Tensor LeakyRelu(const Tensor& x, double alpha = 0.01, Where where = Where::current());
Tensor Elu(const Tensor& x, double alpha = 1.0, Where where = Where::current());
Tensor IsNan(const Tensor& x, Where where = Where::current());
Tensor IsFinite(const Tensor& x, Where where = Where::current());
Tensor IsInf(const Tensor& x, Where where = Where::current());
Tensor Clamp(const Tensor& x, Number low, Number high, Where where = Where::current());  // Numbers.
Tensor Cast(const Tensor& x, DType dtype, Where where = Where::current());               // Any type.

// Devices. Copy returns x on `device`, or on the device of `like`; it returns x itself if x is already there.
// The gradient is copied back. Clone returns x in a buffer of its own, on x's device: two clones are two
// buffers.
Tensor Copy(const Tensor& x, Device device, Where where = Where::current());       // Any type.
Tensor Copy(const Tensor& x, const Tensor& like, Where where = Where::current());  // Any types.
Tensor Clone(const Tensor& x, Where where = Where::current());                     // Any type.

// Shapes. One size of Reshape may be -1; it is inferred from the number of elements.
Tensor Reshape(const Tensor& x, const Shape& shape, Where where = Where::current());
Tensor Flatten(const Tensor& x, int64_t first_dim = 1, Where where = Where::current());
Tensor ExpandDims(const Tensor& x, int64_t dim, Where where = Where::current());
Tensor Squeeze(const Tensor& x, int64_t dim, Where where = Where::current());
Tensor Transpose(const Tensor& x, const Shape& permutation, Where where = Where::current());
Tensor BroadcastTo(const Tensor& x, const Shape& shape, Where where = Where::current());
// Along each dimension d, takes the elements from starts[d] up to, but not including, limits[d], in steps of
// strides[d]. Negative starts and limits count from the end. Empty strides are all 1.
Tensor Slice(const Tensor& x, const Shape& starts, const Shape& limits, const Shape& strides = {},
             Where where = Where::current());
Tensor SliceDim(const Tensor& x, int64_t dim, int64_t start, int64_t limit, Where where = Where::current());
Tensor Concat(const std::vector<Tensor>& xs, int64_t dim, Where where = Where::current());
std::vector<Tensor> Split(const Tensor& x, const Shape& sizes, int64_t dim, Where where = Where::current());
Tensor Pad(const Tensor& x, const Shape& low, const Shape& high, Number value = 0,
           Where where = Where::current());
// Pads with elements of x, for [1, 2, 3] and two on each side: kReflect gives 3 2 [1 2 3] 2 1, kSymmetric 2 1
// [1 2 3] 3 2, kReplicate 1 1 [1 2 3] 3 3, and kCircular 2 3 [1 2 3] 1 2. A padding is at most the size of
// its dimension, and below it for kReflect; that of kReplicate has no limit, but needs an element.
enum class PadMode { kReflect, kSymmetric, kReplicate, kCircular };
Tensor Pad(const Tensor& x, const Shape& low, const Shape& high, PadMode mode,
           Where where = Where::current());
Tensor Reverse(const Tensor& x, const Shape& dims, Where where = Where::current());
// Stack joins tensors of one shape along a new dimension; Unbind takes them apart again.
Tensor Stack(const std::vector<Tensor>& xs, int64_t dim = 0, Where where = Where::current());
std::vector<Tensor> Unbind(const Tensor& x, int64_t dim = 0, Where where = Where::current());
// Copies of x: Tile({1,2}, {3}) is {1,2,1,2,1,2}, Repeat({1,2}, 3, 0) is {1,1,1,2,2,2}. `counts` has one
// entry a dimension; missing ones in front are 1, and further ones in front make new dimensions.
Tensor Tile(const Tensor& x, const Shape& counts, Where where = Where::current());
Tensor Repeat(const Tensor& x, int64_t count, int64_t dim, Where where = Where::current());
// Moves each element `shift` positions up along the dimension, and those at the end to the front.
Tensor Roll(const Tensor& x, int64_t shift, int64_t dim, Where where = Where::current());
// Parts of the matrices in the last two dimensions: Tril keeps the elements (i, j) with j - i of at most
// `diagonal`, Triu those of at least that, and the others are 0. Diagonal takes those with j - i = offset;
// DiagEmbed puts a last dimension there, among zeros.
Tensor Tril(const Tensor& x, int64_t diagonal = 0, Where where = Where::current());
Tensor Triu(const Tensor& x, int64_t diagonal = 0, Where where = Where::current());
Tensor Diagonal(const Tensor& x, int64_t offset = 0, Where where = Where::current());
Tensor DiagEmbed(const Tensor& x, int64_t offset = 0, Where where = Where::current());
// The coordinates of a grid: result i has the elements of xs[i], of rank 1, along dimension i.
std::vector<Tensor> Meshgrid(const std::vector<Tensor>& xs, Where where = Where::current());
// Indexing along `dim`. Gather takes whole slices: an embedding lookup is Gather(table, ids, 0). Indices are
// i32 or i64. An index out of range is an error only with CompileOptions::check_indices. Without it, Gather
// and TakeAlong clamp the index to the range, ScatterAdd adds nothing for it, and OneHot gives zeros.
Tensor Gather(const Tensor& x, const Tensor& indices, int64_t dim, Where where = Where::current());
Tensor TakeAlong(const Tensor& x, const Tensor& indices, int64_t dim, Where where = Where::current());
Tensor ScatterAdd(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t dim,
                  Where where = Where::current());
Tensor OneHot(const Tensor& indices, int64_t classes, DType dtype = DType::kF32,
              Where where = Where::current());

// Reductions along `dims`; empty means all dimensions. The reduced dimensions are dropped, or kept as size 1.
struct ReduceOptions {
  bool keep_dims = false;
};
Tensor Sum(const Tensor& x, const Shape& dims = {}, ReduceOptions options = {},
           Where where = Where::current());
Tensor Mean(const Tensor& x, const Shape& dims = {}, ReduceOptions options = {},
            Where where = Where::current());
Tensor Max(const Tensor& x, const Shape& dims = {}, ReduceOptions options = {},
           Where where = Where::current());
Tensor Min(const Tensor& x, const Shape& dims = {}, ReduceOptions options = {},
           Where where = Where::current());
Tensor Prod(const Tensor& x, const Shape& dims = {}, ReduceOptions options = {},
            Where where = Where::current());
Tensor Any(const Tensor& x, const Shape& dims = {}, ReduceOptions options = {},
           Where where = Where::current());
Tensor All(const Tensor& x, const Shape& dims = {}, ReduceOptions options = {},
           Where where = Where::current());
Tensor LogSumExp(const Tensor& x, const Shape& dims = {}, ReduceOptions options = {},
                 Where where = Where::current());
// The p-norm: the sum of |x|^p, to the power 1 / p. A p of infinity gives the largest |x|, of -infinity the
// smallest, and 0 counts the elements that are not 0. Elements that are 0 get no gradient.
struct NormOptions {
  double p = 2;
  bool keep_dims = false;
};
Tensor Norm(const Tensor& x, const Shape& dims = {}, NormOptions options = {},
            Where where = Where::current());
// The sum and the mean of the elements that are not NaN. A mean of none is NaN.
Tensor NanSum(const Tensor& x, const Shape& dims = {}, ReduceOptions options = {},
              Where where = Where::current());
Tensor NanMean(const Tensor& x, const Shape& dims = {}, ReduceOptions options = {},
               Where where = Where::current());
// The number of elements that are not 0, or are true: i32. Takes numbers and i1. NaN counts.
Tensor CountNonZero(const Tensor& x, const Shape& dims = {}, ReduceOptions options = {},
                    Where where = Where::current());
// The number that a part q, from 0 to 1, of the elements does not exceed: the one at place q * (n - 1) of n
// sorted elements. Between two places it is their mean, weighted by the distance, or the one that the rule
// names (kNearest: ties to even). A row with a NaN gives NaN. The gradient goes to the elements at the
// places. Median is the quantile of 1/2; PyTorch's median has the rule kLower.
enum class QuantileRule { kLinear, kLower, kHigher, kNearest, kMidpoint };
struct QuantileOptions {
  QuantileRule rule = QuantileRule::kLinear;
  bool keep_dims = false;
};
Tensor Quantile(const Tensor& x, double q, const Shape& dims = {}, QuantileOptions options = {},
                Where where = Where::current());
Tensor Median(const Tensor& x, const Shape& dims = {}, QuantileOptions options = {},
              Where where = Where::current());
// The variance: the mean of the squared distances from the mean, times n / (n - correction) for n elements.
// A correction of 1 makes that of a sample unbiased. Std is its root.
struct VarianceOptions {
  int64_t correction = 0;
  bool keep_dims = false;
};
Tensor Var(const Tensor& x, const Shape& dims = {}, VarianceOptions options = {},
           Where where = Where::current());
Tensor Std(const Tensor& x, const Shape& dims = {}, VarianceOptions options = {},
           Where where = Where::current());
Tensor ArgMax(const Tensor& x, int64_t dim, DType dtype = DType::kI32, Where where = Where::current());
Tensor ArgMin(const Tensor& x, int64_t dim, DType dtype = DType::kI32, Where where = Where::current());
// The k largest elements along the last dimension, the largest first, and their positions (i32). Takes
// numbers. NaN is the largest; of equal elements the first comes first. The gradient goes to the elements
// that were taken. On a GPU each row is read k times.
struct TopKResult {
  Tensor values, positions;
};
TopKResult TopK(const Tensor& x, int64_t k, Where where = Where::current());
Tensor CumSum(const Tensor& x, int64_t dim, bool reverse = false, Where where = Where::current());
// Running products and extremes, and sums of exponentials. They read the tensor once for each doubling of the
// dimension's size, unlike CumSum, which reads it once.
Tensor CumProd(const Tensor& x, int64_t dim, bool reverse = false, Where where = Where::current());
Tensor CumMax(const Tensor& x, int64_t dim, bool reverse = false, Where where = Where::current());
Tensor CumMin(const Tensor& x, int64_t dim, bool reverse = false, Where where = Where::current());
// The logarithm of the running sums of Exp(x). Takes floats; an element of -infinity adds nothing.
Tensor LogCumSumExp(const Tensor& x, int64_t dim, bool reverse = false, Where where = Where::current());

// [..., m, k] times [..., k, n]; leading dimensions broadcast. `math` is the arithmetic of f32 matmuls.
struct MatMulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  MathMode math = MathMode::kIeee;
  // The type of the sums and the result: kI32 for kI8, and kF32 for kBf16 and kF16. Unset: the type of a and
  // b.
  std::optional<DType> result = std::nullopt;
};
Tensor MatMul(const Tensor& a, const Tensor& b, MatMulOptions options = {}, Where where = Where::current());
// A sum of products in Einstein's notation, as NumPy's einsum:
//   Einsum("bhid,bhjd->bhij", {q, k})     // Scores of attention.
//   Einsum("...ij,j->...i", {a, v})       // ... stands for any dimensions, which broadcast.
// A letter names a dimension. A letter that the result lacks is summed over, and one that an operand has
// twice takes its diagonal. Without -> the result has the letters that occur once, in the order of the
// alphabet. The operands are multiplied from left to right, by MatMul where two share letters that nothing
// later reads.
struct EinsumOptions {
  MathMode math = MathMode::kIeee;
};
Tensor Einsum(std::string_view equation, const std::vector<Tensor>& xs, EinsumOptions options = {},
              Where where = Where::current());

// Neural-network functions.
Tensor Softmax(const Tensor& x, int64_t dim = -1, Where where = Where::current());
Tensor LogSoftmax(const Tensor& x, int64_t dim = -1, Where where = Where::current());
Tensor LayerNorm(const Tensor& x, const Tensor& scale, const Tensor& offset, double epsilon = 1e-5,
                 Where where = Where::current());
Tensor RmsNorm(const Tensor& x, const Tensor& scale, double epsilon = 1e-5, Where where = Where::current());
// Normalises groups of channels of each example, x [N, C, ...], with a scale and an offset [C] (Wu and He,
// "Group Normalization", arXiv 1803.08494). One group is a layer norm of the whole example, C groups an
// instance norm.
Tensor GroupNorm(const Tensor& x, int64_t groups, const Tensor& scale, const Tensor& offset,
                 double epsilon = 1e-5, Where where = Where::current());
// Divides each channel by (k + alpha / size * the sum of squares of `size` channels around it) to the power
// beta (Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural Networks", 2012). Channels
// are dimension 1.
struct LocalResponseNormOptions {
  double alpha = 1e-4, beta = 0.75, k = 1;
};
Tensor LocalResponseNorm(const Tensor& x, int64_t size, LocalResponseNormOptions options = {},
                         Where where = Where::current());
// x divided by its norm along `dim`, or by epsilon if that is larger.
Tensor Normalize(const Tensor& x, int64_t dim = -1, double epsilon = 1e-12, Where where = Where::current());
// The cosine of the angle between x and y along `dim`; norms below epsilon count as epsilon.
Tensor CosineSimilarity(const Tensor& x, const Tensor& y, int64_t dim = -1, double epsilon = 1e-8,
                        Where where = Where::current());
// Channels are dimension `dim`. The mean and the (biased) variance are over all other dimensions.
struct BatchNormResult {
  Tensor result, mean, variance;
};
BatchNormResult BatchNormTraining(const Tensor& x, const Tensor& scale, const Tensor& offset, int64_t dim = 1,
                                  double epsilon = 1e-5, Where where = Where::current());
Tensor BatchNormInference(const Tensor& x, const Tensor& scale, const Tensor& offset, const Tensor& mean,
                          const Tensor& variance, int64_t dim = 1, double epsilon = 1e-5,
                          Where where = Where::current());
// Zeroes each element with the given probability, from 0 to 1, and scales the others by 1 / (1 -
// probability), in every mode. nn::Dropout does so in Mode::kTrain only. 0 is x itself and draws no numbers.
// 1 zeroes all, and the gradient, but NaN and infinities become NaN, as in PyTorch.
Tensor Dropout(const Tensor& x, double probability, Where where = Where::current());

struct GradientsOptions {
  // Returns zeros for a value that the loss does not depend on, or depends on only through ops without a
  // gradient: StopGradient, ArgMax, comparisons, rounding, casts to integers. If false, such a value is an
  // error.
  bool allow_unused = false;
};
// The gradients of a rank-0 loss with respect to values that it is computed from. A variable stands for the
// value that was read: a value read after an assignment, such as an optimiser's update, is a different one.
std::vector<Tensor> Gradients(const Tensor& loss, const std::vector<Tensor>& xs,
                              const GradientsOptions& options = {}, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_OPS_H_
