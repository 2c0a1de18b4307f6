// Checks of the sizes of images and windows, for Sinter's own sources.
//
//   if (!CheckWindow(call, "strides", options.strides, 1)) return {};
#ifndef SINTER_FRONTEND_OPS_WINDOW_CHECKS_H_
#define SINTER_FRONTEND_OPS_WINDOW_CHECKS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"

namespace sinter {

// Kernels support no larger images, windows, strides or paddings. Up to this bound sums of them fit in 64
// bits.
inline constexpr int64_t kLargestWindow = (int64_t{1} << 31) - 1;

// True if all numbers are from `least` to kLargestWindow; else keeps an error.
inline bool CheckWindow(Call& call, std::string_view what, llvm::ArrayRef<int64_t> numbers, int64_t least) {
  for (int64_t n : numbers) {
    if (n >= least && n <= kLargestWindow) continue;
    call.Fail(
        absl::StrCat("needs ", std::string(what), " from ", least, " to ", kLargestWindow, ", got ", n));
    return false;
  }
  return true;
}

// Returns "3x4".
inline std::string PairText(int64_t h, int64_t w) { return absl::StrCat(h, "x", w); }

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_WINDOW_CHECKS_H_
