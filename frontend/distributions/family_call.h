// A call of a distribution's function, for Sinter's own sources.
//
//   FamilyCall call(*this, "Entropy", where);
//   return call.ok() ? Log(p(1)) : Tensor();
#ifndef SINTER_FRONTEND_DISTRIBUTIONS_FAMILY_CALL_H_
#define SINTER_FRONTEND_DISTRIBUTIONS_FAMILY_CALL_H_

#include <optional>

#include "sinter/frontend/distributions/family.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/random/draws.h"

namespace sinter::distributions {

class FamilyCall {
 public:
  FamilyCall(const Family& family, std::string_view function, Where where,
             const std::vector<Operand>& values = {});
  bool ok() const { return ok_; }
  // Value i, of the family's type.
  const Tensor& value(size_t i = 0) const { return values_[i]; }
  Builder b() const { return Builder(family_.parameters_[0].function()); }
  DType dtype() const { return family_.dtype(); }
  Tensor Fail(std::string_view message) { return call_->Fail(message); }

 private:
  friend class PairCall;
  static const std::vector<Tensor>& ParametersOf(const Family& family) { return family.parameters_; }

  const Family& family_;
  std::optional<CompositeCall> call_;
  std::vector<Tensor> values_;
  bool ok_ = false;
};

// A call of KlDivergence.
class PairCall {
 public:
  PairCall(const Family& p, const Family& q, Where where);
  bool ok() const { return call_.has_value() && ok_; }
  Tensor Fail(std::string_view message) { return call_->Fail(message); }

 private:
  std::optional<CompositeCall> call_;
  bool ok_ = false;
};

// log(sqrt(2 pi)).
inline constexpr double kHalfLog2Pi = 0.91893853320467274178;

// Uniform numbers in [2^-24, 1) and normal ones of this shape, of the family's type.
Tensor Uniforms(const FamilyCall& call, const Shape& shape, const RandomOptions& options, Where where);
Tensor Normals(const FamilyCall& call, const Shape& shape, const RandomOptions& options, Where where);

// 0 where the condition is true, else -infinity, of x's type.
Tensor LogIf(const Tensor& condition, DType dtype);

// Values in the support, and a harmless number in place of those outside, so that gradients are finite.
struct Inside {
  Inside(const Tensor& value, const Tensor& condition, double otherwise)
      : x(Select(condition, value, otherwise)), log(LogIf(condition, value.dtype())) {}
  Tensor x, log;
};

// NaN, of x's type and shape.
inline Tensor Undefined(const Tensor& x) { return Log(Minimum(x, -1.0)); }

// The divergences of normal distributions, element by element.
Tensor KlOfNormals(const Tensor& loc, const Tensor& scale, const Tensor& other_loc,
                   const Tensor& other_scale);

// Returns the sum over the last dimension.
inline Tensor SumOfLast(const Tensor& x) { return Sum(x, {-1}); }

}  // namespace sinter::distributions

#endif  // SINTER_FRONTEND_DISTRIBUTIONS_FAMILY_CALL_H_
