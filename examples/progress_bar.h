// ProgressBar: a line on a terminal with the progress of an epoch, its loss, rate and time left.
//
//   ProgressBar bar("epoch 1/10", batches);
//   bar.Update(done, loss, images_done);       // redrawn at most ten times a second
//   bar.Finish("accuracy 97.3 %");
//
// If the output is not a terminal (a log file, CI), prints only the final line.
#ifndef SINTER_EXAMPLES_PROGRESS_BAR_H_
#define SINTER_EXAMPLES_PROGRESS_BAR_H_

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace sinter::examples {

class ProgressBar {
 public:
  // Prints nothing unless `talks`: of several processes one does.
  ProgressBar(std::string title, int64_t steps, std::string unit = "images", bool talks = true)
      : title_(std::move(title)),
        steps_(steps),
        unit_(std::move(unit)),
        talks_(talks),
        start_(Clock::now()),
        drawn_(start_) {}

  void Update(int64_t step, double loss, int64_t examples) {
    loss_ = loss;
    examples_ = examples;
    Clock::time_point now = Clock::now();
    if (!talks_ || !isatty(STDOUT_FILENO) || (now - drawn_ < std::chrono::milliseconds(100) && step < steps_))
      return;
    drawn_ = now;
    double seconds = Seconds();
    int filled = static_cast<int>(kWidth * step / std::max<int64_t>(steps_, 1));
    double left = step > 0 ? seconds * static_cast<double>(steps_ - step) / static_cast<double>(step) : 0;
    std::printf("\r%s [%s%s] %ld/%ld  loss %.4f  %.0f %s/s  %.0f s left  ", title_.c_str(),
                std::string(filled, '=').c_str(), std::string(kWidth - filled, ' ').c_str(), step, steps_,
                loss, static_cast<double>(examples) / std::max(seconds, 1e-9), unit_.c_str(), left);
    std::fflush(stdout);
  }

  // Replaces the bar by a summary that ends with `result`.
  void Finish(const std::string& result) {
    if (!talks_) return;
    double seconds = Seconds();
    if (isatty(STDOUT_FILENO)) std::printf("\r\033[K");
    std::printf("%s  loss %.4f  %s  (%.1f s, %.0f %s/s)\n", title_.c_str(), loss_, result.c_str(), seconds,
                static_cast<double>(examples_) / std::max(seconds, 1e-9), unit_.c_str());
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kWidth = 24;
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  std::string title_;
  int64_t steps_;
  std::string unit_;
  bool talks_;
  Clock::time_point start_, drawn_;
  double loss_ = 0;
  int64_t examples_ = 0;
};

}  // namespace sinter::examples

#endif  // SINTER_EXAMPLES_PROGRESS_BAR_H_
