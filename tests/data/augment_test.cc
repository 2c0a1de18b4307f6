#include "sinter/frontend/data/images/augment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sinter/frontend/data/images/resize_image.h"
#include "sinter/tests/data/image_bytes.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

absl::StatusOr<HostTensor> Apply(const MapFunction& map, const HostTensor& image, uint64_t seed = 1) {
  Example example;
  example.fields.push_back(image.Clone().value());
  SplitMix bits(seed);
  SINTER_ASSIGN_OR_RETURN(example, map(std::move(example), bits));
  return std::move(example.fields[0]);
}

TEST(AugmentTest, RandomCropTakesEachPlaceEquallyOften) {
  const HostTensor image = Pattern(2, 3, 4);
  std::map<std::vector<uint8_t>, int> places;
  for (int64_t top = -1; top <= 2; ++top) {
    for (int64_t left = -1; left <= 3; ++left)
      places[Values<uint8_t>(*CropImage(image, top, left, 2, 2))] = 0;
  }
  ASSERT_EQ(places.size(), 20u);
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const auto found = places.find(Values<uint8_t>(*Apply(RandomCrop(2, {.padding = 1}), image, seed)));
    ASSERT_NE(found, places.end());
    ++found->second;
  }
  for (const auto& [pixels, count] : places) EXPECT_NEAR(count, 200, 60);  // Four standard deviations.
  EXPECT_ERROR(Apply(RandomCrop(6, {.padding = 1}), image), StatusCode::kInvalidArgument,
               "RandomCrop cannot take 6 x 6 pixels of u8[2,3,4] with padding 1; resize the image before");
  EXPECT_ERROR(Apply(RandomCrop(0), image), StatusCode::kInvalidArgument, "RandomCrop's size is 0");
}

TEST(AugmentTest, CenterCropAndResize) {
  EXPECT_EQ(Values<uint8_t>(*Apply(CenterCrop(2), Pattern(1, 4, 5))),
            Values<uint8_t>(*CropImage(Pattern(1, 4, 5), 1, 1, 2, 2)));
  EXPECT_EQ(Values<uint8_t>(*Apply(CenterCrop(4), Pattern(1, 2, 4))),
            Values<uint8_t>(*CropImage(Pattern(1, 2, 4), -1, 0, 4, 4)));
  EXPECT_EQ(Apply(ResizeTo(2, 3), Pattern(1, 4, 5))->ToString(), "u8[1,2,3]");
  EXPECT_EQ(Apply(ResizeShorter(2), Pattern(1, 4, 6))->ToString(), "u8[1,2,3]");
}

TEST(AugmentTest, FlipHalfOfTheImages) {
  const HostTensor image = Pattern(1, 2, 3);
  const std::vector<uint8_t> same = Values<uint8_t>(image), turned = Values<uint8_t>(*FlipImage(image));
  int flipped = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const std::vector<uint8_t> pixels = Values<uint8_t>(*Apply(Flip(), image, seed));
    ASSERT_TRUE(pixels == same || pixels == turned);
    flipped += pixels == turned ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 500, 64);
  EXPECT_EQ(Values<uint8_t>(*Apply(Flip({.probability = 1}), image)), turned);
  EXPECT_EQ(Values<uint8_t>(*Apply(Flip({.probability = 0}), image)), same);
  EXPECT_ERROR(Apply(Flip({.probability = 1.5}), image), StatusCode::kInvalidArgument,
               "Flip's probability is 1.5");
}

TEST(AugmentTest, NormalizeByChannel) {
  const HostTensor floats = Tensor<float>({2, 1, 2}, {0, 1, 0.5f, 0.25f});
  EXPECT_THAT(Values<float>(*Apply(Normalize({0.5, 0.25}, {0.5, 0.25}), floats)), ElementsAre(-1, 1, 1, 0));
  const HostTensor bytes = Tensor<uint8_t>({1, 1, 2}, {0, 255});
  EXPECT_THAT(Values<float>(*Apply(Normalize({0.5}, {0.25}), bytes)), ElementsAre(-2, 2));
  EXPECT_THAT(Values<float>(*Apply(ToFloat(), bytes)), ElementsAre(0, 1));
  EXPECT_THAT(Values<float>(*Apply(ToFloat(), floats)), ElementsAre(0, 1, 0.5f, 0.25f));
  EXPECT_ERROR(Apply(Normalize({0.5}, {0.5}), floats), StatusCode::kInvalidArgument,
               "it has 1 means and 1 deviations for f32[2,1,2]");
  EXPECT_ERROR(Apply(Normalize({0.5}, {0}), bytes), StatusCode::kInvalidArgument, "a deviation above 0");
}

TEST(AugmentTest, CutoutClearsASquare) {
  const HostTensor ones = Tensor<float>({2, 5, 6}, std::vector<float>(60, 1));
  std::set<int> cleared;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<float> pixels = Values<float>(*Apply(Cutout(3), ones, seed));
    const auto zeros = std::count(pixels.begin(), pixels.begin() + 30, 0.0f);
    EXPECT_EQ(std::count(pixels.begin() + 30, pixels.end(), 0.0f), zeros);
    cleared.insert(static_cast<int>(zeros));
  }
  EXPECT_EQ(cleared, std::set<int>({4, 6, 9}));  // In a corner, at an edge, inside.
  EXPECT_ERROR(Apply(Cutout(0), ones), StatusCode::kInvalidArgument, "Cutout's size is 0");
}

TEST(AugmentTest, RandomResizedCropStaysInItsRanges) {
  // A pixel's value is its place, so the corners of a crop that is not resized much show the rectangle.
  std::vector<float> places;
  for (int y = 0; y < 60; ++y) {
    for (int x = 0; x < 80; ++x) places.push_back(static_cast<float>(x));
  }
  for (int y = 0; y < 60; ++y) {
    for (int x = 0; x < 80; ++x) places.push_back(static_cast<float>(y));
  }
  const HostTensor image = Tensor<float>({2, 60, 80}, places);
  double smallest = 1, largest = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const std::vector<float> crop = Values<float>(*Apply(RandomResizedCrop(100), image, seed));
    // The middle half of the crop is half of the rectangle, untouched by edges.
    const double width = 2 * (crop[75] - crop[25]),
                 height = 2 * (crop[10000 + 75 * 100] - crop[10000 + 25 * 100]);
    const double area = width * height / 4800;
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
    EXPECT_GT(width / height, 0.6);
    EXPECT_LT(width / height, 1.6);
  }
  EXPECT_NEAR(smallest, 0.08, 0.03);
  EXPECT_GT(largest, 0.8);
  const RandomResizedCropOptions narrow = {.min_area = 1, .max_area = 1, .min_ratio = 0.1, .max_ratio = 0.1};
  EXPECT_EQ(Apply(RandomResizedCrop(4, narrow), image)->ToString(), "f32[2,4,4]");  // No rectangle fits.
  EXPECT_ERROR(Apply(RandomResizedCrop(4, {.min_area = 0}), image), StatusCode::kInvalidArgument,
               "0 < min_area");
  EXPECT_ERROR(Apply(RandomResizedCrop(4, {.min_ratio = 2}), image), StatusCode::kInvalidArgument,
               "ratios 2 to 1.333");
}

// The hue of HSV in sixths of the circle, and its highest and lowest channel.
struct Hsv {
  double hue, high, low;
};
Hsv HsvOf(double r, double g, double b) {
  const double high = std::max({r, g, b}), low = std::min({r, g, b}), range = high - low;
  double hue = high == r ? (g - b) / range : high == g ? 2 + (b - r) / range : 4 + (r - g) / range;
  if (hue < 0) hue += 6;
  return {hue, high, low};
}

TEST(ColorJitterTest, HueTurnsAllPixelsAlike) {
  const std::vector<float> rgb = {0.9f, 0.1f, 0.3f, 0.2f, 0.2f, 0.8f, 0.4f, 0.4f, 0.1f, 0.3f, 0.7f, 0.4f};
  const HostTensor image = Tensor<float>({3, 1, 4}, rgb);
  std::set<int> turns;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<float> out = Values<float>(*Apply(ColorJitter({.hue = 0.3}), image, seed));
    double turn = -1;
    for (size_t i = 0; i < 4; ++i) {
      const Hsv before = HsvOf(rgb[i], rgb[4 + i], rgb[8 + i]), after = HsvOf(out[i], out[4 + i], out[8 + i]);
      EXPECT_NEAR(after.high, before.high, 1e-5);
      EXPECT_NEAR(after.low, before.low, 1e-5);
      double here = std::fmod(after.hue - before.hue + 9, 6) - 3;
      if (i == 0) turn = here;
      EXPECT_NEAR(here, turn, 1e-4);
    }
    EXPECT_LE(std::abs(turn), 6 * 0.3 + 1e-4);
    turns.insert(static_cast<int>(turn * 10));
  }
  EXPECT_GT(turns.size(), 15u);
}

TEST(ColorJitterTest, BrightnessContrastAndSaturation) {
  const std::vector<float> rgb = {0.5f, 0.25f, 0.25f, 0.5f, 0.25f, 0.75f};
  const HostTensor image = Tensor<float>({3, 1, 2}, rgb);
  const auto grey = [&](const std::vector<float>& v, size_t i) {
    return 0.299 * v[i] + 0.587 * v[2 + i] + 0.114 * v[4 + i];
  };
  const double mean = (grey(rgb, 0) + grey(rgb, 1)) / 2;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> bright = Values<float>(*Apply(ColorJitter({.brightness = 0.2}), image, seed));
    const std::vector<float> contrast = Values<float>(*Apply(ColorJitter({.contrast = 0.2}), image, seed));
    const std::vector<float> saturated = Values<float>(*Apply(ColorJitter({.saturation = 0.2}), image, seed));
    const double factor = bright[0] / rgb[0];
    EXPECT_GE(factor, 0.8 - 1e-6);
    EXPECT_LE(factor, 1.2 + 1e-6);
    for (size_t i = 0; i < 6; ++i) {  // Alone, each draws the same factor.
      EXPECT_NEAR(bright[i], rgb[i] * factor, 1e-6);
      EXPECT_NEAR(contrast[i], mean + (rgb[i] - mean) * factor, 1e-6);
      EXPECT_NEAR(saturated[i], grey(rgb, i % 2) + (rgb[i] - grey(rgb, i % 2)) * factor, 1e-6);
    }
  }
}

TEST(ColorJitterTest, BytesStayInRange) {
  const HostTensor image = Pattern(3, 8, 8);
  const ColorJitterOptions strong = {.brightness = 2, .contrast = 2, .saturation = 2, .hue = 0.5};
  ASSERT_OK_AND_ASSIGN(const HostTensor out, Apply(ColorJitter(strong), image));
  EXPECT_EQ(out.ToString(), "u8[3,8,8]");
  EXPECT_NE(Values<uint8_t>(out), Values<uint8_t>(image));
  EXPECT_EQ(Values<uint8_t>(*Apply(ColorJitter({}), image)), Values<uint8_t>(image));
  EXPECT_EQ(Apply(ColorJitter({.brightness = 0.5, .contrast = 0.5}), Pattern(1, 2, 2))->ToString(),
            "u8[1,2,2]");
  EXPECT_ERROR(Apply(ColorJitter({.hue = 0.1}), Pattern(1, 2, 2)), StatusCode::kInvalidArgument,
               "takes images of 3 channels, or of 1 without saturation and hue");
  EXPECT_ERROR(Apply(ColorJitter({.hue = 0.6}), image), StatusCode::kInvalidArgument, "hue in [0, 0.5]");
  EXPECT_ERROR(Apply(ColorJitter({.contrast = -1}), image), StatusCode::kInvalidArgument, "at least 0");
}

TEST(AugmentTest, FieldsThatAreNoImages) {
  EXPECT_ERROR(Apply(Flip({.field = 1}), Pattern(1, 2, 2)), StatusCode::kInvalidArgument,
               "Flip is to change field 1, but the example has 1 fields");
  EXPECT_ERROR(Apply(Cutout(2), Tensor<float>({4}, {1, 2, 3, 4})), StatusCode::kInvalidArgument,
               "Cutout takes an image, u8 or f32 [channels, height, width]; it was given f32[4]");
}

}  // namespace
}  // namespace sinter::data
