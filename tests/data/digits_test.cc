#include "sinter/frontend/data/digits.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sinter/tests/data/scratch_folder.h"
#include "zlib.h"

namespace sinter {
namespace {

TEST(DigitsTest, ShapesAndLabels) {
  ASSERT_OK_AND_ASSIGN(const ImageSet set, DrawDigits(1000, 1));
  EXPECT_EQ(set.images.ToString(), "u8[1000,28,28]");
  EXPECT_EQ(set.labels.ToString(), "u8[1000]");
  std::array<int, 10> counts = {};
  for (const uint8_t label : Values<uint8_t>(set.labels)) {
    ASSERT_LT(label, 10);
    ++counts[label];
  }
  for (const int count : counts) EXPECT_GT(count, 60);
  EXPECT_EQ(DrawDigits(0, 1)->images.ToString(), "u8[0,28,28]");
  EXPECT_ERROR(DrawDigits(-1, 1), absl::StatusCode::kInvalidArgument, "cannot draw -1 digits");
}

TEST(DigitsTest, DependsOnSeedAndIndexOnly) {
  const std::vector<uint8_t> few = Values<uint8_t>(DrawDigits(10, 1)->images);
  std::vector<uint8_t> many = Values<uint8_t>(DrawDigits(20, 1)->images);
  many.resize(few.size());
  EXPECT_EQ(few, many);
  EXPECT_NE(few, Values<uint8_t>(DrawDigits(10, 2)->images));
}

// Every compiler and machine must draw the same bytes.
TEST(DigitsTest, BytesAreFixed) {
  const std::vector<uint8_t> images = Values<uint8_t>(DrawDigits(1000, 42)->images);
  EXPECT_EQ(crc32(0, images.data(), images.size()), 2378736434u);
}

// The images vary but have structure: the nearest mean image classifies most unseen digits correctly.
TEST(DigitsTest, ClassesCanBeLearned) {
  const ImageSet train = DrawDigits(2000, 1).value();
  const ImageSet test = DrawDigits(500, 2).value();
  const std::vector<uint8_t> pixels = Values<uint8_t>(train.images);
  const std::vector<uint8_t> labels = Values<uint8_t>(train.labels);
  std::vector<std::array<double, 784>> means(10);
  std::array<int, 10> counts = {};
  for (size_t i = 0; i < labels.size(); ++i) ++counts[labels[i]];
  for (size_t i = 0; i < pixels.size(); ++i) {
    means[labels[i / 784]][i % 784] += static_cast<double>(pixels[i]) / counts[labels[i / 784]];
  }
  const std::vector<uint8_t> test_pixels = Values<uint8_t>(test.images);
  const std::vector<uint8_t> test_labels = Values<uint8_t>(test.labels);
  int correct = 0;
  for (size_t i = 0; i < test_labels.size(); ++i) {
    int best = 0;
    double best_distance = std::numeric_limits<double>::max();
    for (int digit = 0; digit < 10; ++digit) {
      double distance = 0;
      for (int p = 0; p < 784; ++p) {
        const double difference = means[digit][p] - test_pixels[i * 784 + p];
        distance += difference * difference;
      }
      if (distance < best_distance) best = digit;
      best_distance = std::min(best_distance, distance);
    }
    correct += best == test_labels[i] ? 1 : 0;
  }
  EXPECT_GT(correct, 375);
  EXPECT_LT(correct, 500);
}

}  // namespace
}  // namespace sinter
