#include "sinter/frontend/optim/lbfgs.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/control/loops.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/optim/optimizer_identity.h"
#include "sinter/frontend/optim/update.h"
#include "sinter/frontend/optim/update_targets.h"

namespace sinter::optim {
namespace {

constexpr char kKind[] = "optim::Lbfgs";
// A move along which the gradient grows by less says nothing about the Hessian.
constexpr double kLeastCurvature = 1e-10;

std::string WrongRule(const Lbfgs& rule) {
  std::string wrong = WrongIn({{"a learning rate", rule.learning_rate, {.low = 0}}});
  if (wrong.empty() && (rule.iterations < 1 || rule.history < 1)) {
    wrong = absl::StrCat("makes ", rule.iterations, " iterations with a history of ", rule.history,
                         "; expected at least 1");
  }
  if (wrong.empty()) wrong = OutOfBounds("a tolerance_grad", rule.tolerance_grad, {.low = 0});
  if (wrong.empty()) wrong = OutOfBounds("a tolerance_change", rule.tolerance_change, {.low = 0});
  return wrong;
}

// The last moves, oldest first, and the changes of the gradient along them; `inverses` are 1 / (move *
// change), and 0 where there is no move yet.
struct History {
  Tensor moves, changes, inverses;
};
struct HistoryWithAlpha {
  Tensor moves, changes, inverses, alpha;
};

// [0 ... n - 1] without the first element and with `last` behind the others.
Tensor Push(const Tensor& rows, const Tensor& last) {
  const Tensor one = ExpandDims(last, 0);
  return rows.dim(0) == 1 ? one : Concat({SliceDim(rows, 0, 1, rows.dim(0)), one}, 0);
}

// -H g, by the two loops of Nocedal ("Updating quasi-Newton matrices with limited storage", 1980).
Tensor Direction(const Tensor& gradient, const History& history, const Tensor& scale) {
  auto [q, alpha] = Scan(-gradient, history,
                         [](const Tensor& rest, const History& one) {
                           const Tensor along = Sum(one.moves * rest) * one.inverses;
                           return std::pair(rest - along * one.changes, along);
                         },
                         {.reverse = true});
  const HistoryWithAlpha all{history.moves, history.changes, history.inverses, alpha};
  return Scan(q * scale, all,
              [](const Tensor& rest, const HistoryWithAlpha& one) {
                const Tensor along = Sum(one.changes * rest) * one.inverses;
                return std::pair(rest + one.moves * (one.alpha - along), None{});
              })
      .first;
}

// One iteration while the body of the loop is built.
class Iteration {
 public:
  Iteration(const Lbfgs& rule, Update& update, const std::vector<Target>& targets)
      : rule_(rule), u_(update), targets_(targets) {
    for (const Target& target : targets) {
      if (target.variable.dtype() == DType::kF64) type_ = DType::kF64;
      elements_ += target.now.size();
    }
  }

  // Returns whether the next iteration may change anything.
  Tensor Build(const Tensor& loss_in_its_type, const std::vector<Tensor>& gradients, const Tensor& trip,
               const Tensor& running) {
    const int64_t n = elements_, m = rule_.history;
    const Variable moves = State("moves", {m, n}), changes = State("changes", {m, n}),
                   inverses = State("inverses", {m}), scale = State("scale", {}, 1),
                   direction = State("direction", {n}), rate = State("rate", {}),
                   gradient = State("gradient", {n}), last_loss = State("loss", {});
    if (u_.failed()) return {};
    const Tensor g = Flat(gradients), loss = Cast(loss_in_its_type, type_);
    const Tensor move = u_.Read(direction) * u_.Read(rate);
    const Tensor rests =
        Largest(move) <= rule_.tolerance_change || Abs(loss - u_.Read(last_loss)) < rule_.tolerance_change;
    u_.CountOnlyIf(running && !(Largest(g) <= rule_.tolerance_grad || (trip > 0 && rests)));
    if (!u_.StepNumber().ok()) return {};
    const Tensor is_first = Equal(u_.StepCount(), 1);

    const Tensor change = g - u_.Read(gradient), curvature = Sum(change * move);
    const Tensor grows = !is_first && curvature > kLeastCurvature;
    const auto pushed = [&](const Variable& rows, const Tensor& last) {
      return Select(grows, Push(u_.Read(rows), last), u_.Read(rows));
    };
    const History history{pushed(moves, move), pushed(changes, change), pushed(inverses, 1.0 / curvature)};
    const Tensor next_scale = Select(grows, curvature / Sum(Square(change)), u_.Read(scale));
    const Tensor d = Direction(g, history, next_scale);
    const Tensor t =
        Select(is_first, Minimum(1.0, 1.0 / Sum(Abs(g))), 1.0) * u_.Value(rule_.learning_rate, g);
    const std::pair<Variable, Tensor> next[] = {{moves, history.moves},
                                                {changes, history.changes},
                                                {inverses, history.inverses},
                                                {scale, next_scale},
                                                {direction, d},
                                                {rate, t},
                                                {gradient, g},
                                                {last_loss, loss}};
    for (const auto& [variable, value] : next) {
      if (!value.ok()) return {};
      u_.Assign(variable, value);
    }
    u_.CountOnlyIf(!(Sum(g * d) > -rule_.tolerance_change));
    Move(t * d);
    return u_.Counts();
  }

 private:
  Variable State(const char* name, const Shape& shape, double initial = 0) {
    return u_.failed() ? Variable() : u_.State(name, type_, shape, initial);
  }
  Tensor Largest(const Tensor& x) { return Max(Abs(x)); }
  Tensor Flat(const std::vector<Tensor>& tensors) {
    std::vector<Tensor> parts;
    for (const Tensor& tensor : tensors) parts.push_back(Reshape(Cast(tensor, type_), {tensor.size()}));
    return parts.size() == 1 ? parts[0] : Concat(parts, 0);
  }
  // Moves the parameters, if the iteration counts.
  void Move(const Tensor& by) {
    int64_t begin = 0;
    for (const Target& target : targets_) {
      const int64_t size = target.now.size();
      const Tensor part = Reshape(SliceDim(by, 0, begin, begin + size), target.now.shape());
      u_.Assign(target.variable, Cast(target.now, type_) + part);
      begin += size;
    }
  }

  const Lbfgs& rule_;
  Update& u_;
  const std::vector<Target>& targets_;
  DType type_ = DType::kF32;
  int64_t elements_ = 0;
};

// Builds an iteration that begins with this loss. Returns whether the next may change anything.
Tensor BuildIteration(const Lbfgs& rule, const LbfgsOptions& options, const Tensor& loss, const Tensor& trip,
                      const Tensor& running, Where where) {
  Call call("Minimize", where, {loss});
  if (!call.ok()) return {};
  if (!IsFloat(loss.dtype()) || loss.rank() != 0) {
    call.Fail("takes a function that returns a float loss of rank 0; Mean(loss) or Sum(loss) first");
    return {};
  }
  UnplacedScope unplaced(&call.function());
  const auto targets = TargetsOf(call, loss, options.parameters.variables(), /*allow_unused=*/false);
  if (!targets) return {};
  const OptimizerUse use = {kKind, options.name};
  Update update(&call.function(), {"Minimize", {loss}, where},
                [&](Call& at) { return FindOptimizer(at, use, NamesOf(*targets)); });
  if (!update.FindsOwner()) return {};
  std::vector<Tensor> in_loss;
  for (const Target& target : *targets) in_loss.push_back(target.in_loss);
  const std::vector<Tensor> gradients = sinter::Gradients(loss, in_loss, {}, where);
  if (gradients.size() != in_loss.size()) return {};
  return Iteration(rule, update, *targets).Build(loss, gradients, trip, running);
}

}  // namespace

LbfgsResult Lbfgs::Minimize(const std::function<Tensor()>& loss, const LbfgsOptions& options,
                            Where where) const {
  FunctionBuilder* const function = FunctionBuilder::Current();
  Call call(kKind, where, function);
  if (!call.ok()) return {};
  if (const std::string wrong = WrongRule(*this); !wrong.empty()) {
    call.Fail(wrong);
    return {};
  }
  const Tensor running = Builder(function).Full(DType::kI1, {}, 1, where);
  auto [last, losses] = Scan(
      running, Steps{iterations},
      [&](const Tensor& is_running, const Tensor& trip) {
        const Tensor value = loss();
        const LocationScope scope(&function->graph(), where, kKind);
        return std::pair(BuildIteration(*this, options, value, trip, is_running, where), value);
      },
      {}, where);
  if (!losses.ok()) return {};
  return {losses[0], losses};
}

}  // namespace sinter::optim
