#include "sinter/runtime/cuda/driver/lost_gpus.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"

namespace sinter {
namespace {

struct Lost {
  std::atomic<bool> is_any = false;
  std::mutex mutex;
  std::map<int, std::string> first_errors;  // By GPU index.
  int first = -1;                           // The GPU that was lost first; -1 if none.
};

// Never destroyed, because sessions may be static.
Lost& TheLost() {
  static Lost& lost = *new Lost;
  return lost;
}

}  // namespace

void NoteLostGpu(int index, std::string_view first_error) {
  const std::lock_guard lock(TheLost().mutex);
  TheLost().first_errors.try_emplace(index, first_error);
  if (TheLost().first < 0) TheLost().first = index;
  TheLost().is_any = true;
}

absl::Status CheckNotLost(int index) {
  if (!TheLost().is_any.load(std::memory_order_relaxed)) return absl::OkStatus();
  const std::lock_guard lock(TheLost().mutex);
  const auto found = TheLost().first_errors.find(index);
  if (found == TheLost().first_errors.end()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("gpu:", index, " is lost to this program since ", found->second,
                                          ". End the program and start it again, from its last checkpoint"));
}

absl::Status CheckNoneLost() {
  if (!TheLost().is_any.load(std::memory_order_relaxed)) return absl::OkStatus();
  int first = 0;
  {
    const std::lock_guard lock(TheLost().mutex);
    first = TheLost().first;
  }
  return CheckNotLost(first);
}

}  // namespace sinter
