// Reads the averages of the parameters that an optimiser keeps (UpdateOptions::average).
//
//   graph.Function("train", Mode::kTrain, [&](Builder& b) {
//     optim::Adam{}.Minimize(Loss(b, net), {.average = optim::Ema{.decay = 0.999}});
//   });
//   graph.Function("evaluate", Mode::kEval, [&](Builder& b) {
//     optim::UseAverages averages(b);
//     b.Output("y", net(b.Input("x", F32, {1, 784})));         // With the averages of its weights.
//   });
#ifndef SINTER_FRONTEND_OPTIM_AVERAGES_H_
#define SINTER_FRONTEND_OPTIM_AVERAGES_H_

#include <memory>
#include <string_view>

#include "sinter/frontend/graph/graph.h"

namespace sinter::optim {

// While it lives, the function reads the average of each parameter that has one, in the parameter's type, and
// the parameter itself as long as its average has no value. Other variables are read as ever. Scopes do not
// nest. Needs an optimiser that keeps averages, in a function that was built before; `optimizer` is its name
// ("adam", if it has none), and may be left out if there is only one.
class UseAverages {
 public:
  explicit UseAverages(Builder& b, std::string_view optimizer = {}, Where where = Where::current());
  ~UseAverages();
  UseAverages(const UseAverages&) = delete;
  UseAverages& operator=(const UseAverages&) = delete;

 private:
  std::shared_ptr<FunctionBuilder*> function_;  // Null after a wrong call.
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_AVERAGES_H_
