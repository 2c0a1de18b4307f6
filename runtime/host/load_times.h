// Where the time goes in which a session is created.
//
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan)));
//   for (const LoadStage& stage : session.load_times().stages()) std::cout << stage.what << " " << stage.seconds * 1e3 << " ms\n";
//
// Every moment counts for one stage, the innermost that is under way, so that the stages add up to the whole:
//
//   const LoadTimes::Scope steps = times->Time("matmul steps");
//   ...
//     const LoadTimes::Scope library = times->Time("open cuBLASLt");  // Not counted as steps.
//
// One thread at a time.
#ifndef SINTER_RUNTIME_HOST_LOAD_TIMES_H_
#define SINTER_RUNTIME_HOST_LOAD_TIMES_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

struct LoadStage {
  std::string what;
  double seconds = 0;
};

class LoadTimes {
 public:
  // Ends its stage, and goes on with the one around it. Must not outlive the times.
  class Scope {
   public:
    Scope() = default;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class LoadTimes;
    Scope(LoadTimes* times, std::optional<size_t> outer) : times_(times), outer_(outer) {}

    LoadTimes* times_ = nullptr;
    std::optional<size_t> outer_;
  };

  // Stages of one name are one, where the first of them was.
  [[nodiscard]] Scope Time(std::string_view what);
  // Where nobody asks for times.
  [[nodiscard]] static Scope Time(LoadTimes* times_or_null, std::string_view what);

  // In the order in which they began.
  std::span<const LoadStage> stages() const { return stages_; }
  double Total() const;

 private:
  using Clock = std::chrono::steady_clock;

  // Counts what has gone by for the stage under way, and goes on with another.
  void Enter(std::optional<size_t> stage);

  std::vector<LoadStage> stages_;
  std::optional<size_t> current_;
  Clock::time_point since_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_LOAD_TIMES_H_
