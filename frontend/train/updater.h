// An update of the training loop: the next batch of a stream, and what to do with it.
//
//   train::Updater(loader, "train", {.inputs = {{"lr", optim::WarmupCosine(0.1, 100, 1000)}}})
//
// Or several functions, as for GANs:
//
//   train::Updater(loader, [&](sn::Session& session, const sn::Batch& batch) -> absl::Status {
//     SINTER_RETURN_IF_ERROR(session.Run("discriminate", train::ArgumentsOf(loader, batch)).status());
//     return session.Run("generate", {}).status();
//   }, {.functions = {"discriminate", "generate"}});
//
// The stream must outlive the updater.
#ifndef SINTER_FRONTEND_TRAIN_UPDATER_H_
#define SINTER_FRONTEND_TRAIN_UPDATER_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/data/batch_stream.h"
#include "sinter/runtime/session/session.h"

namespace sinter::train {

// A number, or a function of the number of updates before this one, such as an optim::RateSchedule.
class Rate {
 public:
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  Rate(T number) : number_(static_cast<double>(number)) {}
  template <typename F>
    requires(std::is_invocable_r_v<double, F&, int64_t> && !std::is_same_v<std::decay_t<F>, Rate>)
  Rate(F function) {
    if constexpr (requires { absl::Status(function.status()); }) status_ = function.status();
    function_ = std::move(function);
  }

  bool is_number() const { return function_ == nullptr; }
  // The error of a schedule that was made from invalid numbers.
  const absl::Status& status() const { return status_; }
  double At(int64_t iteration) const { return is_number() ? number_ : function_(iteration); }

 private:
  double number_ = 0;
  absl::Status status_;
  std::function<double(int64_t)> function_;
};

// Returns the tensors of the batch by the stream's names. With `with_weights` also "weights", the batch's
// weights: f32 [rows], 0 for padding. They refer to the batch and to `names`.
std::vector<Argument> ArgumentsOf(const std::vector<std::string>& names, const Batch& batch,
                                  bool with_weights = false);

struct UpdaterOptions {
  // Inputs of rank 0 of the function. Extensions may change the numbers (Trainer::SetInput).
  std::map<std::string, Rate> inputs = {};
  // The functions whose metrics are observed: as "main/<metric>" if there is one, else as
  // "<function>/<metric>". Default: the function that is run.
  std::vector<std::string> functions = {};
};

class Updater {
 public:
  using Step = std::function<absl::Status(Session& session, const Batch& batch)>;

  // Runs the function with the batch's tensors, `inputs`, and "weights" if it has such an input.
  Updater(BatchStream& stream, std::string function, UpdaterOptions options = {});
  // Calls `step`. Without UpdaterOptions::functions no metrics are observed.
  Updater(BatchStream& stream, Step step, UpdaterOptions options = {});

  // Checks that the session has the functions and the inputs. NotFound, InvalidArgument.
  absl::Status Start(Session& session);
  // Makes one update with these values of the inputs.
  absl::Status Update(Session& session, const Batch& batch, const std::map<std::string, double>& inputs);

  BatchStream& stream() const { return *stream_; }
  const UpdaterOptions& options() const { return options_; }

 private:
  BatchStream* stream_;
  std::string function_;  // Empty with a step.
  Step step_;
  UpdaterOptions options_;
  std::vector<std::string> names_;
  bool takes_weights_ = false;
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_UPDATER_H_
