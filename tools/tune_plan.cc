#include "sinter/tools/tune_plan.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sinter/runtime/device/session_tuning.h"
#include "sinter/runtime/device/tuning_file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/session/session.h"

namespace sinter::tools {
namespace {

const char* SourceText(ChoiceSource source) {
  switch (source) {
    case ChoiceSource::kFile:
      return "in the file";
    case ChoiceSource::kMeasured:
    case ChoiceSource::kProcess:
      return "measured";
    case ChoiceSource::kFirstChoice:
      break;
  }
  return "first choice";
}

std::string Line(const TuningChoice& choice) {
  if (choice.source == ChoiceSource::kFirstChoice) {
    return absl::StrFormat("%10s %10s %7s  %-12s  %s; %s\n", "-", "-", "-", SourceText(choice.source),
                           choice.key.problem, choice.reason);
  }
  return absl::StrFormat("%10.2f %10.2f %6.1f%%  %-12s  %s%s\n", choice.first_us, choice.chosen_us,
                         100 * (choice.first_us / choice.chosen_us - 1), SourceText(choice.source),
                         choice.key.problem, choice.any_bits ? "; any bits" : "");
}

// Checks that the tuning file is readable or absent. Only entries that the file lacks are measured, so this
// check comes first.
absl::Status CheckFile(const std::string& path) {
  const absl::Status status = LoadTuning(path).status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace

std::string TuningTableText(const TuningReport& report) {
  std::string text;
  const TuningKey* before = nullptr;
  for (const TuningChoice& choice : report.choices) {
    const TuningKey& key = choice.key;
    if (before == nullptr || before->device != key.device || before->library != key.library) {
      absl::StrAppend(&text, key.device, ", ", key.library, "\n",
                      absl::StrFormat("%10s %10s %7s  %-12s  %s\n", "first us", "chosen us", "gain", "from",
                                      "operation"));
    }
    before = &key;
    text += Line(choice);
  }
  absl::StrAppend(&text, report.Count(ChoiceSource::kMeasured), " measured, ",
                  report.Count(ChoiceSource::kFile), " already in the file, ",
                  report.Count(ChoiceSource::kFirstChoice), " left to the library; ", report.file, "\n");
  return text;
}

absl::Status TunePlan(const TuneOptions& options, std::ostream& out) {
  SINTER_ASSIGN_OR_RETURN(Plan plan, Plan::Load(options.plan));
  const TuningOptions tuning = {
      .file = options.file, .save = true, .again = options.again, .mode = options.mode};
  SINTER_RETURN_IF_ERROR(CheckFile(TuningPath(tuning, options.plan)));
  SINTER_ASSIGN_OR_RETURN(const Session session, Session::Create(std::move(plan), {.tuning = tuning}));
  const TuningReport& report = session.tuning();
  if (report.choices.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is nothing to tune: the plan '", options.plan,
                     "' has neither matmuls nor convolutions on a GPU; compile the graph for one"));
  }
  out << TuningTableText(report);
  return report.status;
}

}  // namespace sinter::tools
