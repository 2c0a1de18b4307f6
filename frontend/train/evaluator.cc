#include "sinter/frontend/train/evaluator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/train/trainer.h"
#include "sinter/frontend/train/updater.h"
#include "sinter/runtime/host/status.h"

namespace sinter::train {
namespace {

// Runs the function with the batches of one epoch.
absl::Status RunEpoch(Session& session, BatchStream& stream, Updater& run,
                      const std::map<std::string, double>& inputs) {
  for (bool is_first = true;; is_first = false) {
    SINTER_ASSIGN_OR_RETURN(const Batch batch, stream.Next());
    if (is_first && batch.index != 0)
      return absl::InvalidArgumentError(
          absl::StrCat("the stream is within an epoch, before batch ", batch.index,
                       "; give an evaluation a stream of its own, at the beginning of an epoch"));
    SINTER_RETURN_IF_ERROR(run.Update(session, batch, inputs));
    if (batch.ends_epoch) return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<Values> Evaluate(Session& session, BatchStream& stream, const std::string& function,
                                const std::map<std::string, double>& inputs) {
  UpdaterOptions options;
  for (const auto& [name, value] : inputs) options.inputs.emplace(name, value);
  Updater run(stream, function, std::move(options));
  SINTER_RETURN_IF_ERROR(run.Start(session));
  SINTER_RETURN_IF_ERROR(ReadMetrics(session, function).status());  // Those of runs before.
  const std::string position = stream.Save();
  const absl::Status ran = RunEpoch(session, stream, run, inputs);
  SINTER_RETURN_IF_ERROR(stream.Load(position));
  SINTER_RETURN_IF_ERROR(ran);
  SINTER_ASSIGN_OR_RETURN(MetricValues seen, ReadMetrics(session, function));
  return std::move(seen.numbers);
}

absl::Status Evaluator::Run(Trainer& trainer) {
  SINTER_ASSIGN_OR_RETURN(const Values seen,
                          Evaluate(trainer.session(), *stream_, function_, options_.inputs));
  for (const auto& [name, value] : seen) trainer.Observe(absl::StrCat(options_.name, "/main/", name), value);
  return absl::OkStatus();
}

}  // namespace sinter::train
