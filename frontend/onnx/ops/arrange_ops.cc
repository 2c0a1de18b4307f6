#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Elements in another order, repeated, padded or masked.
namespace sinter::onnx {
namespace {

absl::StatusOr<Values> TileOf(Node& node) {
  const Tensor x = node.In(0);
  Shape counts;
  if (node.version() < 6) {
    SINTER_ASSIGN_OR_RETURN(const int64_t tiles, node.Int(1));
    SINTER_ASSIGN_OR_RETURN(const int64_t given, node.Int(2));
    counts.assign(static_cast<size_t>(x.rank()), 1);
    const int64_t axis = node.Axis(given, x.rank());
    SINTER_RETURN_IF_ERROR(node.status());
    counts[static_cast<size_t>(axis)] = tiles;
  } else {
    SINTER_ASSIGN_OR_RETURN(counts, node.Ints(1));
  }
  return Values(Tile(x, counts));
}

absl::StatusOr<Values> PadOf(Node& node) {
  Tensor x = node.In(0);
  const auto rank = static_cast<size_t>(x.rank());
  Shape pads = node.Ints(node.version() < 2 ? "paddings" : "pads");
  Tensor value;
  if (node.version() >= 11) {
    SINTER_ASSIGN_OR_RETURN(pads, node.Ints(1));
    if (node.Has(2)) value = node.In(2);
  } else {
    value = node.Number(node.Real("value", 0), x.dtype());
  }
  Shape axes;
  if (node.Has(3)) {
    SINTER_ASSIGN_OR_RETURN(axes, node.Ints(3));
    axes = node.Axes(axes, x.rank());
  } else {
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  }
  SINTER_RETURN_IF_ERROR(node.status());
  if (pads.size() != 2 * axes.size()) return node.Bad("pads has not two numbers a dimension");
  Shape low(rank, 0), high(rank, 0), starts(rank, 0), limits = x.shape();
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto dim = static_cast<size_t>(axes[i]);
    const int64_t before = pads[i], behind = pads[i + axes.size()];
    // Negative numbers cut.
    low[dim] = std::max<int64_t>(before, 0);
    high[dim] = std::max<int64_t>(behind, 0);
    starts[dim] = std::clamp<int64_t>(before < 0 ? -before : 0, 0, limits[dim]);
    limits[dim] = std::clamp<int64_t>(limits[dim] + std::min<int64_t>(behind, 0), starts[dim], limits[dim]);
  }
  x = Slice(x, starts, limits);
  const std::string mode = node.Text("mode", "constant");
  if (mode == "reflect") return Values(Pad(x, low, high, PadMode::kReflect));
  if (mode == "edge") return Values(Pad(x, low, high, PadMode::kReplicate));
  if (mode == "wrap") return Values(Pad(x, low, high, PadMode::kCircular));
  if (mode != "constant") return node.Bad(absl::StrCat("mode '", mode, "'"));
  if (!value.ok()) return Values(Pad(x, low, high, 0));
  const Tensor inside = Pad(node.b().Full(DType::kI1, x.shape(), 1), low, high, 0);
  return Values(Select(inside, Pad(x, low, high, 0), Reshape(value, {})));
}

absl::StatusOr<Values> DepthToSpaceOf(Node& node) {
  const Tensor x = node.In(0);
  const int64_t r = node.Int("blocksize", 0);
  if (x.rank() != 4 || r < 1 || r > 1 << 15 || x.dim(1) % (r * r) != 0) {
    return node.Bad("the channels are no multiple of blocksize squared");
  }
  const int64_t n = x.dim(0), c = x.dim(1) / (r * r), h = x.dim(2), w = x.dim(3);
  const bool by_column = node.Text("mode", "DCR") == "CRD";
  const Tensor parts = by_column ? Transpose(Reshape(x, {n, c, r, r, h, w}), {0, 1, 4, 2, 5, 3})
                                 : Transpose(Reshape(x, {n, r, r, c, h, w}), {0, 3, 4, 1, 5, 2});
  return Values(Reshape(parts, {n, c, h * r, w * r}));
}

absl::StatusOr<Values> SpaceToDepthOf(Node& node) {
  const Tensor x = node.In(0);
  const int64_t r = node.Int("blocksize", 0);
  if (x.rank() != 4 || r < 1 || r > 1 << 15 || x.dim(2) % r != 0 || x.dim(3) % r != 0) {
    return node.Bad("the sizes are no multiples of blocksize");
  }
  const int64_t n = x.dim(0), c = x.dim(1), h = x.dim(2) / r, w = x.dim(3) / r;
  const Tensor parts = Transpose(Reshape(x, {n, c, h, r, w, r}), {0, 3, 5, 1, 2, 4});
  return Values(Reshape(parts, {n, c * r * r, h, w}));
}

absl::StatusOr<Values> TriluOf(Node& node) {
  const Tensor x = node.In(0);
  int64_t k = 0;
  if (node.Has(1)) {
    SINTER_ASSIGN_OR_RETURN(k, node.Int(1));
  }
  if (x.rank() < 2) return node.Bad("takes matrices");
  const int64_t most = std::max(x.dim(-1), x.dim(-2)) + 1;
  k = std::clamp(k, -most, most);
  return Values(node.Int("upper", 1) != 0 ? Triu(x, k) : Tril(x, k));
}

constexpr OpRecord kArrangements[] = {
    {"DepthToSpace", 1, DepthToSpaceOf},
    {"Pad", 1, PadOf},
    {"SpaceToDepth", 1, SpaceToDepthOf},
    {"Tile", 1, TileOf},
    {"Trilu", 14, TriluOf},
};

}  // namespace

std::span<const OpRecord> ArrangeOps() { return kArrangements; }

}  // namespace sinter::onnx
