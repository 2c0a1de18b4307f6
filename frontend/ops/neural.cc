// Neural-network functions and gradients of the builder.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/gradient_reach.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {

namespace {

constexpr char kFloats[] = "takes floats; Cast(x, F32) first";

std::string WrongEpsilon(double epsilon) { return OutOfBounds("an epsilon", epsilon, {.low = 0}); }

template <typename Op>
Tensor SoftmaxLike(std::string_view name, const Tensor& x, int64_t dim, Where where) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kFloats);
  auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  return call.Done(
      call.b().builder().create<Op>(call.loc(), call.value(0).getType(), call.value(0), *d).getResult());
}

// True if each of `vectors` has shape [size] and x's element type; else keeps an error.
bool CheckVectors(Call& call, const Tensor& x, const std::vector<Tensor>& vectors, int64_t size) {
  for (const Tensor& v : vectors) {
    if (v.dtype() == x.dtype() && v.shape() == Shape{size}) continue;
    call.Fail(absl::StrCat("needs parameters of type ", TypeString(x.dtype(), {size})));
    return false;
  }
  return true;
}

}  // namespace

Tensor Softmax(const Tensor& x, int64_t dim, Where where) {
  return SoftmaxLike<ir::SoftmaxOp>("Softmax", x, dim, where);
}
Tensor LogSoftmax(const Tensor& x, int64_t dim, Where where) {
  return SoftmaxLike<ir::LogSoftmaxOp>("LogSoftmax", x, dim, where);
}

Tensor LayerNorm(const Tensor& x, const Tensor& scale, const Tensor& offset, double epsilon, Where where) {
  Call call("LayerNorm", where, {x, scale, offset});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.rank() < 1) return call.Fail("takes floats of rank 1 or more");
  if (std::string wrong = WrongEpsilon(epsilon); !wrong.empty()) return call.Fail(wrong);
  if (!CheckVectors(call, x, {scale, offset}, x.dim(-1))) return {};
  return call.Done(call.b()
                       .builder()
                       .create<ir::LayerNormOp>(call.loc(), call.value(0).getType(), call.value(0),
                                                call.value(1), call.value(2), llvm::APFloat(epsilon))
                       .getResult());
}

Tensor RmsNorm(const Tensor& x, const Tensor& scale, double epsilon, Where where) {
  Call call("RmsNorm", where, {x, scale});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.rank() < 1) return call.Fail("takes floats of rank 1 or more");
  if (std::string wrong = WrongEpsilon(epsilon); !wrong.empty()) return call.Fail(wrong);
  if (!CheckVectors(call, x, {scale}, x.dim(-1))) return {};
  return call.Done(call.b()
                       .builder()
                       .create<ir::RmsNormOp>(call.loc(), call.value(0).getType(), call.value(0),
                                              call.value(1), llvm::APFloat(epsilon))
                       .getResult());
}

BatchNormResult BatchNormTraining(const Tensor& x, const Tensor& scale, const Tensor& offset, int64_t dim,
                                  double epsilon, Where where) {
  Call call("BatchNormTraining", where, {x, scale, offset});
  if (!call.ok()) return {};
  auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  if (!IsFloat(x.dtype())) return {call.Fail(kFloats), {}, {}};
  if (std::string wrong = WrongEpsilon(epsilon); !wrong.empty()) return {call.Fail(wrong), {}, {}};
  if (!CheckVectors(call, x, {scale, offset}, x.dim(*d))) return {};
  if (!call.function().bucket().empty()) {
    return {
        call.Fail("would count a bucket's padding in its statistics; train with Graph::Function, or with a "
                  "norm of each row"),
        {},
        {}};
  }
  auto channels = call.type(x.dtype(), {x.dim(*d)});
  auto op = call.b().builder().create<ir::BatchNormTrainingOp>(
      call.loc(), call.value(0).getType(), channels, channels, call.value(0), call.value(1), call.value(2),
      call.b().builder().getI64IntegerAttr(*d), call.b().builder().getF64FloatAttr(epsilon),
      call.b().builder().getI64IntegerAttr(1));
  return {call.Done(op.getResult()), call.Done(op.getMean()), call.Done(op.getVariance())};
}

Tensor BatchNormInference(const Tensor& x, const Tensor& scale, const Tensor& offset, const Tensor& mean,
                          const Tensor& variance, int64_t dim, double epsilon, Where where) {
  Call call("BatchNormInference", where, {x, scale, offset, mean, variance});
  if (!call.ok()) return {};
  auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kFloats);
  if (std::string wrong = WrongEpsilon(epsilon); !wrong.empty()) return call.Fail(wrong);
  if (!CheckVectors(call, x, {scale, offset, mean, variance}, x.dim(*d))) return {};
  return call.Done(call.b()
                       .builder()
                       .create<ir::BatchNormInferenceOp>(
                           call.loc(), call.value(0).getType(), call.value(0), call.value(1), call.value(2),
                           call.value(3), call.value(4), call.b().builder().getI64IntegerAttr(*d),
                           call.b().builder().getF64FloatAttr(epsilon))
                       .getResult());
}

Tensor GroupNorm(const Tensor& x, int64_t groups, const Tensor& scale, const Tensor& offset, double epsilon,
                 Where where) {
  CompositeCall call("GroupNorm", where, {x, scale, offset});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.rank() < 2) {
    return call.Fail("takes floats of rank 2 or more, channels at dimension 1; Cast(x, F32) first");
  }
  const int64_t channels = x.dim(1);
  if (groups < 1 || channels % groups != 0) {
    return call.Fail(absl::StrCat("has ", groups, " groups, which must divide the ", channels, " channels"));
  }
  for (const Tensor& v : {scale, offset}) {
    if (v.dtype() != x.dtype() || v.shape() != Shape{channels}) {
      return call.Fail(absl::StrCat("needs parameters of type ", TypeString(x.dtype(), {channels})));
    }
  }
  if (std::string wrong = WrongEpsilon(epsilon); !wrong.empty()) return call.Fail(wrong);
  if (x.size() == 0) return x;
  // The statistics in f32: bf16 and f16 would lose them in large groups.
  const DType in = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor parts = Reshape(Cast(x, in), {x.dim(0), groups, -1});
  const Tensor centred = parts - Mean(parts, {2}, {.keep_dims = true});
  const Tensor variance = Mean(Square(centred), {2}, {.keep_dims = true});
  const Tensor normal = Reshape(centred * Rsqrt(variance + epsilon), x.shape());
  Shape each(static_cast<size_t>(x.rank() - 1), 1);
  each[0] = channels;
  return Cast(normal * Reshape(Cast(scale, in), each) + Reshape(Cast(offset, in), each), x.dtype());
}

Tensor LocalResponseNorm(const Tensor& x, int64_t size, LocalResponseNormOptions options, Where where) {
  CompositeCall call("LocalResponseNorm", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.rank() < 2) {
    return call.Fail("takes floats of rank 2 or more, channels at dimension 1; Cast(x, F32) first");
  }
  if (size < 1) return call.Fail("needs a size of at least 1 channel");
  Shape low(static_cast<size_t>(x.rank()), 0), high = low;
  low[1] = size / 2;
  high[1] = (size - 1) / 2;
  // Differences of running sums give the sums of all windows, but lose digits. The windows are few.
  const Tensor squares = Pad(Square(x), low, high);
  Tensor sums;
  for (int64_t i = 0; i < size; ++i) {
    const Tensor window = SliceDim(squares, 1, i, i + x.dim(1));
    sums = i == 0 ? window : sums + window;
  }
  return x / Pow(sums * (options.alpha / static_cast<double>(size)) + options.k, options.beta);
}

Tensor Normalize(const Tensor& x, int64_t dim, double epsilon, Where where) {
  CompositeCall call("Normalize", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kFloats);
  if (std::string wrong = WrongEpsilon(epsilon); !wrong.empty()) return call.Fail(wrong);
  return x / Maximum(Norm(x, {dim}, {.keep_dims = true}), epsilon);
}

Tensor CosineSimilarity(const Tensor& x, const Tensor& y, int64_t dim, double epsilon, Where where) {
  CompositeCall call("CosineSimilarity", where, {x, y});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.dtype() != y.dtype()) return call.Fail("takes floats of one element type");
  if (std::string wrong = WrongEpsilon(epsilon); !wrong.empty()) return call.Fail(wrong);
  return Sum(x * y, {dim}) / (Maximum(Norm(x, {dim}), epsilon) * Maximum(Norm(y, {dim}), epsilon));
}

Tensor Dropout(const Tensor& x, double probability, Where where) {
  Call call("Dropout", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kFloats);
  std::string wrong = OutOfBounds("a probability", probability, {.low = 0, .high = 1});
  if (!wrong.empty()) return call.Fail(wrong);
  if (probability == 0) return x;
  // The scale of what is left would be infinite, and nothing is left.
  if (probability == 1) return Operand(x, where) * Operand(0.0, where);
  auto random = call.function().NextRandom(where);
  return call.Done(call.b()
                       .builder()
                       .create<ir::DropoutOp>(call.loc(), call.value(0).getType(), call.value(0), random.seed,
                                              random.step, random.stream, llvm::APFloat(probability))
                       .getResult());
}

namespace {

// Returns the user's name for a value: the variable's name, else the value's index in the list.
std::string NameOf(const FunctionBuilder& function, mlir::Value value, size_t i, const Tensor& x) {
  std::string variable = function.VariableWith(value);
  return variable.empty() ? absl::StrCat("value ", i, ", ", x.ToString())
                          : absl::StrCat("variable \"", variable, "\"");
}

// Describes why a gradient could only be zeros; empty if it could be something else.
std::string WhyZeros(const FunctionBuilder& function, const GradientReach& reach, mlir::Value value, size_t i,
                     const Tensor& x) {
  if (reach.Reaches(value)) return "";
  const std::string name = NameOf(function, value, i, x);
  for (mlir::Value other : function.ValuesOf(function.VariableWith(value))) {
    if (other == value || !reach.Reaches(other)) continue;
    return absl::StrCat(
        "would give zeros for ", name,
        ": it was assigned, as by an optimiser, and the loss was computed from its value before "
        "or after that; read it where the loss does");
  }
  return absl::StrCat("would give zeros for ", name, ": ", reach.WhyNot(value),
                      "; leave it out, or ask for the zeros: Gradients(loss, xs, {.allow_unused = true})");
}

// Returns a point that stands for `x` wherever the function reads it so far. Rewrites that run before
// gradients are built fold and join ops: without the point, what reads `x` might then be computed from
// something else.
mlir::Value GradientPoint(Call& call, mlir::Value x) {
  // No rewrite replaces the arguments of a function: inputs and variables.
  if (!x.getDefiningOp()) return x;
  const int64_t id = call.graph().gradient_points++;
  // Not the function's own builder, which would place the point in the open DeviceScope.
  mlir::OpBuilder builder(x.getContext());
  builder.setInsertionPointAfterValue(x);
  auto point = builder.create<ir::GradientPointOp>(x.getLoc(), x.getType(), x, id);
  x.replaceAllUsesExcept(point, point);
  return point;
}

// A loss from around the body of a loop has its gradients there too, where its ops are. What it does not
// depend on may be a value of the body.
llvm::SmallVector<mlir::Value> BuildGradients(Call& call, const GradientReach& reach,
                                              llvm::ArrayRef<mlir::Value> xs) {
  mlir::OpBuilder& builder = call.b().builder();
  mlir::Value loss = call.value(0);
  const bool is_here = loss.getParentBlock() == builder.getInsertionBlock();
  llvm::SmallVector<mlir::Value> wanted;
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value x : xs) {
    if (!is_here && !reach.Reaches(x)) continue;
    wanted.push_back(GradientPoint(call, x));
    types.push_back(x.getType());
    if (x == call.value(0)) loss = wanted.back();
  }
  ir::GradientsOp op;
  {
    const mlir::OpBuilder::InsertionGuard guard(builder);
    if (!is_here) builder.setInsertionPointToEnd(loss.getParentBlock());
    op = builder.create<ir::GradientsOp>(call.loc(), types, loss, wanted);
  }
  llvm::SmallVector<mlir::Value> gradients;
  auto next = op.getGradients().begin();
  for (mlir::Value x : xs) {
    const bool is_zero = !is_here && !reach.Reaches(x);
    gradients.push_back(is_zero ? call.b().zeros(call.b().wrap(x)).value : *next++);
  }
  return gradients;
}

}  // namespace

std::vector<Tensor> Gradients(const Tensor& loss, const std::vector<Tensor>& xs,
                              const GradientsOptions& options, Where where) {
  std::vector<Tensor> operands = {loss};
  operands.insert(operands.end(), xs.begin(), xs.end());
  Call call("Gradients", where, operands);
  std::vector<Tensor> failed(xs.size());
  if (!call.ok()) return failed;
  if (!IsFloat(loss.dtype()) || loss.rank() != 0) {
    call.Fail("takes a float loss of rank 0; Mean(loss) or Sum(loss) first");
    return failed;
  }
  const GradientReach reach(call.value(0));
  llvm::SmallVector<mlir::Value> values;
  for (size_t i = 0; i < xs.size(); ++i) {
    values.push_back(call.value(i + 1));
    std::string wrong;
    if (!IsFloat(xs[i].dtype())) {
      wrong = "takes gradients with respect to floats only";
    } else if (!options.allow_unused) {
      wrong = WhyZeros(call.function(), reach, values.back(), i, xs[i]);
    }
    if (wrong.empty()) continue;
    call.Fail(wrong);
    return failed;
  }
  std::vector<Tensor> gradients;
  for (mlir::Value g : BuildGradients(call, reach, values)) gradients.push_back(call.Done(g));
  return gradients;
}

}  // namespace sinter
