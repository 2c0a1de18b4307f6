// Positions of a box's elements in its tensor.
#include "sinter/runtime/tensor/tensor_box.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace sinter {
namespace {

TEST(TensorBoxTest, CountsItsElementsBeforeAnElement) {
  const std::vector<std::vector<BoxExtent>> boxes = {
      {{12, 12, 0}},
      {{12, 5, 3}},
      {{4, 2, 1}, {6, 6, 0}},
      {{4, 4, 0}, {6, 2, 3}},
      {{4, 2, 2}, {3, 1, 0}, {5, 4, 1}},
      {{3, 3, 0}, {2, 1, 1}, {4, 4, 0}, {5, 2, 3}},
      {{6, 1, 5}, {7, 1, 0}},
  };
  for (const std::vector<BoxExtent>& extents : boxes) {
    const TensorBox box(extents);
    std::vector<bool> has(static_cast<size_t>(box.whole_elements()));
    box.ForEachRun(0, box.num_elements(), [&](int64_t, int64_t whole, int64_t count) {
      for (int64_t i = 0; i < count; ++i) has[static_cast<size_t>(whole + i)] = true;
    });
    int64_t before = 0;
    for (int64_t whole = 0; whole <= box.whole_elements(); ++whole) {
      EXPECT_EQ(box.CountBefore(whole), before) << whole << " of " << has.size();
      if (whole < box.whole_elements()) before += has[static_cast<size_t>(whole)] ? 1 : 0;
    }
    EXPECT_EQ(before, box.num_elements());
  }
}

}  // namespace
}  // namespace sinter
