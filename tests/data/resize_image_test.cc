#include "sinter/frontend/data/images/resize_image.h"

#include <cstdlib>
#include <vector>

#include "sinter/tests/data/image_bytes.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

// Values of Pillow 13.0: Image.fromarray(pattern).resize((width, height), Image.BILINEAR). Pillow rounds
// between the two passes, so a value may differ by one.
void ExpectResized(int64_t height, int64_t width, int64_t to_height, int64_t to_width,
                   const std::vector<int>& expected) {
  ASSERT_OK_AND_ASSIGN(const HostTensor resized, ResizeImage(Pattern(1, height, width), to_height, to_width));
  const std::vector<uint8_t> values = Values<uint8_t>(resized);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1) << i;
}

TEST(ResizeImageTest, EqualsPillow) {
  ExpectResized(7, 9, 4, 5, {53,  113, 150, 110, 71,  143, 156, 110, 121, 152,
                             136, 92,  158, 119, 117, 104, 139, 121, 129, 141});
  ExpectResized(3, 4, 5, 7,
                {0,   13,  34,  56, 77,  98,  111, 24,  37,  59,  81,  103, 125, 138, 59,  73,  96, 119,
                 142, 165, 179, 94, 109, 133, 157, 181, 205, 220, 118, 133, 158, 183, 207, 232, 247});
  ExpectResized(16, 12, 3, 2, {125, 130, 120, 133, 124, 125});
}

TEST(ResizeImageTest, ChannelsAndTypes) {
  ASSERT_OK_AND_ASSIGN(const HostTensor three, ResizeImage(Pattern(3, 7, 9), 4, 5));
  ASSERT_OK_AND_ASSIGN(const HostTensor one, ResizeImage(Pattern(1, 7, 9), 4, 5));
  const std::vector<uint8_t> all = Values<uint8_t>(three);
  EXPECT_EQ(std::vector<uint8_t>(all.begin(), all.begin() + 20), Values<uint8_t>(one));
  const HostTensor floats = Tensor<float>({1, 1, 4}, {0, 1, 2, 7});
  EXPECT_THAT(Values<float>(*ResizeImage(floats, 1, 2)),
              ElementsAre(testing::FloatNear(5 / 7.0f, 1e-6f), testing::FloatNear(4.0f, 1e-6f)));
  EXPECT_EQ(ResizeShorterSide(Pattern(3, 20, 31), 10)->ToString(), "u8[3,10,15]");
  EXPECT_EQ(ResizeShorterSide(Pattern(3, 31, 20), 10)->ToString(), "u8[3,15,10]");
}

TEST(ResizeImageTest, CropAndFlip) {
  const HostTensor image = Tensor<uint8_t>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Values<uint8_t>(*CropImage(image, 1, 1, 1, 2)), ElementsAre(5, 6));
  EXPECT_THAT(Values<uint8_t>(*CropImage(image, -1, 1, 2, 3)), ElementsAre(0, 0, 0, 2, 3, 0));
  EXPECT_THAT(Values<uint8_t>(*CropImage(image, 5, 5, 1, 2)), ElementsAre(0, 0));
  EXPECT_THAT(Values<uint8_t>(*FlipImage(image)), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(Values<float>(*FlipImage(Tensor<float>({1, 1, 2}, {0.5f, 1}))), ElementsAre(1, 0.5f));
}

TEST(ResizeImageTest, Errors) {
  const HostTensor image = Pattern(1, 2, 2);
  EXPECT_ERROR(ResizeImage(image, 0, 2), StatusCode::kInvalidArgument,
               "ResizeImage is asked for 0 x 2 pixels");
  EXPECT_ERROR(CropImage(image, 0, 0, 1, -1), StatusCode::kInvalidArgument,
               "CropImage is asked for 1 x -1 pixels");
  EXPECT_ERROR(FlipImage(Tensor<int32_t>({1, 1, 1}, {1})), StatusCode::kInvalidArgument,
               "FlipImage takes an image, u8 or f32 [channels, height, width]; it was given i32[1,1,1]");
  EXPECT_ERROR(ResizeImage(Tensor<float>({2}, {1, 2}), 1, 1), StatusCode::kInvalidArgument,
               "it was given f32[2]");
}

}  // namespace
}  // namespace sinter::data
