#include "sinter/frontend/data/tokens.h"

#include <cstring>
#include <string>
#include <vector>

#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

using testing::ElementsAre;

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string WithHeader(int32_t version, int32_t count, const std::vector<uint16_t>& tokens) {
  std::vector<int32_t> header(256, 0);
  header[0] = 20240520;
  header[1] = version;
  header[2] = count;
  return Bytes(header) + Bytes(tokens);
}

std::vector<int32_t> All(const TokenSet& set) {
  std::vector<int32_t> tokens(static_cast<size_t>(set.size()));
  const absl::Status status = set.CopyTo(0, tokens);
  EXPECT_TRUE(status.ok()) << status;
  return tokens;
}

TEST(TokensTest, ReadsBytesAndIds) {
  ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(TokenSet bytes, TokenSet::ReadBytes(folder.Write("t.txt", "a\xff")));
  EXPECT_THAT(All(bytes), ElementsAre('a', 255));
  EXPECT_EQ(bytes.Largest().value(), 255);
  ASSERT_OK_AND_ASSIGN(TokenSet plain, TokenSet::ReadU16(folder.Write("t.bin", Bytes<uint16_t>({7, 50256}))));
  EXPECT_THAT(All(plain), ElementsAre(7, 50256));
  ASSERT_OK_AND_ASSIGN(TokenSet ids,
                       TokenSet::ReadU16(folder.Write("h.bin", WithHeader(1, 3, {5, 65535, 6}))));
  EXPECT_THAT(All(ids), ElementsAre(5, 65535, 6));
  EXPECT_EQ(ids.Largest().value(), 65535);
}

TEST(TokensTest, ReadsIdsOf32Bits) {
  ScratchFolder folder;
  std::vector<int32_t> header(256, 0);
  header[0] = 20240801, header[1] = 7, header[2] = 2;
  const std::string tokens = Bytes<uint32_t>({128'000, 2'147'483'647});
  ASSERT_OK_AND_ASSIGN(TokenSet plain, TokenSet::ReadU32(folder.Write("t.bin", tokens)));
  EXPECT_THAT(All(plain), ElementsAre(128'000, 2'147'483'647));
  ASSERT_OK_AND_ASSIGN(TokenSet ids, TokenSet::ReadU32(folder.Write("h.bin", Bytes(header) + tokens)));
  EXPECT_THAT(All(ids), ElementsAre(128'000, 2'147'483'647));
  EXPECT_THAT(All(*ids.Part(1, 2)), ElementsAre(2'147'483'647));
  EXPECT_ERROR(TokenSet::ReadU16(folder.File("h.bin")), absl::StatusCode::kInvalidArgument,
               "has the header of tokens of 4 bytes, not of 2; use ReadU32");
  EXPECT_ERROR(TokenSet::ReadU32(folder.Write("s.bin", WithHeader(1, 1, {1}))),
               absl::StatusCode::kInvalidArgument,
               "has the header of tokens of 2 bytes, not of 4; use ReadU16");
  EXPECT_ERROR(TokenSet::ReadU32(folder.Write("o.bin", "abcdef")), absl::StatusCode::kDataLoss,
               "has 6 bytes, which is no number of tokens of 4 bytes");
  header[1] = 8;
  EXPECT_ERROR(TokenSet::ReadU32(folder.Write("v.bin", Bytes(header) + tokens)),
               absl::StatusCode::kUnimplemented,
               "has version 8 of llm.c's data files; u32 tokens are version 7");
  ASSERT_OK_AND_ASSIGN(TokenSet large,
                       TokenSet::ReadU32(folder.Write("l.bin", Bytes<uint32_t>({1, 0x80000000u}))));
  std::vector<int32_t> out(2);
  EXPECT_ERROR(large.CopyTo(0, out), absl::StatusCode::kDataLoss,
               "token 1 is 2147483648; ids are below 2^31");
}

TEST(TokensTest, RefusesWhatIsNoFileOfTokens) {
  ScratchFolder folder;
  EXPECT_ERROR(TokenSet::ReadBytes(folder.File("none")), absl::StatusCode::kNotFound, "none");
  EXPECT_ERROR(TokenSet::ReadBytes(folder.Write("e", "")), absl::StatusCode::kInvalidArgument, "is empty");
  EXPECT_ERROR(TokenSet::ReadU16(folder.Write("e", "")), absl::StatusCode::kInvalidArgument,
               "holds no tokens");
  EXPECT_ERROR(TokenSet::ReadU16(folder.Write("o", "abc")), absl::StatusCode::kDataLoss, "has 3 bytes");
  EXPECT_ERROR(TokenSet::ReadU16(folder.Write("v", WithHeader(7, 1, {1}))), absl::StatusCode::kUnimplemented,
               "version 7");
  EXPECT_ERROR(TokenSet::ReadU16(folder.Write("s", WithHeader(1, 3, {1, 2}))), absl::StatusCode::kDataLoss,
               "declares 3 tokens of 2 bytes, but 4 bytes follow");
  EXPECT_ERROR(TokenSet::ReadU16(folder.Write("n", WithHeader(1, -1, {1, 2}))), absl::StatusCode::kDataLoss,
               "declares -1 tokens");
  EXPECT_ERROR(TokenSet::ReadU16(folder.Write("z", WithHeader(1, 0, {}))), absl::StatusCode::kInvalidArgument,
               "holds no tokens");
  EXPECT_ERROR(TokenSet::FromVector({}), absl::StatusCode::kInvalidArgument, "at least one");
}

TEST(TokensTest, WindowsAreTheTextAndTheTextOneTokenOn) {
  ScratchFolder folder;
  for (bool of_bytes : {true, false}) {
    ASSERT_OK_AND_ASSIGN(TokenSet set, of_bytes ? TokenSet::ReadBytes(folder.Write("t", "\1\2\3\4\5\6\7"))
                                                : TokenSet::FromVector({1, 2, 3, 4, 5, 6, 7}));
    ASSERT_OK_AND_ASSIGN(set, set.Part(1, 7));
    EXPECT_THAT(All(set), ElementsAre(2, 3, 4, 5, 6, 7));
    ASSERT_OK_AND_ASSIGN(HostTensor x, HostTensor::Zeros(DType::kI32, {2, 2}));
    ASSERT_OK_AND_ASSIGN(HostTensor y, HostTensor::Zeros(DType::kI32, {2, 2}));
    ASSERT_OK(set.Read(1, x, y));
    EXPECT_THAT(Values<int32_t>(x), ElementsAre(3, 4, 5, 6));
    EXPECT_THAT(Values<int32_t>(y), ElementsAre(4, 5, 6, 7));
    EXPECT_ERROR(set.Read(2, x, y), absl::StatusCode::kInvalidArgument, "leave the 6 tokens");
    EXPECT_ERROR(set.Read(-1, x, y), absl::StatusCode::kInvalidArgument, "tokens -1 to 3");
    std::vector<int> seen(8, 0);
    for (uint64_t stream = 0; stream < 50; ++stream) {
      SplitMix bits(1, stream), again(1, stream);
      ASSERT_OK(set.Draw(bits, x, y));
      const std::vector<int32_t> inputs = Values<int32_t>(x), targets = Values<int32_t>(y);
      for (size_t i = 0; i < 4; ++i) EXPECT_EQ(targets[i], inputs[i] + 1);
      ++seen[inputs[0]];
      ASSERT_OK(set.Draw(again, x, y));
      EXPECT_EQ(Values<int32_t>(x), inputs);
    }
    for (int start : {2, 3, 4, 5}) EXPECT_GT(seen[start], 0) << start;
    EXPECT_EQ(seen[6], 0);
  }
}

TEST(TokensTest, RefusesPartsAndWindowsThatThereAreNot) {
  ASSERT_OK_AND_ASSIGN(TokenSet set, TokenSet::FromVector({1, 2, 3}));
  EXPECT_ERROR(set.Part(0, 4), absl::StatusCode::kInvalidArgument, "no part of 3 tokens");
  EXPECT_ERROR(set.Part(1, 1), absl::StatusCode::kInvalidArgument, "tokens 1 to 1");
  SplitMix bits(1);
  ASSERT_OK_AND_ASSIGN(HostTensor x, HostTensor::Zeros(DType::kI32, {1, 3}));
  ASSERT_OK_AND_ASSIGN(HostTensor y, HostTensor::Zeros(DType::kI32, {1, 3}));
  EXPECT_ERROR(set.Draw(bits, x, y), absl::StatusCode::kInvalidArgument, "a window of 3 tokens");
  ASSERT_OK_AND_ASSIGN(HostTensor wide, HostTensor::Zeros(DType::kI64, {1, 2}));
  EXPECT_ERROR(set.Draw(bits, x, wide), absl::StatusCode::kInvalidArgument, "got i32[1,3] and i64[1,2]");
}

TEST(TokensTest, ReadsAcrossPieces) {
  ScratchFolder folder;
  std::vector<uint16_t> ids(10000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<uint16_t>(i * 7);
  ASSERT_OK_AND_ASSIGN(TokenSet file, TokenSet::ReadU16(folder.Write("t.bin", Bytes(ids))));
  ASSERT_OK_AND_ASSIGN(TokenSet vector, TokenSet::FromVector(ids));
  EXPECT_EQ(All(file), All(vector));
  EXPECT_EQ(file.Largest().value(), vector.Largest().value());
  std::vector<int32_t> out(2);
  EXPECT_ERROR(file.CopyTo(9999, out), absl::StatusCode::kInvalidArgument,
               "tokens 9999 to 10001 are no part");
}

// A memory mapping would end the process with SIGBUS here.
TEST(TokensTest, AShortenedFileIsAnError) {
  ScratchFolder folder;
  const std::string path = folder.Write("t", std::string(100000, 'x'));
  ASSERT_OK_AND_ASSIGN(TokenSet set, TokenSet::ReadBytes(path));
  ASSERT_OK_AND_ASSIGN(HostTensor x, HostTensor::Zeros(DType::kI32, {2, 8}));
  ASSERT_OK_AND_ASSIGN(HostTensor y, HostTensor::Zeros(DType::kI32, {2, 8}));
  ASSERT_OK(set.Read(90000, x, y));
  std::filesystem::resize_file(path, 100);
  ASSERT_OK(set.Read(0, x, y));
  EXPECT_ERROR(set.Read(90000, x, y), absl::StatusCode::kDataLoss, "t: the file is cut short");
  EXPECT_ERROR(set.Largest(), absl::StatusCode::kDataLoss, "the file is cut short");
}

}  // namespace
}  // namespace sinter
