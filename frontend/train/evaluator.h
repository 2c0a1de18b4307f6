// Measures a function over one epoch of a stream: exact means over all examples, by its metrics.
//
//   SINTER_ASSIGN_OR_RETURN(train::Values seen, train::Evaluate(session, test, "test"));  // seen["accuracy"]
//   trainer.Extend(train::Evaluator(test, "test"));          // Observes "validation/main/accuracy", ...
//
// The function should be of Mode::kEval and have metrics (frontend/train/metrics.h). Sums of
// earlier runs of the function are dropped. The position of the stream is afterwards what it was before, so
// every evaluation reads the same epoch.
#ifndef SINTER_FRONTEND_TRAIN_EVALUATOR_H_
#define SINTER_FRONTEND_TRAIN_EVALUATOR_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/data/batch_stream.h"
#include "sinter/frontend/train/extension.h"
#include "sinter/frontend/train/metric_values.h"

namespace sinter::train {

struct EvaluatorOptions {
  std::string name = "validation";            // A second evaluator of this name is "validation_1".
  std::map<std::string, double> inputs = {};  // Inputs of rank 0 of the function.
};

// NotFound: the session has no such function, or it has no metrics. InvalidArgument: the stream is within an
// epoch, the function has no such input. Also the errors of the stream and of Session::Run.
absl::StatusOr<Values> Evaluate(Session& session, BatchStream& stream, const std::string& function,
                                const std::map<std::string, double>& inputs = {});

// Every epoch, with priority kWriter. The stream must outlive it.
class Evaluator : public Extension {
 public:
  Evaluator(BatchStream& stream, std::string function, EvaluatorOptions options = {})
      : stream_(&stream), function_(std::move(function)), options_(std::move(options)) {}

  absl::Status Run(Trainer& trainer) override;
  void Rename(const std::string& name) override { options_.name = name; }
  std::string name() const override { return options_.name; }
  int priority() const override { return kWriter; }
  Trigger trigger() const override { return Every(1, kEpoch); }

 private:
  BatchStream* stream_;
  std::string function_;
  EvaluatorOptions options_;
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_EVALUATOR_H_
