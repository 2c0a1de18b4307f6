#include "sinter/frontend/data/images/decode_image.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "sinter/runtime/formats/file.h"
#include "sinter/tests/data/image_bytes.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;

absl::StatusOr<HostTensor> Decode(const std::string& bytes, const DecodeOptions& options = {}) {
  return DecodeImage(AsBytes(bytes), "a.img", options);
}

int LargestDifference(const HostTensor& a, const HostTensor& b) {
  const std::vector<uint8_t> x = Values<uint8_t>(a), y = Values<uint8_t>(b);
  int largest = x.size() == y.size() ? 0 : 999;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

TEST(DecodeImageTest, PngIsExact) {
  for (const int64_t channels : {1, 3}) {
    const HostTensor image = Pattern(channels, 5, 7);
    for (const bool has_alpha : {false, true}) {
      if (has_alpha && channels == 1) continue;
      ASSERT_OK_AND_ASSIGN(const HostTensor decoded,
                           Decode(PngOf(image, has_alpha), {.channels = static_cast<int>(channels)}));
      EXPECT_EQ(decoded.ToString(), image.ToString());
      EXPECT_EQ(Values<uint8_t>(decoded), Values<uint8_t>(image));
    }
  }
}

TEST(DecodeImageTest, GreyAndColour) {
  ASSERT_OK_AND_ASSIGN(const HostTensor colour, Decode(PngOf(Pattern(1, 2, 2))));
  const std::vector<uint8_t> plane = Values<uint8_t>(Pattern(1, 2, 2)), three = Values<uint8_t>(colour);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(three[i], plane[i % 4]);
  const HostTensor red_green_blue = Tensor<uint8_t>({3, 1, 3}, {255, 0, 0, 0, 255, 0, 0, 0, 255});
  ASSERT_OK_AND_ASSIGN(const HostTensor grey, Decode(PngOf(red_green_blue), {.channels = 1}));
  EXPECT_THAT(Values<uint8_t>(grey), testing::ElementsAre(76, 150, 29));  // Pillow's convert("L").
}

TEST(DecodeImageTest, JpegIsNear) {
  for (const int64_t channels : {1, 3}) {
    const HostTensor image = Ramp(channels, 33, 41);
    ASSERT_OK_AND_ASSIGN(const HostTensor decoded,
                         Decode(JpegOf(image), {.channels = static_cast<int>(channels)}));
    EXPECT_EQ(decoded.ToString(), image.ToString());
    EXPECT_LE(LargestDifference(decoded, image), 3);
  }
}

// A photograph that is resized anyway is decoded at the smallest scale that is large enough.
TEST(DecodeImageTest, JpegAtASmallerScale) {
  const std::string jpeg = JpegOf(Ramp(3, 80, 120));
  EXPECT_EQ(Decode(jpeg, {.shorter_side = 80})->ToString(), "u8[3,80,120]");
  EXPECT_EQ(Decode(jpeg, {.shorter_side = 41})->ToString(), "u8[3,80,120]");
  EXPECT_EQ(Decode(jpeg, {.shorter_side = 40})->ToString(), "u8[3,40,60]");
  EXPECT_EQ(Decode(jpeg, {.shorter_side = 11})->ToString(), "u8[3,20,30]");
  EXPECT_EQ(Decode(jpeg, {.shorter_side = 1})->ToString(), "u8[3,10,15]");
  EXPECT_LE(LargestDifference(*Decode(jpeg, {.shorter_side = 1}), Ramp(3, 10, 15)), 6);
}

TEST(DecodeImageTest, DamagedFiles) {
  const std::string png = PngOf(Pattern(3, 20, 20)), jpeg = JpegOf(Pattern(3, 64, 64));
  for (const size_t kept : {9u, 40u, 100u}) {
    EXPECT_ERROR(Decode(png.substr(0, kept)), StatusCode::kDataLoss, "a.img: damaged PNG: ");
  }
  for (const size_t kept : {4u, 100u, 2000u}) {
    EXPECT_ERROR(Decode(jpeg.substr(0, kept)), StatusCode::kDataLoss, "a.img: damaged JPEG: ");
  }
  std::string flipped = png;
  flipped[png.size() / 2] = static_cast<char>(flipped[png.size() / 2] ^ 0x10);
  EXPECT_ERROR(Decode(flipped), StatusCode::kDataLoss, "damaged PNG");
  EXPECT_ERROR(Decode(""), StatusCode::kInvalidArgument, "a.img: no JPEG or PNG image: it has 0 bytes");
  EXPECT_ERROR(Decode("GIF89a..."), StatusCode::kInvalidArgument, "it has 9 bytes and begins otherwise");
}

TEST(DecodeImageTest, Limits) {
  EXPECT_ERROR(Decode(PngOf(Pattern(3, 20, 20)), {.channels = 4}), StatusCode::kInvalidArgument,
               "decoded to 1 or 3 channels, not to 4");
  for (const std::string& bytes : {PngOf(Pattern(3, 20, 30)), JpegOf(Pattern(3, 20, 30))}) {
    EXPECT_ERROR(Decode(bytes, {.max_pixels = 599}), StatusCode::kResourceExhausted,
                 "a.img: the image has 20 x 30 pixels, the limit is 599");
    EXPECT_TRUE(Decode(bytes, {.max_pixels = 600}).ok());
  }
}

TEST(DecodeImageTest, JpegInCmyk) {
  const std::vector<uint8_t> pixels(16 * 16 * 4, 100);
  tjhandle handle = tjInitCompress();
  unsigned char* out = nullptr;
  unsigned long size = 0;
  ASSERT_EQ(tjCompress2(handle, pixels.data(), 16, 0, 16, TJPF_CMYK, &out, &size, TJSAMP_444, 90, 0), 0);
  const std::string bytes(reinterpret_cast<char*>(out), size);
  tjFree(out);
  tjDestroy(handle);
  EXPECT_ERROR(Decode(bytes), StatusCode::kUnimplemented, "a.img: a JPEG in CMYK; convert it to RGB");
}

TEST(ReadImageTest, NamesTheFile) {
  const ScratchFolder scratch;
  const HostTensor image = Pattern(3, 4, 6);
  ASSERT_OK_AND_ASSIGN(const HostTensor read, ReadImage(scratch.Write("a.png", PngOf(image))));
  EXPECT_EQ(Values<uint8_t>(read), Values<uint8_t>(image));
  EXPECT_ERROR(ReadImage(scratch.Write("b.png", "x")), StatusCode::kInvalidArgument,
               "b.png: no JPEG or PNG image");
  EXPECT_ERROR(ReadImage(scratch.File("c.png")), StatusCode::kNotFound, "c.png");
}

}  // namespace
}  // namespace sinter::data
