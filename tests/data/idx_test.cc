#include "sinter/frontend/data/idx.h"

#include <string>
#include <vector>

#include "sinter/runtime/formats/file.h"
#include "sinter/tests/data/gzip_bytes.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

using testing::ElementsAre;

std::string Idx(int type, const std::vector<uint32_t>& shape, const std::string& data) {
  std::string bytes = {0, 0, static_cast<char>(type), static_cast<char>(shape.size())};
  for (const uint32_t size : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  }
  return bytes + data;
}

absl::StatusOr<HostTensor> Parse(const std::string& bytes) { return ParseIdx(AsBytes(bytes), "t"); }

TEST(IdxTest, ReadsEveryElementType) {
  using namespace std::string_literals;
  EXPECT_THAT(Values<uint8_t>(Parse(Idx(0x08, {2, 1}, "\x01\xff"s)).value()), ElementsAre(1, 255));
  EXPECT_THAT(Values<int8_t>(Parse(Idx(0x09, {2}, "\x01\xff"s)).value()), ElementsAre(1, -1));
  EXPECT_THAT(Values<int32_t>(Parse(Idx(0x0b, {2}, "\x01\x02\xff\xfe"s)).value()), ElementsAre(258, -2));
  EXPECT_THAT(Values<int32_t>(Parse(Idx(0x0c, {1}, "\x01\x02\x03\x04"s)).value()), ElementsAre(0x01020304));
  EXPECT_THAT(Values<float>(Parse(Idx(0x0d, {1}, "\x3f\xc0\0\0"s)).value()), ElementsAre(1.5f));
  EXPECT_THAT(Values<double>(Parse(Idx(0x0e, {1}, "\xbf\xf8\0\0\0\0\0\0"s)).value()), ElementsAre(-1.5));
  EXPECT_EQ(Parse(Idx(0x08, {2, 0, 3}, ""))->ToString(), "u8[2,0,3]");
  EXPECT_EQ(Parse(Idx(0x08, {}, "x"))->ToString(), "u8[]");
}

TEST(IdxTest, WidensLongInt16Files) {
  std::string data;
  for (int i = 0; i < 5000; ++i) data += {static_cast<char>(i >> 8), static_cast<char>(i)};
  const std::vector<int32_t> values = Values<int32_t>(Parse(Idx(0x0b, {5000}, data)).value());
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[4999], 4999);
}

TEST(IdxTest, ReadsGzipOfOneAndSeveralMembers) {
  const std::string plain = Idx(0x08, {2, 2, 3}, "abcdefghijkl");
  EXPECT_EQ(Values<uint8_t>(Parse(Gzip(plain)).value())[11], 'l');
  EXPECT_EQ(Values<uint8_t>(Parse(Gzip(plain.substr(0, 20)) + Gzip(plain.substr(20))).value())[11], 'l');
}

TEST(IdxTest, EveryTruncationIsAnError) {
  const std::string plain = Idx(0x08, {2, 2, 3}, "abcdefghijkl");
  for (const std::string& whole : {plain, Gzip(plain)}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_EQ(Parse(whole.substr(0, size)).status().code(), absl::StatusCode::kDataLoss) << size;
    }
  }
  EXPECT_ERROR(Parse(plain.substr(0, 20)), absl::StatusCode::kDataLoss,
               "t: IDX file cut short: its header declares u8[2,2,3], 12 bytes, but at most 4 can follow");
  EXPECT_ERROR(Parse(Gzip(plain.substr(0, 20))), absl::StatusCode::kDataLoss, "ends 8 bytes early");
}

TEST(IdxTest, TrailingBytesAreAnError) {
  const std::string plain = Idx(0x08, {3}, "abc");
  EXPECT_ERROR(Parse(plain + "de"), absl::StatusCode::kDataLoss, "2 bytes follow the last element");
  EXPECT_ERROR(Parse(Gzip(plain + "d")), absl::StatusCode::kDataLoss,
               "goes on where it should end (after 11");
  EXPECT_ERROR(Parse(Gzip(plain) + "de"), absl::StatusCode::kDataLoss,
               "followed by 2 bytes that are not gzip");
}

TEST(IdxTest, DamagedGzipIsFoundByItsChecksum) {
  std::string bytes = Gzip(Idx(0x08, {3}, "abc"));
  bytes[bytes.size() - 6] ^= 1;
  EXPECT_ERROR(Parse(bytes), absl::StatusCode::kDataLoss, "is damaged: incorrect data check");
}

TEST(IdxTest, WrongMagic) {
  EXPECT_ERROR(Parse("PNG?"), absl::StatusCode::kDataLoss,
               "no IDX file: it begins with 0x504e473f; images begin with 0x00000803");
  EXPECT_ERROR(Parse(Idx(0x0a, {1}, "x")), absl::StatusCode::kDataLoss,
               "no IDX file: it begins with 0x00000a01");
}

// The reader must reject each file before it allocates the claimed size.
TEST(IdxTest, SizesThatTheFileCannotHold) {
  EXPECT_ERROR(Parse(Idx(0x0e, {0xffffffff, 0xffffffff, 2}, "")), absl::StatusCode::kInvalidArgument,
               "more bytes than 64 bits can count");
  EXPECT_ERROR(Parse(Idx(0x08, {0xffffffff, 0x7fffffff}, "")), absl::StatusCode::kDataLoss,
               "but at most 0 can follow");
  EXPECT_ERROR(Parse(Gzip(Idx(0x08, {0xffffffff, 0x7fffffff}, ""))), absl::StatusCode::kDataLoss,
               "but at most");
  EXPECT_ERROR(Parse(Idx(0x08, std::vector<uint32_t>(9, 1), "x")), absl::StatusCode::kInvalidArgument,
               "rank 9");
  // A bomb: the compressed data is far larger than the header declares.
  EXPECT_ERROR(Parse(Gzip(Idx(0x08, {3}, std::string(1 << 24, 'a')))), absl::StatusCode::kDataLoss,
               "goes on where it should end");
}

TEST(IdxTest, ImagesAndLabelsAreToldApart) {
  ScratchFolder folder;
  const std::string images = folder.Write("images", Idx(0x08, {1, 2, 2}, "abcd"));
  const std::string labels = folder.Write("labels", Idx(0x08, {2}, "ab"));
  EXPECT_EQ(ReadIdxImages(images)->ToString(), "u8[1,2,2]");
  EXPECT_EQ(ReadIdxLabels(labels)->ToString(), "u8[2]");
  EXPECT_ERROR(ReadIdxImages(labels), absl::StatusCode::kInvalidArgument,
               labels + ": u8 images of rank 3 were expected, it holds u8[2], which are labels");
  EXPECT_ERROR(ReadIdxLabels(images), absl::StatusCode::kInvalidArgument,
               "it holds u8[1,2,2], which are images");
  EXPECT_ERROR(ReadIdx(folder.File("none")), absl::StatusCode::kNotFound, "No such file");
}

}  // namespace
}  // namespace sinter
