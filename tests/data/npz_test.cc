#include "sinter/runtime/formats/npz.h"

#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/formats/zip_archive.h"
#include "sinter/runtime/host/untrusted_bytes.h"
#include "sinter/runtime/tensor/tensor_bytes.h"
#include "sinter/tests/data/golden_files.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

using testing::ElementsAre;

absl::StatusOr<std::vector<NamedTensor>> ParseBytes(const std::string& bytes) {
  return ParseNpz(AsBytes(bytes), "t.npz");
}

std::vector<NamedTensor> TwoTensors() {
  std::vector<NamedTensor> tensors;
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0f);
  tensors.push_back({"layer/w", Tensor<float>({10, 100}, values)});
  tensors.push_back({"b", Tensor<int32_t>({2}, {-1, 7})});
  return tensors;
}

template <typename T>
std::string Patched(std::string bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  return bytes;
}

TEST(NpzTest, ReadsWhatNumpyWrites) {
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> stored, ParseBytes(golden::FromHex(golden::kNpz)));
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].name, "w");
  EXPECT_THAT(Values<float>(stored[0].tensor), ElementsAre(0, 0.5f, 1, 1.5f, 2, 2.5f));
  EXPECT_EQ(stored[1].name, "mask");
  EXPECT_THAT(Values<bool>(stored[1].tensor), ElementsAre(true, false));
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> deflated,
                       ParseBytes(golden::FromHex(golden::kNpzCompressed)));
  ASSERT_EQ(deflated.size(), 1u);
  EXPECT_EQ(deflated[0].name, "zeros");
  EXPECT_EQ(Values<int32_t>(deflated[0].tensor), std::vector<int32_t>(100));
}

TEST(NpzTest, RoundTripsStoredAndCompressed) {
  ScratchFolder folder;
  const std::vector<NamedTensor> tensors = TwoTensors();
  for (const bool compress : {false, true}) {
    const std::string path = folder.File(compress ? "c.npz" : "s.npz");
    ASSERT_OK(SaveNpz(path, tensors, {.compress = compress}));
    ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> loaded, LoadNpz(path));
    ASSERT_EQ(loaded.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(loaded[i].name, tensors[i].name);
      EXPECT_EQ(loaded[i].tensor.ToString(), tensors[i].tensor.ToString());
      EXPECT_TRUE(std::ranges::equal(BytesOf(loaded[i].tensor), BytesOf(tensors[i].tensor)));
    }
  }
  EXPECT_LT(ReadAll(folder.File("c.npz")).size(), ReadAll(folder.File("s.npz")).size() * 3 / 4);
  const std::string first = ReadAll(folder.File("c.npz"));
  ASSERT_OK(SaveNpz(folder.File("c.npz"), tensors, {.compress = true}));
  EXPECT_EQ(ReadAll(folder.File("c.npz")), first);
}

TEST(NpzTest, EmptyArchive) {
  ScratchFolder folder;
  ASSERT_OK(SaveNpz(folder.File("t.npz"), {}));
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> loaded, LoadNpz(folder.File("t.npz")));
  EXPECT_TRUE(loaded.empty());
}

TEST(NpzTest, ManyMembersNeedZip64) {
  ScratchFolder folder;
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 65535; ++i) tensors.push_back({std::to_string(i), Tensor<uint8_t>({}, {7})});
  ASSERT_OK(SaveNpz(folder.File("t.npz"), tensors));
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> loaded, LoadNpz(folder.File("t.npz")));
  ASSERT_EQ(loaded.size(), 65535u);
  EXPECT_EQ(loaded.back().name, "65534");
}

TEST(NpzTest, RefusesBadNames) {
  ScratchFolder folder;
  std::vector<NamedTensor> tensors = TwoTensors();
  tensors[1].name = tensors[0].name;
  EXPECT_ERROR(SaveNpz(folder.File("t"), tensors), absl::StatusCode::kInvalidArgument,
               "two tensors are named 'layer/w'");
  tensors[1].name = "";
  EXPECT_ERROR(SaveNpz(folder.File("t"), tensors), absl::StatusCode::kInvalidArgument,
               "a tensor has no name");
  tensors[1].name = std::string(70000, 'x');
  EXPECT_ERROR(SaveNpz(folder.File("t"), tensors), absl::StatusCode::kInvalidArgument, "at most 65535 bytes");
  EXPECT_TRUE(folder.List().empty());
}

TEST(NpzTest, EveryTruncationIsAnError) {
  for (const std::string_view hex : {golden::kNpz, golden::kNpzCompressed}) {
    const std::string whole = golden::FromHex(hex);
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_ERROR(ParseBytes(whole.substr(0, size)), absl::StatusCode::kDataLoss,
                   "t.npz: damaged zip archive");
    }
  }
}

// No altered byte may crash the reader. The checksum finds every altered byte of the data.
TEST(NpzTest, EveryAlteredByteOfTheDataIsFound) {
  const std::string whole = golden::FromHex(golden::kNpz);
  const size_t data = whole.find("\x93NUMPY");
  for (size_t at = 0; at < whole.size(); ++at) {
    const absl::StatusOr<std::vector<NamedTensor>> loaded =
        ParseBytes(Patched(whole, at, static_cast<char>(whole[at] ^ 0x10)));
    if (at >= data && at < data + 128 + 24) {
      EXPECT_FALSE(loaded.ok()) << at;
    }
  }
  EXPECT_ERROR(ParseBytes(Patched(whole, data + 130, 'x')), absl::StatusCode::kDataLoss,
               "t.npz(w.npy): damaged: its CRC-32 is");
  const std::string deflated = golden::FromHex(golden::kNpzCompressed);
  for (size_t at = 0; at < deflated.size(); ++at) {
    ParseBytes(Patched(deflated, at, static_cast<char>(deflated[at] ^ 0x10))).IgnoreError();
  }
}

TEST(NpzTest, DamagedDirectories) {
  const std::string whole = golden::FromHex(golden::kNpzCompressed);
  const size_t end = whole.find("PK\5\6");
  const size_t central = whole.find("PK\1\2");
  const auto bad = [&](const std::string& bytes, absl::StatusCode code, const std::string& text) {
    EXPECT_ERROR(ParseBytes(bytes), code, text);
  };
  constexpr auto kLoss = absl::StatusCode::kDataLoss;
  constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
  bad(Patched<uint16_t>(Patched<uint16_t>(whole, end + 8, 9), end + 10, 9), kLoss, "cannot hold 9 members");
  bad(Patched<uint32_t>(whole, end + 16, 1u << 30), kLoss, "its directory lies outside the file");
  bad(Patched<uint16_t>(whole, end + 4, 1), kLoss, "split into several parts");
  bad(Patched<uint16_t>(whole, end + 10, 0xffff), kLoss, "the zip64");
  bad(Patched<uint32_t>(whole, central, 0), kLoss, "no directory entry");
  bad(Patched<uint16_t>(whole, central + 8, 1), kUnimplemented, "'zeros.npy' is encrypted");
  bad(Patched<uint16_t>(whole, central + 10, 12), kUnimplemented, "uses compression method 12");
  bad(Patched<uint32_t>(whole, central + 42, 1u << 30), kLoss, "outside the file");
  bad(Patched<uint32_t>(whole, central + 20, 1u << 30), kLoss, "reaches past the end of the data");
  bad(Patched<uint32_t>(whole, central + 24, 1u << 30), kLoss, "claims 1073741824 bytes, more than its");
  bad(Patched<uint32_t>(whole, central + 24, 529), kLoss, "i32[100] takes 400 bytes, but 401 follow");
  bad(Patched<uint32_t>(whole, 0, 0), kLoss, "has no local header at 0");
  bad(Patched<char>(whole, 30, 'Z'), kLoss, "has another name in its local header");
  const std::string stored = golden::FromHex(golden::kNpz);
  bad(Patched<uint32_t>(stored, stored.find("PK\1\2") + 24, 7), kLoss, "is stored, but its two sizes differ");
}

TEST(NpzTest, DirectoriesOfTheWrongLength) {
  const std::string whole = golden::FromHex(golden::kNpzCompressed);
  const size_t end = whole.find("PK\5\6");
  const uint32_t bytes = static_cast<uint32_t>(end - whole.find("PK\1\2"));
  EXPECT_ERROR(ParseBytes(Patched<uint32_t>(whole, end + 12, bytes - 1)), absl::StatusCode::kDataLoss,
               "its directory is cut short at");
  EXPECT_ERROR(ParseBytes(Patched<uint16_t>(Patched<uint16_t>(whole, end + 8, 0), end + 10, 0)),
               absl::StatusCode::kDataLoss, "its directory has " + std::to_string(bytes) + " bytes too many");
  EXPECT_ERROR(ParseBytes("PK\5\6"), absl::StatusCode::kDataLoss,
               "it has 4 bytes, too few for even an empty one");
  EXPECT_ERROR(ParseBytes(std::string(100, 'x')), absl::StatusCode::kDataLoss,
               "no end record; the file is cut short");
}

TEST(NpzTest, DamagedExtraFields) {
  const std::string whole = golden::FromHex(golden::kNpzCompressed);
  const size_t central = whole.find("PK\1\2"), end = whole.find("PK\5\6");
  // Adds an extra field after the name of the directory's only entry.
  const auto with_extra = [&](const std::string& extra) {
    std::string bytes = whole;
    bytes.insert(central + 46 + std::string("zeros.npy").size(), extra);
    const auto size = static_cast<uint16_t>(extra.size());
    bytes = Patched<uint16_t>(bytes, central + 30, size);
    return Patched<uint32_t>(bytes, end + size + 12, static_cast<uint32_t>(end + size - central));
  };
  ASSERT_OK(ParseBytes(with_extra(std::string("\7\0\1\0x", 5))));
  EXPECT_ERROR(ParseBytes(with_extra(std::string("\1\0\x20\0", 4))), absl::StatusCode::kDataLoss,
               "the extra field of 'zeros.npy' is cut short");
  EXPECT_ERROR(
      ParseBytes(Patched<uint32_t>(with_extra(std::string("\1\0\0\0", 4)), central + 24, 0xffffffff)),
      absl::StatusCode::kDataLoss, "the zip64 sizes of 'zeros.npy' are cut short");
}

// Returns an empty archive in zip64 form: the end record (56 bytes), its locator (20), then the classic end
// record.
std::string EmptyZip64() {
  std::string bytes;
  AppendLittle<uint32_t>(0x06064b50, &bytes);
  AppendLittle<uint64_t>(44, &bytes);
  bytes.resize(56);
  AppendLittle<uint32_t>(0x07064b50, &bytes);
  bytes.resize(76);
  AppendLittle<uint32_t>(0x06054b50, &bytes);
  bytes.resize(98);
  return Patched<uint16_t>(bytes, 76 + 10, 0xffff);
}

TEST(NpzTest, DamagedZip64Records) {
  const std::string whole = EmptyZip64();
  ASSERT_OK(ParseBytes(whole));
  const auto bad = [](const std::string& bytes, const std::string& text) {
    EXPECT_ERROR(ParseBytes(bytes), absl::StatusCode::kDataLoss, text);
  };
  bad(whole.substr(76), "no room for the zip64 end record");
  bad(Patched<uint32_t>(whole, 56, 0), "the zip64 locator is missing");
  bad(Patched<uint64_t>(whole, 56 + 8, 1), "the zip64 end record lies outside the file");
  bad(Patched<uint32_t>(whole, 0, 0), "the zip64 end record is missing");
  bad(Patched<uint64_t>(whole, 48, 1), "its directory lies outside the file");
}

TEST(NpzTest, MembersAreReadToTheirEnd) {
  const std::string whole = golden::FromHex(golden::kNpz);
  ASSERT_OK_AND_ASSIGN(const std::vector<ZipMember> members, ReadZipDirectory(AsBytes(whole), "t.npz"));
  EXPECT_ERROR(ZipMemberReader(members[0], "t.npz").Finish(), absl::StatusCode::kDataLoss,
               "t.npz(w.npy): " + std::to_string(members[0].size) + " bytes follow where it should end");
}

TEST(NpzTest, OverlapsAndDoubles) {
  ScratchFolder folder;
  std::vector<NamedTensor> tensors;
  tensors.push_back({"a", Tensor<uint8_t>({}, {1})});
  tensors.push_back({"b", Tensor<uint8_t>({}, {1})});
  ASSERT_OK(SaveNpz(folder.File("t.npz"), tensors));
  std::string bytes = ReadAll(folder.File("t.npz"));
  const size_t second_entry = bytes.find("PK\1\2", bytes.find("PK\1\2") + 1);
  bytes[second_entry + 46] = 'a';
  EXPECT_ERROR(ParseBytes(bytes), absl::StatusCode::kDataLoss,
               "'a.npy' has another name in its local header");
  const std::string overlapping = Patched<uint32_t>(bytes, second_entry + 42, 0);
  EXPECT_ERROR(ParseBytes(overlapping), absl::StatusCode::kDataLoss, "two members are named 'a.npy'");
  // Moves the second local header into the data of the first member.
  std::string nested = ReadAll(folder.File("t.npz"));
  const size_t second_local = nested.find("PK\3\4", 1);
  nested.replace(second_local - 60, 35, nested.substr(second_local, 35));
  nested = Patched<uint32_t>(nested, second_entry + 42, static_cast<uint32_t>(second_local - 60));
  EXPECT_ERROR(ParseBytes(nested), absl::StatusCode::kDataLoss, "'a.npy' and 'b.npy' overlap");
}

TEST(NpzTest, LimitsAreChecked) {
  ScratchFolder folder;
  std::vector<NamedTensor> tensors;
  tensors.push_back({"zeros", Tensor<float>({100000}, std::vector<float>(100000))});
  tensors.push_back({"\x1b]0;b", Tensor<float>({10}, std::vector<float>(10))});
  const std::string path = folder.File("t.npz");
  ASSERT_OK(SaveNpz(path, tensors, {.compress = true}));
  ASSERT_OK(LoadNpz(path, {.max_bytes = 400128 + 168}));
  EXPECT_ERROR(LoadNpz(path, {.max_bytes = 400128 + 167}), absl::StatusCode::kResourceExhausted,
               "its members up to '\\x1b]0;b.npy' inflate to more than 400295 bytes; if that is right, raise "
               "NpzLimits::max_bytes");
  EXPECT_ERROR(LoadNpz(path, {.max_ratio = 100}), absl::StatusCode::kResourceExhausted,
               "to 400128 bytes, more than 100 times as many; if that is right, raise NpzLimits::max_ratio");
}

TEST(NpzTest, OtherMembersAreRefused) {
  ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(ZipWriter zip, ZipWriter::Create(folder.File("t.npz")));
  ASSERT_OK(zip.Add("readme.txt", {}, false));
  ASSERT_OK(zip.Commit());
  EXPECT_ERROR(LoadNpz(folder.File("t.npz")), absl::StatusCode::kDataLoss,
               "its member 'readme.txt' is no .npy file");
}

}  // namespace
}  // namespace sinter
