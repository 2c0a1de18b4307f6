#include "sinter/frontend/losses/label_losses.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

Tensor ReducedLoss(const Tensor& each, Reduction reduction) {
  return reduction == Reduction::kNone ? each : reduction == Reduction::kSum ? Sum(each) : Mean(each);
}

// Says what is wrong with two tensors that must be floats of one type and of this rank; empty if nothing is.
std::string WrongPair(const Tensor& x, const Tensor& y, int64_t least_rank = 0) {
  if (!IsFloat(x.dtype()) || x.rank() < least_rank) {
    return absl::StrCat("takes floats of rank ", least_rank, " or more");
  }
  if (x.dtype() == y.dtype() && x.shape() == y.shape()) return "";
  return absl::StrCat("needs a target of type ", TypeString(x.dtype(), x.shape()),
                      "; losses do not broadcast");
}

bool IsIndexOf(const Tensor& x, const Shape& shape) {
  return (x.dtype() == DType::kI32 || x.dtype() == DType::kI64) && x.shape() == shape;
}

}  // namespace

Tensor MultiMarginLoss(const Tensor& x, const Tensor& labels, const MultiMarginOptions& options,
                       Where where) {
  CompositeCall call("MultiMarginLoss", where, {x, labels});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.rank() == 0) return call.Fail("takes floats [..., classes]");
  Shape examples = x.shape();
  examples.pop_back();
  if (!IsIndexOf(labels, examples)) {
    return call.Fail(absl::StrCat("needs labels of type ", TypeString(I32, examples)));
  }
  if (options.power != 1 && options.power != 2) {
    return call.Fail(absl::StrCat("takes a power of 1 or 2, got ", options.power));
  }
  const std::string wrong = OutOfBounds("a margin", options.margin, {});
  if (!wrong.empty()) return call.Fail(wrong);
  const Tensor own = TakeAlong(x, ExpandDims(labels, -1), -1);
  const Tensor distance = Relu(x - own + options.margin);
  const Tensor is_own = OneHot(labels, x.dim(-1), x.dtype());
  const Tensor each = (options.power == 1 ? distance : Square(distance)) * (1.0 - is_own);
  return ReducedLoss(Mean(each, {-1}), options.reduction);
}

Tensor MultiLabelMarginLoss(const Tensor& x, const Tensor& target, Reduction reduction, Where where) {
  CompositeCall call("MultiLabelMarginLoss", where, {x, target});
  if (!call.ok()) return {};
  if (const std::string wrong = WrongPair(x, target, 1); !wrong.empty()) return call.Fail(wrong);
  const Tensor distance = Relu(ExpandDims(x, -2) - ExpandDims(x, -1) + 1.0);
  const Tensor each = ExpandDims(target, -1) * (1.0 - ExpandDims(target, -2)) * distance;
  return ReducedLoss(Sum(each, {-2, -1}) * (1.0 / static_cast<double>(x.dim(-1))), reduction);
}

Tensor MultiLabelSoftMarginLoss(const Tensor& x, const Tensor& target, Reduction reduction, Where where) {
  CompositeCall call("MultiLabelSoftMarginLoss", where, {x, target});
  if (!call.ok()) return {};
  if (const std::string wrong = WrongPair(x, target, 1); !wrong.empty()) return call.Fail(wrong);
  return ReducedLoss(Mean(BceWithLogitsLoss(x, target, Reduction::kNone), {-1}), reduction);
}

Tensor DiceLoss(const Tensor& probabilities, const Tensor& target, double smooth, Reduction reduction,
                Where where) {
  CompositeCall call("DiceLoss", where, {probabilities, target});
  if (!call.ok()) return {};
  if (const std::string wrong = WrongPair(probabilities, target, 2); !wrong.empty()) return call.Fail(wrong);
  const std::string wrong = OutOfBounds("a smooth", smooth, {.low = 0});
  if (!wrong.empty()) return call.Fail(wrong);
  Shape rest;
  for (int64_t d = 1; d < probabilities.rank(); ++d) rest.push_back(d);
  const Tensor common = Sum(probabilities * target, rest);
  const Tensor both = Sum(probabilities, rest) + Sum(target, rest);
  return ReducedLoss(1.0 - (2.0 * common + smooth) / (both + smooth), reduction);
}

Tensor NegativeSamplingLoss(const Tensor& x, const Tensor& targets, const Tensor& samples,
                            const Tensor& vectors, Reduction reduction, Where where) {
  CompositeCall call("NegativeSamplingLoss", where, {x, targets, samples, vectors});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.rank() != 2) return call.Fail("takes floats [N, width]");
  if (vectors.dtype() != x.dtype() || vectors.rank() != 2 || vectors.dim(1) != x.dim(1)) {
    return call.Fail(absl::StrCat("takes vectors [ids, ", x.dim(1), "] of the type of x"));
  }
  if (!IsIndexOf(targets, {x.dim(0)})) {
    return call.Fail(absl::StrCat("needs targets of type ", TypeString(I32, {x.dim(0)})));
  }
  if (samples.rank() != 2 || !IsIndexOf(samples, {x.dim(0), samples.dim(1)})) {
    return call.Fail(absl::StrCat("needs samples i32 or i64 [", x.dim(0), ", samples]"));
  }
  const Tensor right = Sum(x * Gather(vectors, targets, 0), {1});
  const Tensor others = Sum(ExpandDims(x, 1) * Gather(vectors, samples, 0), {2});
  return ReducedLoss(-LogSigmoid(right) - Sum(LogSigmoid(-others), {1}), reduction);
}

Tensor GaussianKlLoss(const Tensor& mean, const Tensor& log_variance, Reduction reduction, Where where) {
  CompositeCall call("GaussianKlLoss", where, {mean, log_variance});
  if (!call.ok()) return {};
  if (!IsFloat(mean.dtype()) || mean.dtype() != log_variance.dtype() ||
      mean.shape() != log_variance.shape()) {
    return call.Fail("takes a mean and a log_variance that are floats of one type");
  }
  return ReducedLoss((Expm1(log_variance) + Square(mean) - log_variance) * 0.5, reduction);
}

}  // namespace sinter
