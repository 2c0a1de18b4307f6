#include "sinter/frontend/distributions/family.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/distributions/family_call.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/literals.h"

namespace sinter::distributions {
namespace {

// Returns the value as a tensor of this element type, which a number must fit. Not ok after an error.
Tensor AsTensor(Call& call, const Operand& value, DType dtype) {
  if (value.is_tensor()) return value.tensor();
  const auto literal = Literal(call, value.number(), dtype, {});
  return literal ? call.Done(*literal) : Tensor();
}

}  // namespace

Family::Family(std::string_view name, const std::vector<Operand>& parameters, Where where, int64_t vectors)
    : name_(name), vectors_(vectors) {
  std::vector<Tensor> given;
  for (const Operand& p : parameters) {
    if (p.is_tensor()) given.push_back(p.tensor());
  }
  std::optional<Call> call;
  if (given.empty()) {
    call.emplace(name, where, FunctionBuilder::Current());
  } else {
    call.emplace(name, where, given);
    if (!call->ok()) return;
    dtype_ = given[0].dtype();
  }
  if (!call->ok()) return;
  std::vector<Shape> shapes;
  for (const Tensor& p : given) {
    if (!IsFloat(p.dtype()) || p.dtype() != dtype_) {
      call->Fail("takes parameters that are floats of one element type");
      return;
    }
    shapes.push_back(p.shape());
  }
  const std::optional<Shape> shape = shapes.empty() ? Shape{} : BroadcastShapes(shapes);
  if (!shape) {
    call->Fail("has parameters whose shapes do not broadcast");
    return;
  }
  if (static_cast<int64_t>(shape->size()) < vectors) {
    call->Fail("takes parameters of rank 1 or more, whose last dimension is that of the vectors");
    return;
  }
  const LocationScope scope(&call->graph(), where, call->graph().ScopeOr(name));
  for (const Operand& p : parameters) {
    const Tensor one = AsTensor(*call, p, dtype_);
    if (!one.ok()) {
      parameters_.clear();
      return;
    }
    parameters_.push_back(one.shape() == *shape ? one : BroadcastTo(one, *shape));
  }
  shape_ = *shape;
}

bool Family::ok() const {
  return !parameters_.empty() && std::ranges::all_of(parameters_, [](const Tensor& p) { return p.ok(); });
}

Shape Family::batch_shape() const {
  return Shape(shape_.begin(),
               shape_.end() - std::min<int64_t>(vectors_, static_cast<int64_t>(shape_.size())));
}

Shape Family::Drawn(const Shape& sample_shape) const {
  Shape drawn = sample_shape;
  drawn.insert(drawn.end(), shape_.begin(), shape_.end());
  return drawn;
}

FamilyCall::FamilyCall(const Family& family, std::string_view function, Where where,
                       const std::vector<Operand>& values)
    : family_(family) {
  if (!family.ok() && family.parameters_.empty()) return;  // The graph keeps the error.
  const std::string name = absl::StrCat(family.name_, "::", std::string(function));
  std::vector<Tensor> operands = family.parameters_;
  for (const Operand& value : values) {
    if (value.is_tensor()) operands.push_back(value.tensor());
  }
  {
    Call call(name, where, operands);
    if (!call.ok()) return;
    for (const Operand& value : values) {
      values_.push_back(AsTensor(call, value, family.dtype_));
      if (!values_.back().ok()) return;
    }
  }
  call_.emplace(name, where, std::move(operands));
  if (!call_->ok()) return;
  for (const Tensor& value : values_) {
    if (value.dtype() != family.dtype_) {
      call_->Fail(
          absl::StrCat("takes values of the parameters' type, ", std::string(DTypeName(family.dtype_))));
      return;
    }
    const auto shape = BroadcastShapes({value.shape(), family.shape_});
    const Shape own = family.shape_;
    const Shape got = value.shape();
    if (shape && (family.vectors_ == 0 || (!got.empty() && got.back() == own.back()))) continue;
    call_->Fail(absl::StrCat("takes values that broadcast with ", TypeString(family.dtype_, own)));
    return;
  }
  ok_ = true;
}

PairCall::PairCall(const Family& p, const Family& q, Where where) {
  if (!p.ok() || !q.ok()) return;  // The graph keeps the error.
  std::vector<Tensor> operands = FamilyCall::ParametersOf(p);
  const std::vector<Tensor>& others = FamilyCall::ParametersOf(q);
  operands.insert(operands.end(), others.begin(), others.end());
  call_.emplace("KlDivergence", where, std::move(operands));
  if (!call_->ok()) return;
  if (p.dtype() != q.dtype() || !BroadcastShapes({p.shape(), q.shape()})) {
    call_->Fail("takes distributions of one element type whose shapes broadcast");
    return;
  }
  ok_ = true;
}

Tensor Uniforms(const FamilyCall& call, const Shape& shape, const RandomOptions& options, Where where) {
  Draws draws(call.b(), options, where);
  return Cast(draws.Positive(DrawnType(call.dtype()), shape), call.dtype());
}

Tensor Normals(const FamilyCall& call, const Shape& shape, const RandomOptions& options, Where where) {
  Draws draws(call.b(), options, where);
  return Cast(draws.Normal(DrawnType(call.dtype()), shape), call.dtype());
}

Tensor LogIf(const Tensor& condition, DType dtype) { return Log(Cast(condition, dtype)); }

Tensor KlOfNormals(const Tensor& loc, const Tensor& scale, const Tensor& other_loc,
                   const Tensor& other_scale) {
  const Tensor ratio = scale / other_scale;
  return 0.5 * (Square(ratio) + Square((loc - other_loc) / other_scale) - 1.0) - Log(ratio);
}

}  // namespace sinter::distributions
