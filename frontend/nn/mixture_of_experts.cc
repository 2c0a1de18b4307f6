#include "sinter/frontend/nn/mixture_of_experts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/number_bounds.h"

namespace sinter::nn {
namespace {

// The places of the tokens' choices among the experts' rows.
struct Routing {
  Tensor weights;  // The weight of each choice, [tokens, experts_per_token]; 0 if it does not fit.
  Tensor
      slots;  // expert * capacity + row, i32 [tokens, experts_per_token]; experts * capacity if it does not fit.
  Tensor balance_loss, z_loss, dropped;
};

Routing Route(const Tensor& logits, int64_t capacity, const MoeOptions& o) {
  const int64_t tokens = logits.dim(0), experts = logits.dim(1);
  const Tensor probabilities = Softmax(logits);
  const TopKResult best = TopK(probabilities, o.experts_per_token);
  // Choices in the order of their claims: all first ones, then all second ones.
  const Tensor choices = Reshape(Transpose(best.positions, {1, 0}), {o.experts_per_token * tokens});
  const Tensor claims = OneHot(choices, experts, I32);
  const Tensor row = Sum(CumSum(claims, 0) * claims, {1}) - 1;
  const Tensor fits = row < capacity;
  const auto by_token = [&](const Tensor& x) {
    return Transpose(Reshape(x, {o.experts_per_token, tokens}), {1, 0});
  };
  Routing r;
  r.slots = by_token(Select(fits, choices * capacity + row, experts * capacity));
  const Tensor kept = Cast(by_token(fits), logits.dtype());
  Tensor weights = best.values;
  if (o.normalized) weights = weights / Sum(weights, {-1}, {.keep_dims = true});
  r.weights = weights * kept;
  const Tensor first = OneHot(best.positions[{Range{}, 0}], experts, logits.dtype());
  r.balance_loss = Sum(Mean(first, {0}) * Mean(probabilities, {0})) * static_cast<double>(experts);
  r.z_loss = Mean(Square(LogSumExp(logits, {-1})));
  r.dropped = 1.0 - Mean(kept);
  return r;
}

class MixtureOfExpertsLayer : public LayerOf<MoeResult(const Tensor&)> {
 public:
  MixtureOfExpertsLayer(int64_t experts, const MoeOptions& options) : experts_(experts), options_(options) {}
  std::string Describe() const override { return absl::StrCat("MixtureOfExperts(", experts_, ")"); }

 protected:
  MoeResult Forward(const Tensor& x) override {
    if (const std::string wrong = Wrong(x); !wrong.empty()) {
      Fail(x, wrong);
      return {};
    }
    const int64_t width = x.dim(-1), tokens = x.size() / width;
    const double share = options_.capacity_factor * static_cast<double>(tokens * options_.experts_per_token) /
                         static_cast<double>(experts_);
    const int64_t capacity = std::min<int64_t>(static_cast<int64_t>(std::ceil(share)), tokens);
    const auto fan = [](int64_t n) { return static_cast<double>(n); };
    const Tensor router = MakeParameter(x, "router", {width, experts_}, options_.router, fan(width),
                                        fan(experts_), {{}, "experts"});
    if (!router.ok()) return {};
    const Tensor rows = Reshape(x, {tokens, width});
    const DType wide = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
    const Routing routing = Route(Cast(MatMul(rows, router), wide), capacity, options_);
    if (!routing.slots.ok()) return {};
    // Every slot gets at most one token; the row behind all gets those that do not fit.
    const int64_t slots = experts_ * capacity, choices = tokens * options_.experts_per_token;
    const Tensor copies = Reshape(
        BroadcastTo(ExpandDims(rows, 1), {tokens, options_.experts_per_token, width}), {choices, width});
    const Tensor sent = ScatterAdd(BuilderOf(x).Zeros(x.dtype(), {slots + 1, width}),
                                   Reshape(routing.slots, {choices}), copies, 0);
    const Tensor out = Experts(x, Reshape(SliceDim(sent, 0, 0, slots), {experts_, capacity, width}));
    if (!out.ok()) return {};
    const Tensor results = Pad(Reshape(out, {slots, width}), {0, 0}, {1, 0});
    const Tensor mine = Gather(results, routing.slots, 0);  // [tokens, experts_per_token, width].
    const Tensor y = Sum(mine * ExpandDims(Cast(routing.weights, x.dtype()), -1), {1});
    return {Reshape(y, x.shape()), routing.balance_loss, routing.z_loss, routing.dropped};
  }
  std::string DescribeInputs(const Tensor& x) const override {
    return absl::StrCat("a width of ", x.dim(-1));
  }

 private:
  std::string Wrong(const Tensor& x) const {
    if (!IsFloat(x.dtype()) || x.rank() < 2 || x.size() == 0) {
      return "takes floats [..., width] of rank 2 or more, of at least one token";
    }
    if (experts_ < 1 || options_.experts_per_token < 1 || options_.experts_per_token > experts_) {
      return absl::StrCat("has ", experts_, " experts, of which a token takes ", options_.experts_per_token,
                          "; expected 1 to all of them");
    }
    if (options_.hidden < 0) return absl::StrCat("has ", options_.hidden, " hidden elements");
    return OutOfBounds("a capacity_factor", options_.capacity_factor, {.above = 0});
  }

  // The MLPs of rows [experts, capacity, width].
  Tensor Experts(const Tensor& x, const Tensor& rows) {
    const int64_t width = x.dim(-1), hidden = options_.hidden == 0 ? 4 * width : options_.hidden;
    const auto in = static_cast<double>(width), out = static_cast<double>(hidden);
    const auto make = [&](std::string_view name) {
      return MakeParameter(x, name, {experts_, width, hidden}, options_.weight, in, out, {"experts", {}, {}});
    };
    Tensor gate;
    if (options_.gated && !(gate = make("gate")).ok()) return {};
    const Tensor up = make("up");
    if (!up.ok()) return {};
    const Tensor down = MakeParameter(x, "down", {experts_, hidden, width}, options_.out_weight, out, in,
                                      {"experts", {}, {}});
    if (!down.ok()) return {};
    const MatMulOptions math{.math = options_.math};
    const Tensor raised = MatMul(rows, up, math);
    const Tensor active =
        options_.gated ? sinter::Silu(MatMul(rows, gate, math)) * raised : sinter::Gelu(raised);
    return MatMul(active, down, math);
  }

  int64_t experts_;
  MoeOptions options_;
};

}  // namespace

MixtureOfExperts::MixtureOfExperts(int64_t experts, const MoeOptions& options)
    : ModuleOf(std::make_shared<MixtureOfExpertsLayer>(experts, options)) {}

}  // namespace sinter::nn
