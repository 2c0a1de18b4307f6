// The longest time that a rank waits for the others in one exchange.
//
//   SINTER_ASSIGN_OR_RETURN(const ExchangePatience patience,
//                           ExchangePatience::Of(options.exchange_patience));
//   operation.patience = patience.WithinRun(plan, function);
//
// A rank that is alive and takes longer counts as stuck. Two waits differ. Once all members have begun a run,
// only the plan's own steps lie between them, so the limit follows from the time that these steps take at
// most. Before that, a member may still be in the user's code: it reads data, writes a checkpoint or
// evaluates. No plan tells how long that takes, so the world's own limit holds, which is long
// (MpiWorldOptions::patience).
#ifndef SINTER_RUNTIME_WORLD_EXCHANGE_PATIENCE_H_
#define SINTER_RUNTIME_WORLD_EXCHANGE_PATIENCE_H_

#include <chrono>
#include <optional>

#include "absl/status/statusor.h"

namespace sinter {

namespace fb {
struct Function;
struct Plan;
}  // namespace fb

// The environment variable with the limit in seconds: a whole number, or 0 for no limit.
inline constexpr char kExchangePatienceVariable[] = "SINTER_EXCHANGE_PATIENCE";
// The least limit within a run that is not given by the user. First runs load code and connect GPUs.
inline constexpr std::chrono::minutes kLeastPatience(10);

class ExchangePatience {
 public:
  // No limit.
  ExchangePatience() : given_(std::chrono::milliseconds(0)) {}
  // `option`: SessionOptions::exchange_patience. InvalidArgument if it is between 0 and a second. Without it,
  // the limit is FromEnvironment(), with its errors, and without that it follows from the plan.
  static absl::StatusOr<ExchangePatience> Of(std::optional<std::chrono::milliseconds> option);

  // Returns the value of SINTER_EXCHANGE_PATIENCE; nullopt if it is unset. InvalidArgument if it is no
  // number of seconds.
  static absl::StatusOr<std::optional<std::chrono::milliseconds>> FromEnvironment();

  bool has_limit() const { return !given_.has_value() || given_->count() > 0; }
  // The limit of an exchange to which members may still come from the user's code; 0: that of the world.
  std::chrono::milliseconds FromUserCode() const { return given_.value_or(std::chrono::milliseconds(0)); }
  // The limit of an exchange whose members have all begun the run of `function`; 0: no limit.
  std::chrono::milliseconds WithinRun(const fb::Plan& plan, const fb::Function& function) const;

 private:
  std::optional<std::chrono::milliseconds> given_;
};

// Returns a time that no healthy run of the function exceeds, from the flops and bytes of its steps: on GPUs
// at 1 TFLOP/s (50 GFLOP/s in f64) and 20 GB/s, on CPUs at 1 GFLOP/s and 1 GB/s for all of them together,
// over links of 50 MB/s, and a millisecond for each step. Devices and links that are not overloaded are tens
// of times faster.
std::chrono::milliseconds LongestRunOf(const fb::Plan& plan, const fb::Function& function);

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_EXCHANGE_PATIENCE_H_
