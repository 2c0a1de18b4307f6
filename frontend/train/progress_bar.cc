#include "sinter/frontend/train/progress_bar.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sinter/frontend/train/trainer.h"

namespace sinter::train {

std::string ProgressText(const Progress& now, const std::optional<TrainingLength>& length,
                         int64_t updates_per_epoch, double rate) {
  constexpr int kWidth = 24;
  const auto iteration = static_cast<double>(now.iteration);
  std::string text;
  double updates_left = 0;
  if (length) {
    const bool is_epochs = length->unit == kEpoch;
    const double done = std::min(1.0, (is_epochs ? now.epoch : iteration) / length->count);
    const int filled = static_cast<int>(kWidth * done);
    text = absl::StrFormat("[%s%s] %5.1f %%  ", std::string(filled, '='), std::string(kWidth - filled, ' '),
                           100 * done);
    updates_left = is_epochs ? (length->count - now.epoch) * static_cast<double>(updates_per_epoch)
                             : length->count - iteration;
  }
  absl::StrAppendFormat(&text, "epoch %.2f", now.epoch);
  if (length && length->unit == kEpoch) absl::StrAppendFormat(&text, " of %g", length->count);
  absl::StrAppendFormat(&text, "  iteration %d", now.iteration);
  if (length && length->unit == kIteration) absl::StrAppendFormat(&text, " of %g", length->count);
  if (rate > 0) {
    absl::StrAppendFormat(&text, "  %.3g updates/s", rate);
    if (length) absl::StrAppendFormat(&text, "  %.0f s left", std::max(0.0, updates_left) / rate);
  }
  if (const double part = now.elapsed_time > 0 ? now.input_wait / now.elapsed_time : 0; part >= 0.01)
    absl::StrAppendFormat(&text, "  %.0f %% input wait", 100 * part);
  return text;
}

bool ProgressBar::Draws(const Trainer& trainer) const {
  std::FILE* const out = options_.out ? options_.out : stdout;
  return trainer.is_first() && options_.is_terminal.value_or(isatty(fileno(out)) == 1);
}

absl::Status ProgressBar::Start(Trainer& trainer) {
  first_iteration_ = trainer.progress().iteration;
  start_ = drawn_ = Clock::now();
  return absl::OkStatus();
}

absl::Status ProgressBar::Run(Trainer& trainer) {
  const Clock::time_point now = Clock::now();
  if (now - drawn_ < options_.interval || !Draws(trainer)) return absl::OkStatus();
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const auto updates = static_cast<double>(trainer.progress().iteration - first_iteration_);
  const std::optional<Trigger>& stop = trainer.options().stop;
  std::FILE* const out = options_.out ? options_.out : stdout;
  std::fprintf(out, "\r\033[K%s",
               ProgressText(trainer.progress(), stop ? stop->rule().Length() : std::nullopt,
                            trainer.updates_per_epoch(), seconds > 0 ? updates / seconds : 0)
                   .c_str());
  std::fflush(out);
  return absl::OkStatus();
}

absl::Status ProgressBar::Finish(Trainer& trainer) {
  std::FILE* const out = options_.out ? options_.out : stdout;
  if (!Draws(trainer)) return absl::OkStatus();
  std::fputs("\r\033[K", out);
  std::fflush(out);
  return absl::OkStatus();
}

}  // namespace sinter::train
