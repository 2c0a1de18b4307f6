// Checks of the sizes of images and windows, for Sinter's own sources.
//
//   if (!CheckWindow(call, "strides", options.strides, 1)) return {};
#ifndef SINTER_FRONTEND_OPS_WINDOW_CHECKS_H_
#define SINTER_FRONTEND_OPS_WINDOW_CHECKS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/images.h"

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

// Returns the options with strides in place of 0, and with the paddings behind that the windows of ceil_mode
// need: the last one begins in the image or in the padding in front of it.
inline Pool2dOptions WithWholeWindows(const Tensor& x, const std::array<int64_t, 2>& window,
                                      Pool2dOptions options) {
  if (options.strides == std::array<int64_t, 2>{0, 0}) options.strides = window;
  for (int64_t i = 0; options.ceil_mode && i < 2; ++i) {
    const int64_t stride = options.strides[i], front = options.padding[2 * i];
    const int64_t behind = options.padding[2 * i + 1];
    const auto is_size = [](int64_t n) { return n >= 0 && n <= kLargestWindow; };
    if (!is_size(front) || !is_size(behind) || !is_size(stride - 1) || !is_size(window[i])) continue;
    const int64_t room = x.dim(2 + i) + front + behind - window[i];
    if (room < 0) continue;
    int64_t last = (room + stride - 1) / stride * stride;
    if (last >= x.dim(2 + i) + front) last -= stride;
    options.padding[2 * i + 1] += std::max<int64_t>(0, last - room);
  }
  options.ceil_mode = false;
  return options;
}

// Names of signals, images and volumes, for errors.
struct SpatialKind {
  const char* name;
  const char* shape;
  const char* unit;
};

// Returns the kind with 1, 2 or 3 dimensions behind the channels.
inline const SpatialKind& SpatialKindOf(size_t dimensions) {
  static constexpr SpatialKind kKinds[] = {{"signals", "[N, C, L]", "elements"},
                                           {"images", "[N, C, H, W]", "pixels"},
                                           {"volumes", "[N, C, D, H, W]", "elements"}};
  return kKinds[dimensions - 1];
}

// Returns the sizes of x behind the batch and the channels.
inline Shape SpatialSizes(const Tensor& x) {
  const Shape shape = x.shape();
  return Shape(shape.begin() + 2, shape.end());
}

// True if x can be made one of these sizes behind its channels; else keeps an error.
inline bool CheckNewSizes(CompositeCall& call, const Tensor& x, const Shape& sizes) {
  const SpatialKind& kind = SpatialKindOf(sizes.size());
  if (x.shape().size() != sizes.size() + 2 || !IsFloat(x.dtype())) {
    call.Fail(absl::StrCat("takes float ", kind.name, " of shape ", kind.shape));
    return false;
  }
  const Shape from = SpatialSizes(x);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (std::min(sizes[i], from[i]) >= 1 && std::max(sizes[i], from[i]) <= kLargestWindow) continue;
    call.Fail(absl::StrCat("makes ", kind.name, " of ", absl::StrJoin(sizes, "x"), " of those of ",
                           absl::StrJoin(from, "x"), "; both need ", kind.unit));
    return false;
  }
  return true;
}

// Returns "3x4".
inline std::string PairText(int64_t h, int64_t w) { return absl::StrCat(h, "x", w); }

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_WINDOW_CHECKS_H_
