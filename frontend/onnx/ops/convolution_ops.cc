#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/frontend/onnx/ops/windows.h"
#include "sinter/runtime/host/status.h"

// Convolutions, and the windows that pools share with them.
namespace sinter::onnx {

int64_t Windows::Results(size_t d, int64_t size, bool up) const {
  const int64_t room = size + low[d] + high[d] - Span(d);
  if (room < 0) return 0;
  return (up ? room + strides[d] - 1 : room) / strides[d] + 1;
}

absl::StatusOr<Windows> WindowsOf(Node& node, const Shape& sizes, const Shape& window) {
  const size_t rank = sizes.size();
  Windows w{.window = window,
            .strides = node.Ints("strides", Shape(rank, 1)),
            .dilations = node.Ints("dilations", Shape(rank, 1)),
            .low = Shape(rank, 0),
            .high = Shape(rank, 0)};
  const Shape pads = node.Ints("pads", Shape(2 * rank, 0));
  if (rank < 1 || rank > 3) {
    return node.Unsupported("OP_FORM", absl::StrCat(rank, " spatial dimensions; there are 1 to 3"));
  }
  if (w.window.size() != rank || w.strides.size() != rank || w.dilations.size() != rank ||
      pads.size() != 2 * rank) {
    return node.Bad("kernel_shape, strides, dilations or pads do not fit the dimensions of x");
  }
  const std::string automatic = node.Text("auto_pad", "NOTSET");
  for (size_t d = 0; d < rank; ++d) {
    for (const int64_t number : {w.window[d], w.strides[d], w.dilations[d]}) {
      if (number < 1 || number > 1 << 20)
        return node.Bad(absl::StrCat("a window, stride or dilation of ", number));
    }
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const int64_t results = (sizes[d] + w.strides[d] - 1) / w.strides[d];
      const int64_t all = std::max<int64_t>((results - 1) * w.strides[d] + w.Span(d) - sizes[d], 0);
      w.low[d] = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      w.high[d] = all - w.low[d];
    } else if (automatic != "VALID") {
      w.low[d] = pads[d];
      w.high[d] = pads[d + rank];
    }
    for (const int64_t number : {w.low[d], w.high[d]}) {
      if (number < 0 || number > 1 << 20) return node.Bad(absl::StrCat("a padding of ", number));
    }
  }
  return w;
}

absl::StatusOr<Tensor> Convolve(Node& node, const Tensor& x, const Tensor& weights, const Windows& w,
                                int64_t groups) {
  if (w.rank() == 1) {
    return Conv1d(x, weights,
                  {.stride = w.strides[0],
                   .padding = {w.low[0], w.high[0]},
                   .dilation = w.dilations[0],
                   .groups = groups});
  }
  if (w.rank() == 2) {
    return Conv2d(x, weights,
                  {.strides = {w.strides[0], w.strides[1]},
                   .padding = {w.low[0], w.high[0], w.low[1], w.high[1]},
                   .dilations = {w.dilations[0], w.dilations[1]},
                   .groups = groups});
  }
  if (w.rank() == 3) {
    return Conv3d(x, weights,
                  {.strides = {w.strides[0], w.strides[1], w.strides[2]},
                   .padding = {w.low[0], w.high[0], w.low[1], w.high[1], w.low[2], w.high[2]},
                   .dilations = {w.dilations[0], w.dilations[1], w.dilations[2]},
                   .groups = groups});
  }
  return node.Unsupported("OP_FORM", "1 to 3 spatial dimensions are convolved");
}

namespace {

// The sizes behind the first two dimensions.
Shape SpatialOf(const Shape& shape) {
  return shape.size() < 2 ? Shape() : Shape(shape.begin() + 2, shape.end());
}

absl::StatusOr<Values> ConvOf(Node& node) {
  const Tensor x = node.In(0), weights = node.In(1);
  if (weights.rank() != x.rank()) return node.Bad("weights and x differ in rank");
  SINTER_ASSIGN_OR_RETURN(const Windows windows,
                          WindowsOf(node, SpatialOf(x.shape()), SpatialOf(weights.shape())));
  SINTER_ASSIGN_OR_RETURN(Tensor y, Convolve(node, x, weights, windows, node.Int("group", 1)));
  if (node.Has(2)) y = y + AlongAxis(node.In(2), 1, x.rank());
  return Values(y);
}

struct TransposedPadding {
  Shape low, high, output;
};

// Padding of a transposed convolution, also if the result's size is given instead.
absl::StatusOr<TransposedPadding> PaddingOf(Node& node, const Windows& w, const Shape& sizes) {
  const size_t rank = w.rank();
  TransposedPadding p{w.low, w.high, node.Ints("output_padding", Shape(rank, 0))};
  const Shape asked = node.Ints("output_shape");
  if (p.output.size() != rank) return node.Bad("output_padding does not fit the dimensions of x");
  const std::string automatic = node.Text("auto_pad", "NOTSET");
  const bool same = automatic.starts_with("SAME");
  if (asked.empty() && !same) return p;
  if (!asked.empty() && asked.size() < rank) return node.Bad("output_shape does not fit the dimensions of x");
  for (size_t d = 0; d < rank; ++d) {
    const int64_t result = asked.empty() ? sizes[d] * w.strides[d] : asked[asked.size() - rank + d];
    const int64_t full = (sizes[d] - 1) * w.strides[d] + w.Span(d) + p.output[d];
    const int64_t all = full - result;
    if (all < 0) {
      // Larger than all windows: zeros behind them.
      p.low[d] = p.high[d] = 0;
      p.output[d] -= all;
    } else {
      p.low[d] = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      p.high[d] = all - p.low[d];
    }
  }
  return p;
}

Tensor Transposed(const Tensor& x, const Tensor& weights, const Windows& w, const TransposedPadding& p,
                  int64_t groups) {
  if (w.rank() == 1) {
    return ConvTranspose1d(x, weights,
                           {.stride = w.strides[0],
                            .padding = {p.low[0], p.high[0]},
                            .output_padding = p.output[0],
                            .dilation = w.dilations[0],
                            .groups = groups});
  }
  if (w.rank() == 2) {
    return ConvTranspose2d(x, weights,
                           {.strides = {w.strides[0], w.strides[1]},
                            .padding = {p.low[0], p.high[0], p.low[1], p.high[1]},
                            .output_padding = {p.output[0], p.output[1]},
                            .dilations = {w.dilations[0], w.dilations[1]},
                            .groups = groups});
  }
  return ConvTranspose3d(x, weights,
                         {.strides = {w.strides[0], w.strides[1], w.strides[2]},
                          .padding = {p.low[0], p.high[0], p.low[1], p.high[1], p.low[2], p.high[2]},
                          .output_padding = {p.output[0], p.output[1], p.output[2]},
                          .dilations = {w.dilations[0], w.dilations[1], w.dilations[2]},
                          .groups = groups});
}

absl::StatusOr<Values> ConvTransposeOf(Node& node) {
  const Tensor x = node.In(0), weights = node.In(1);
  if (weights.rank() != x.rank()) return node.Bad("weights and x differ in rank");
  const Shape sizes = SpatialOf(x.shape());
  SINTER_ASSIGN_OR_RETURN(const Windows windows, WindowsOf(node, sizes, SpatialOf(weights.shape())));
  SINTER_ASSIGN_OR_RETURN(TransposedPadding padding, PaddingOf(node, windows, sizes));
  // Places that no window reaches are padded behind the convolution.
  Shape behind(static_cast<size_t>(x.rank()), 0);
  for (size_t d = 0; d < windows.rank(); ++d) {
    const int64_t most = windows.strides[d] - 1;
    if (padding.output[d] > most) {
      const int64_t more = padding.output[d] - most, taken = std::min(more, padding.high[d]);
      padding.high[d] -= taken;
      behind[d + 2] = more - taken;
      padding.output[d] = most;
    }
  }
  Tensor y = Transposed(x, weights, windows, padding, node.Int("group", 1));
  if (std::ranges::any_of(behind, [](int64_t n) { return n != 0; })) {
    y = Pad(y, Shape(behind.size(), 0), behind, 0);
  }
  if (node.Has(2)) y = y + AlongAxis(node.In(2), 1, x.rank());
  return Values(y);
}

constexpr OpRecord kConvolutions[] = {
    {"Conv", 1, ConvOf},
    {"ConvTranspose", 1, ConvTransposeOf},
};

}  // namespace

std::span<const OpRecord> ConvolutionOps() { return kConvolutions; }

}  // namespace sinter::onnx
