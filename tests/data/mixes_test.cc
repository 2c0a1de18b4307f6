#include "sinter/frontend/data/images/mixes.h"

#include <cmath>
#include <utility>
#include <vector>

#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;

constexpr int64_t kRows = 4, kExamples = 3, kPixels = 2 * 5 * 6;

// Image i is constant i + 1, label i; the last row is padding.
std::vector<HostTensor> MixedBatch() {
  std::vector<float> pixels;
  for (int64_t i = 0; i < kRows; ++i)
    pixels.insert(pixels.end(), kPixels, i < kExamples ? static_cast<float>(i + 1) : 0);
  std::vector<HostTensor> batch;
  batch.push_back(Tensor<float>({kRows, 2, 5, 6}, pixels));
  batch.push_back(Tensor<int32_t>({kRows}, {0, 1, 2, 0}));
  return batch;
}

// Labels are a share of the own class and of one other; the sum of pixels is that of the shares.
void CheckShares(const std::vector<HostTensor>& batch) {
  const std::vector<float> pixels = Values<float>(batch[0]), shares = Values<float>(batch[1]);
  EXPECT_EQ(batch[1].ToString(), "f32[4,3]");
  for (size_t row = 0; row < static_cast<size_t>(kRows); ++row) {
    double sum = 0, mean = 0, expected = 0;
    for (size_t c = 0; c < 3; ++c) sum += shares[row * 3 + c];
    for (size_t c = 0; c < 3; ++c) expected += shares[row * 3 + c] * static_cast<double>(c + 1);
    for (size_t i = 0; i < static_cast<size_t>(kPixels); ++i)
      mean += pixels[row * kPixels + i] / static_cast<double>(kPixels);
    EXPECT_NEAR(sum, row < static_cast<size_t>(kExamples) ? 1 : 0, 1e-6);
    EXPECT_NEAR(mean, expected, 1e-5);
  }
}

TEST(MixesTest, MixupMixesPixelsAndLabels) {
  double sum = 0, squares = 0;
  int mixed = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SplitMix bits(seed);
    ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> batch,
                         Mixup(3, {.alpha = 0.4})(MixedBatch(), kExamples, bits));
    if (seed < 20) CheckShares(batch);
    const std::vector<float> pixels = Values<float>(batch[0]);
    for (size_t i = 1; i < static_cast<size_t>(kPixels); ++i) ASSERT_EQ(pixels[i], pixels[0]);
    const double share = Values<float>(batch[1])[0];
    if (share == 1) continue;  // Its own partner.
    ++mixed;
    sum += share;
    squares += (share - 0.5) * (share - 0.5);
  }
  // Beta(a, a) has mean 1/2 and variance 1 / (4 (2 a + 1)) = 0.139.
  EXPECT_NEAR(sum / mixed, 0.5, 0.04);
  EXPECT_NEAR(squares / mixed, 1 / (4 * 1.8), 0.012);
}

TEST(MixesTest, BetaOfLargeAlphaIsNarrow) {
  double squares = 0;
  int mixed = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SplitMix bits(seed);
    ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> batch,
                         Mixup(3, {.alpha = 5})(MixedBatch(), kExamples, bits));
    const double share = Values<float>(batch[1])[0];
    if (share == 1) continue;
    ++mixed;
    squares += (share - 0.5) * (share - 0.5);
  }
  EXPECT_NEAR(squares / mixed, 1 / (4 * 11.0), 0.003);
}

TEST(MixesTest, CutMixPastesARectangle) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SplitMix bits(seed);
    ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> batch, CutMix(3)(MixedBatch(), kExamples, bits));
    CheckShares(batch);
    const std::vector<float> pixels = Values<float>(batch[0]);
    int64_t top = 5, bottom = -1, left = 6, right = -1, count = 0;
    for (int64_t y = 0; y < 5; ++y) {
      for (int64_t x = 0; x < 6; ++x) {
        EXPECT_EQ(pixels[static_cast<size_t>(y * 6 + x)], pixels[static_cast<size_t>(30 + y * 6 + x)])
            << "channels differ";
        if (pixels[static_cast<size_t>(y * 6 + x)] == 1) continue;
        top = std::min(top, y), bottom = std::max(bottom, y), left = std::min(left, x),
        right = std::max(right, x);
        ++count;
      }
    }
    const int64_t expected = count > 0 ? (bottom - top + 1) * (right - left + 1) : 0;
    EXPECT_EQ(count, expected);
  }
}

TEST(MixesTest, Errors) {
  SplitMix bits(0);
  const auto mix = [&](const BatchMap& map, std::vector<HostTensor> batch) {
    return map(std::move(batch), kExamples, bits);
  };
  EXPECT_ERROR(mix(Mixup(3, {.alpha = 0}), MixedBatch()), StatusCode::kInvalidArgument, "Mixup's alpha is 0");
  EXPECT_ERROR(mix(CutMix(2), MixedBatch()), StatusCode::kInvalidArgument,
               "CutMix: row 2 has the label 2, but there are 2 classes");
  EXPECT_ERROR(mix(Mixup(3, {.label_field = 2}), MixedBatch()), StatusCode::kInvalidArgument,
               "labels in field 2, but a batch has 2 tensors");
  std::vector<HostTensor> bytes = MixedBatch();
  bytes[0] = Tensor<uint8_t>({4, 1}, {1, 2, 3, 4});
  EXPECT_ERROR(mix(Mixup(3), std::move(bytes)), StatusCode::kInvalidArgument,
               "Mixup takes f32 images, it was given u8[4,1]; convert them with ToFloat or Normalize");
  std::vector<HostTensor> flat = MixedBatch();
  flat[0] = Tensor<float>({4, 1}, {1, 2, 3, 4});
  EXPECT_ERROR(mix(CutMix(3), std::move(flat)), StatusCode::kInvalidArgument,
               "CutMix takes f32 images, it was given f32[4,1]");
  std::vector<HostTensor> labels = MixedBatch();
  labels[1] = Tensor<float>({4}, {1, 2, 3, 4});
  EXPECT_ERROR(mix(Mixup(3), std::move(labels)), StatusCode::kInvalidArgument,
               "takes labels i32 [rows], it was given f32[4]");
}

}  // namespace
}  // namespace sinter::data
