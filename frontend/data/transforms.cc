#include "sinter/frontend/data/transforms.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Returns a tensor of `shape` whose elements are those of `rows`, converted by `convert`.
template <typename T, typename Convert>
absl::StatusOr<HostTensor> MapU8(const HostTensor& rows, std::vector<int64_t> shape, const char* name,
                                 Convert convert) {
  if (rows.dtype() != DType::kU8) {
    return absl::InvalidArgumentError(absl::StrCat(name, " takes u8, it was given ", rows.ToString()));
  }
  SINTER_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Empty(DTypeOf<T>(), std::move(shape)));
  if (out.num_elements() != rows.num_elements()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " cannot make ", out.ToString(), " of ",
                                                   rows.ToString(), ": other numbers of elements"));
  }
  SINTER_ASSIGN_OR_RETURN(const std::span<const uint8_t> from, rows.Span<uint8_t>());
  SINTER_ASSIGN_OR_RETURN(const std::span<T> to, out.MutableSpan<T>());
  std::ranges::transform(from, to.begin(), convert);
  return out;
}

}  // namespace

BatchTransform ScaleToF32(float scale, float shift, std::vector<int64_t> example_shape) {
  return [scale, shift, example_shape = std::move(example_shape)](HostTensor rows,
                                                                  SplitMix&) -> absl::StatusOr<HostTensor> {
    std::vector<int64_t> shape = rows.shape();
    if (!example_shape.empty()) {
      shape.resize(1);
      shape.insert(shape.end(), example_shape.begin(), example_shape.end());
    }
    float table[256];
    for (int i = 0; i < 256; ++i) table[i] = static_cast<float>(i) * scale + shift;
    return MapU8<float>(rows, std::move(shape), "ScaleToF32",
                        [&table](uint8_t value) { return table[value]; });
  };
}

BatchTransform WidenToI32() {
  return [](HostTensor rows, SplitMix&) {
    return MapU8<int32_t>(rows, rows.shape(), "WidenToI32", [](uint8_t value) { return int32_t{value}; });
  };
}

}  // namespace sinter
