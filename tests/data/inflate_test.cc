#include "sinter/runtime/formats/inflate.h"

#include <string>

#include "sinter/runtime/formats/file.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

// A raw deflate stream (RFC 1951) with one stored block: last-block flag, length 3, its complement, 3 bytes.
const std::string kStored(
    "\x01\x03\x00\xfc\xff"
    "abc",
    8);

// Reads `count` bytes of the stream and returns an error unless the stream ends there.
absl::Status ReadAndFinish(const std::string& stream, size_t count) {
  Inflater inflater(Inflater::Format::kRawDeflate, AsBytes(stream), "t");
  std::string out(count, '\0');
  absl::Status status = inflater.Read(std::as_writable_bytes(std::span(out)));
  if (!status.ok()) return status;
  EXPECT_EQ(out, std::string("abc").substr(0, count));
  return inflater.Finish();
}

TEST(InflateTest, ReadsAStoredBlock) { ASSERT_OK(ReadAndFinish(kStored, 3)); }

TEST(InflateTest, ErrorsSayWhereTheStreamGoesWrong) {
  const auto bad = [](const std::string& stream, size_t count, const std::string& text) {
    EXPECT_ERROR(ReadAndFinish(stream, count), absl::StatusCode::kDataLoss, text);
  };
  bad(kStored.substr(0, 7), 3, "t: compressed data ends early (after 2 inflated bytes)");
  bad("", 1, "t: compressed data ends early (after 0 inflated bytes)");
  bad(kStored, 4, "t: compressed data ends 1 bytes early (after 3 inflated bytes)");
  bad(kStored, 2, "t: compressed data goes on where it should end (after 2 inflated bytes)");
  bad(kStored + "xy", 3, "t: compressed data is followed by 2 bytes (after 3 inflated bytes)");
  bad("\x07", 1, "t: compressed data is damaged: invalid block type");
}

}  // namespace
}  // namespace sinter
