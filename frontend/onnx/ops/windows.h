// Windows of convolutions and pools: strides, dilations and padding of any number of spatial dimensions.
//
//   SINTER_ASSIGN_OR_RETURN(const Windows windows, WindowsOf(node, {h, w}, {3, 3}));
#ifndef SINTER_FRONTEND_ONNX_OPS_WINDOWS_H_
#define SINTER_FRONTEND_ONNX_OPS_WINDOWS_H_

#include "absl/status/statusor.h"
#include "sinter/frontend/onnx/node.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::onnx {

// One number a spatial dimension.
struct Windows {
  Shape window, strides, dilations, low, high;
  size_t rank() const { return window.size(); }
  // Positions that a window of dimension d spans.
  int64_t Span(size_t d) const { return (window[d] - 1) * dilations[d] + 1; }
  // The results along dimension d of `size` elements; with `up`, a last window that is not whole counts too.
  int64_t Results(size_t d, int64_t size, bool up = false) const;
};

// The attributes strides, dilations, pads and auto_pad. `sizes` are the spatial dimensions of x.
absl::StatusOr<Windows> WindowsOf(Node& node, const Shape& sizes, const Shape& window);

// Conv1d, Conv2d or Conv3d, with padding on either side of each dimension.
absl::StatusOr<Tensor> Convolve(Node& node, const Tensor& x, const Tensor& weights, const Windows& windows,
                                int64_t groups);

}  // namespace sinter::onnx

#endif  // SINTER_FRONTEND_ONNX_OPS_WINDOWS_H_
