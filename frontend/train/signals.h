// Catches SIGTERM and SIGINT for a while. For Sinter's own sources.
//
//   SignalScope signals(/*active=*/true);
//   while (!signals.Caught()) ...
//
// The second signal has the effect that it had before. A signal that was ignored stays ignored. One scope at
// a time catches signals; a scope inside another one sees what that catches.
#ifndef SINTER_FRONTEND_TRAIN_SIGNALS_H_
#define SINTER_FRONTEND_TRAIN_SIGNALS_H_

#include <csignal>
#include <string>

namespace sinter::train {

class SignalScope {
 public:
  explicit SignalScope(bool active);
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  // The signal's number; 0 if none has come.
  int Caught() const;
  static std::string NameOf(int signal) { return signal == SIGTERM ? "SIGTERM" : "SIGINT"; }

 private:
  bool active_;
  struct sigaction before_[2] = {};
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_SIGNALS_H_
