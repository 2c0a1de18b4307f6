// Builds tensor ops tersely: the language of gradients and decompositions.
//
//   GraphBuilder b(op_builder, loc);
//   Expr p = b.exp(x - b.broadcastAlong(b.max(x, {1}), x, {0}));   // x, p: Expr of the same shape
//   return p / b.broadcastAlong(b.sum(p, {1}), x, {0});
//
// An Expr is a tensor value and its builder. Arithmetic takes operands of one type, or a number, which
// becomes a splat constant of the other operand's type. A null Expr means "no gradient".
#ifndef SINTER_IR_DIALECT_GRAPH_BUILDER_H_
#define SINTER_IR_DIALECT_GRAPH_BUILDER_H_

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace sinter::ir {

class GraphBuilder;
enum class Comparison : uint32_t;

struct Expr {
  GraphBuilder* builder = nullptr;
  mlir::Value value;

  explicit operator bool() const { return static_cast<bool>(value); }
  mlir::RankedTensorType type() const { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  mlir::Type element() const { return type().getElementType(); }
};

class GraphBuilder {
 public:
  GraphBuilder(mlir::OpBuilder& builder, mlir::Location loc) : builder_(builder), loc_(loc) {}

  mlir::OpBuilder& builder() { return builder_; }
  mlir::Location loc() const { return loc_; }
  Expr wrap(mlir::Value value) { return {this, value}; }

  // Constants: a splat of the type of `like`, or of a given shape and element type.
  Expr fill(Expr like, double value);
  Expr full(llvm::ArrayRef<int64_t> shape, mlir::Type element, double value);
  Expr zeros(Expr like) { return fill(like, 0); }
  Expr ones(Expr like) { return fill(like, 1); }
  Expr iota(llvm::ArrayRef<int64_t> shape, mlir::Type element, int64_t dim);

  // Pointwise.
  Expr add(Expr x, Expr y);
  Expr sub(Expr x, Expr y);
  Expr mul(Expr x, Expr y);
  Expr div(Expr x, Expr y);
  Expr pow(Expr x, Expr y);
  Expr maximum(Expr x, Expr y);
  Expr minimum(Expr x, Expr y);
  Expr neg(Expr x);
  Expr abs(Expr x);
  Expr sign(Expr x);
  Expr floor(Expr x);
  Expr ceil(Expr x);
  Expr trunc(Expr x);  // Towards zero.
  Expr exp(Expr x);
  Expr expm1(Expr x);
  Expr log(Expr x);
  Expr log1p(Expr x);
  Expr sqrt(Expr x);
  Expr rsqrt(Expr x);
  Expr square(Expr x);
  Expr sin(Expr x);
  Expr cos(Expr x);
  Expr tanh(Expr x);
  Expr erf(Expr x);
  Expr sigmoid(Expr x);
  Expr softplus(Expr x);
  Expr compare(Comparison predicate, Expr x, Expr y);
  Expr eq(Expr x, Expr y);
  Expr ne(Expr x, Expr y);
  Expr lt(Expr x, Expr y);
  Expr le(Expr x, Expr y);
  Expr gt(Expr x, Expr y);
  Expr ge(Expr x, Expr y);
  Expr logicalAnd(Expr x, Expr y);
  Expr logicalNot(Expr x);
  Expr select(Expr condition, Expr on_true, Expr on_false);
  Expr cast(Expr x, mlir::Type element);  // Returns x itself if x has that type.

  // Shape. `broadcast` maps operand dimension i to result dimension dims[i]; `broadcastAlong` takes the
  // result's shape from `like`.
  Expr reshape(Expr x, llvm::ArrayRef<int64_t> shape);
  Expr transpose(Expr x, llvm::ArrayRef<int64_t> permutation);
  Expr broadcast(Expr x, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  Expr broadcastAlong(Expr x, Expr like, llvm::ArrayRef<int64_t> dims) {
    return broadcast(x, like.shape(), dims);
  }
  // Spreads a rank-0 tensor over the shape of `like`.
  Expr splat(Expr scalar, Expr like) { return broadcast(scalar, like.shape(), {}); }
  Expr slice(Expr x, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> limits,
             llvm::ArrayRef<int64_t> strides);
  Expr pad(Expr x, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
           llvm::ArrayRef<int64_t> interior, double value);
  Expr concat(llvm::ArrayRef<Expr> xs, int64_t dim);
  Expr reverse(Expr x, llvm::ArrayRef<int64_t> dims);

  // Reductions; reduced dimensions are dropped.
  Expr sum(Expr x, llvm::ArrayRef<int64_t> dims);
  Expr mean(Expr x, llvm::ArrayRef<int64_t> dims);
  Expr max(Expr x, llvm::ArrayRef<int64_t> dims);

  // Gradients of pointwise records that are too long for one line.
  Expr geluTanhGradient(Expr g, Expr x);
  // The gradient of a cast: g in x's type. Null if either type is not a float.
  Expr castGradient(Expr g, Expr x);

 private:
  mlir::OpBuilder& builder_;
  mlir::Location loc_;
};

inline Expr operator+(Expr x, Expr y) { return x.builder->add(x, y); }
inline Expr operator-(Expr x, Expr y) { return x.builder->sub(x, y); }
inline Expr operator*(Expr x, Expr y) { return x.builder->mul(x, y); }
inline Expr operator/(Expr x, Expr y) { return x.builder->div(x, y); }
inline Expr operator-(Expr x) { return x.builder->neg(x); }
inline Expr operator+(Expr x, double y) { return x + x.builder->fill(x, y); }
inline Expr operator-(Expr x, double y) { return x - x.builder->fill(x, y); }
inline Expr operator*(Expr x, double y) { return x * x.builder->fill(x, y); }
inline Expr operator/(Expr x, double y) { return x / x.builder->fill(x, y); }
inline Expr operator+(double x, Expr y) { return y.builder->fill(y, x) + y; }
inline Expr operator-(double x, Expr y) { return y.builder->fill(y, x) - y; }
inline Expr operator*(double x, Expr y) { return y.builder->fill(y, x) * y; }
inline Expr operator/(double x, Expr y) { return y.builder->fill(y, x) / y; }

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_GRAPH_BUILDER_H_
