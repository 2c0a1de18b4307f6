// The limited-memory BFGS method (Liu and Nocedal, "On the limited memory BFGS method for large scale
// optimization", 1989), for losses of a whole data set and for fits of few parameters.
//
//   graph.Function("fit", Mode::kTrain, [&](Builder& b) {
//     const Tensor x = b.Input("x", F32, {100, 3}), y = b.Input("y", F32, {100, 1});
//     auto fit = optim::Lbfgs{.iterations = 10}.Minimize([&] { return Mean(Square(net(x) - y)); });
//     b.Output("loss", fit.loss);
//   });
//
// The method needs the loss at several points, so it takes a function of the loss, which is built once, in
// the body of a loop (ops/loops.h). The rule is that of torch.optim.LBFGS without a line search, and so are
// the defaults. A line search does not exist here: where a rate of 1 is too bold, lower it.
#ifndef SINTER_FRONTEND_OPTIM_LBFGS_H_
#define SINTER_FRONTEND_OPTIM_LBFGS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/optim/hyper.h"
#include "sinter/frontend/optim/update_options.h"

namespace sinter::optim {

struct LbfgsOptions {
  ParameterList parameters = {};  // As UpdateOptions::parameters.
  std::string name = {};          // As UpdateOptions::name. Default: "lbfgs".
};

struct LbfgsResult {
  Tensor loss;    // Loss of the parameters before the call, of rank 0.
  Tensor losses;  // Losses at the beginning of each iteration, [iterations].
};

// Each iteration computes the loss and its gradient g, and moves the parameters by t * d, where d = -H g, and
// H approximates the inverse of the Hessian by the last `history` moves. t is the rate; in the optimiser's
// first iteration it is min(1, 1 / sum |g|) times the rate. The call stops to change anything when all |g|
// are at most tolerance_grad, when d does not descend by more than tolerance_change, and when the last move
// or the last change of the loss in this call was at most that. It computes all its iterations nevertheless.
// The next call goes on with the same H.
//
// The state is in variables "<name>/step", which counts iterations, "<name>/moves" and "<name>/changes",
// [history, elements of all parameters], and "<name>/inverses", "<name>/scale", "<name>/direction",
// "<name>/rate", "<name>/gradient" and "<name>/loss": f64 if a parameter is f64, else f32.
struct Lbfgs {
  Hyper learning_rate = 1;  // At least 0. A schedule counts iterations.
  int64_t iterations = 20;  // In one call, at least 1: torch's max_iter.
  int64_t history = 100;    // At least 1.
  double tolerance_grad = 1e-7;
  double tolerance_change = 1e-9;

  // Adds the iterations to the function in whose body it is called. `loss` returns a float of rank 0.
  LbfgsResult Minimize(const std::function<Tensor()>& loss, const LbfgsOptions& options = {},
                       Where where = Where::current()) const;
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_LBFGS_H_
