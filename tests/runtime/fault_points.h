// Selects the call that fails, for replacements of library functions in tests.
//
//   FaultPoints::Arm(3);                    // The third call after this fails, once.
//   ...
//   if (FaultPoints::Disarm()) ...          // The call failed; FaultPoints::name() names it.
//   FaultPoints::Arm(1, "cudaMalloc");      // The first call of this function.
#ifndef SINTER_TESTS_RUNTIME_FAULT_POINTS_H_
#define SINTER_TESTS_RUNTIME_FAULT_POINTS_H_

#include <atomic>
#include <string>
#include <string_view>

namespace sinter {

class FaultPoints {
 public:
  // `only` is a literal that names one function; null for any function.
  static void Arm(int call, const char* only = nullptr) {
    fired_ = nullptr;
    only_ = only;
    left_ = call;
  }
  // Returns true if the armed call has failed.
  static bool Disarm() {
    left_ = 0;
    return fired_ != nullptr;
  }
  static std::string name() { return fired_ == nullptr ? "nothing" : fired_.load(); }

  static bool Fails(const char* name) {
    if (left_.load(std::memory_order_relaxed) == 0) return false;
    if (const char* const only = only_; only != nullptr && std::string_view(only) != name) return false;
    if (left_.fetch_sub(1) != 1) return false;
    fired_ = name;
    return true;
  }

 private:
  static inline std::atomic<int> left_ = 0;
  static inline std::atomic<const char*> only_ = nullptr, fired_ = nullptr;
};

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_FAULT_POINTS_H_
