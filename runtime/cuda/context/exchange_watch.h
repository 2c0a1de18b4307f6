// Exchanges between GPUs that may be under way while a thread waits for a GPU.
//
//   SINTER_RETURN_IF_ERROR(watch.Check());  // Every few milliseconds: a lost rank never ends an exchange.
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_EXCHANGE_WATCH_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_EXCHANGE_WATCH_H_

#include "absl/status/status.h"

namespace sinter {

class ExchangeWatch {
 public:
  virtual ~ExchangeWatch() = default;
  // The first error of any exchange. After an error the exchanges under way are aborted, and end.
  virtual absl::Status Check() = 0;
  // The error that exchanges were aborted for; OK if none were.
  virtual absl::Status aborted() const = 0;
  // Ends all exchanges under way. Only the first reason is kept.
  virtual void Abort(const absl::Status& reason) = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_EXCHANGE_WATCH_H_
