// Measures the stages of a session's creation.
//
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan)));
//   for (const LoadStage& stage : session.load_times().stages()) {
//     std::cout << stage.what << " " << stage.seconds * 1e3 << " ms\n";
//   }
//
// All time counts for exactly one stage, the innermost active one, so the stages add up to the total:
//
//   const LoadTimes::Scope steps = times->Time("matmul steps");
//   ...
//     const LoadTimes::Scope library = times->Time("open cuBLASLt");  // Not part of "matmul steps".
//
// Not thread-safe.
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
  // Ends its stage and resumes the enclosing one. Must not outlive the LoadTimes object.
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

  // Starts a stage. Stages of the same name are merged at the position of the first.
  [[nodiscard]] Scope Time(std::string_view what);
  // Does nothing if the pointer is null.
  [[nodiscard]] static Scope Time(LoadTimes* times_or_null, std::string_view what);

  // Stages in the order of their first start.
  std::span<const LoadStage> stages() const { return stages_; }
  double Total() const;

 private:
  using Clock = std::chrono::steady_clock;

  // Adds the elapsed time to the active stage and makes `stage` active.
  void Enter(std::optional<size_t> stage);

  std::vector<LoadStage> stages_;
  std::optional<size_t> current_;
  Clock::time_point since_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_LOAD_TIMES_H_
