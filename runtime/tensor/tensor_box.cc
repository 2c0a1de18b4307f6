#include "sinter/runtime/tensor/tensor_box.h"

#include <cstring>
#include <string>

#include "sinter/runtime/host/status.h"

namespace sinter {

TensorBox TensorBox::Whole(int64_t elements) {
  const BoxExtent all = {elements, elements, 0};
  return TensorBox(std::span(&all, 1));
}

// An extent joins the one before it if all of it is in the box, or if the box has one iteration of the one
// before: the elements are then one range of both.
TensorBox::TensorBox(std::span<const BoxExtent> extents) {
  for (const BoxExtent& extent : extents) {
    if (!extents_.empty() && (extent.part == extent.size || extents_.back().part == 1)) {
      BoxExtent& last = extents_.back();
      last = {last.size * extent.size, last.part * extent.part, last.first * extent.size + extent.first};
    } else {
      extents_.push_back(extent);
    }
  }
  if (extents_.empty()) extents_.push_back({});
}

int64_t TensorBox::num_elements() const {
  int64_t elements = 1;
  for (const BoxExtent& extent : extents_) elements *= extent.part;
  return elements;
}

int64_t TensorBox::whole_elements() const {
  int64_t elements = 1;
  for (const BoxExtent& extent : extents_) elements *= extent.size;
  return elements;
}

int64_t TensorBox::CountBefore(int64_t whole) const {
  int64_t stride = whole_elements(), inner = num_elements(), count = 0;
  if (whole >= stride) return inner;
  for (const BoxExtent& extent : extents_) {
    stride /= extent.size, inner /= extent.part;
    const int64_t at = whole / stride % extent.size - extent.first;
    count += std::clamp<int64_t>(at, 0, extent.part) * inner;
    if (at < 0 || at >= extent.part) return count;
  }
  return count;
}

void TakePart(const TensorBox& box, int64_t begin, int64_t count, const void* tensor, int64_t size,
              void* part) {
  box.ForEachRun(begin, count, [&](int64_t at, int64_t whole, int64_t run) {
    std::memcpy(static_cast<std::byte*>(part) + (at - begin) * size,
                static_cast<const std::byte*>(tensor) + whole * size, static_cast<size_t>(run * size));
  });
}

void PutPart(const TensorBox& box, int64_t begin, int64_t count, const void* part, int64_t size,
             void* tensor) {
  box.ForEachRun(begin, count, [&](int64_t at, int64_t whole, int64_t run) {
    std::memcpy(static_cast<std::byte*>(tensor) + whole * size,
                static_cast<const std::byte*>(part) + (at - begin) * size, static_cast<size_t>(run * size));
  });
}

void AddPart(const TensorBox& box, int64_t begin, int64_t count, const void* part, DType dtype,
             void* tensor) {
  const auto add = [&](const auto* terms, auto* sums) {
    box.ForEachRun(begin, count, [&](int64_t at, int64_t whole, int64_t run) {
      for (int64_t i = 0; i < run; ++i) sums[whole + i] += terms[at - begin + i];
    });
  };
  SINTER_CHECK(dtype == DType::kF32 || dtype == DType::kF64) << "adds " << DTypeName(dtype);
  if (dtype == DType::kF64) {
    add(static_cast<const double*>(part), static_cast<double*>(tensor));
  } else {
    add(static_cast<const float*>(part), static_cast<float*>(tensor));
  }
}

}  // namespace sinter
