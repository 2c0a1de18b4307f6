#include "sinter/runtime/formats/safetensors.h"

#include <string>
#include <utility>
#include <vector>

#include "sinter/runtime/host/untrusted_bytes.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/runtime/tensor/tensor_bytes.h"
#include "sinter/tests/data/golden_files.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

using testing::ElementsAre;

// Returns a file with this header, without padding, and `data_bytes` zero bytes.
std::string File(const std::string& header, size_t data_bytes) {
  std::string bytes;
  AppendLittle<uint64_t>(header.size(), &bytes);
  return bytes + header + std::string(data_bytes, '\0');
}

void ExpectBad(const std::string& header, size_t data_bytes, const std::string& text) {
  EXPECT_ERROR(ParseSafetensorsHeader(AsBytes(File(header, data_bytes)), "t"), absl::StatusCode::kDataLoss,
               text);
}

std::vector<NamedTensor> OneOfEach() {
  std::vector<NamedTensor> tensors;
  for (int i = kNumDTypes - 1; i >= 0; --i) {
    const DType dtype = static_cast<DType>(i);
    HostTensor tensor = HostTensor::Zeros(dtype, {3}).value();
    for (std::byte& byte : MutableBytesOf(tensor)) byte = std::byte{1};
    tensors.push_back({std::string(DTypeName(dtype)), std::move(tensor)});
  }
  return tensors;
}

TEST(SafetensorsTest, RoundTripsEveryElementType) {
  ScratchFolder folder;
  const std::vector<NamedTensor> tensors = OneOfEach();
  const Metadata metadata = {{"step", "3"}, {"note", "quotes \" and \xc3\xa4"}};
  ASSERT_OK(SaveSafetensors(folder.File("t"), tensors, metadata));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, SafetensorsFile::Open(folder.File("t")));
  EXPECT_EQ(file.metadata(), metadata);
  EXPECT_THAT(file.names(), ElementsAre("f64", "i64", "u64", "f32", "i32", "u32", "bf16", "f16", "i16", "u16",
                                        "f8e4m3", "f8e5m2", "i1", "i8", "u8"));
  for (const NamedTensor& named : tensors) {
    ASSERT_OK_AND_ASSIGN(const HostTensor loaded, file.Get(named.name));
    EXPECT_EQ(loaded.ToString(), named.tensor.ToString());
    EXPECT_TRUE(std::ranges::equal(BytesOf(loaded), BytesOf(named.tensor)));
  }
  ASSERT_OK(file.Verify());
  EXPECT_EQ(file.entries()[0].begin, 0u);
  EXPECT_EQ(ReadAll(folder.File("t")).find("{"), 8u);
}

TEST(SafetensorsTest, BytesDoNotDependOnTheOrderGiven) {
  ScratchFolder folder;
  std::vector<NamedTensor> tensors = OneOfEach();
  ASSERT_OK(SaveSafetensors(folder.File("a"), tensors));
  std::ranges::reverse(tensors);
  ASSERT_OK(SaveSafetensors(folder.File("b"), tensors));
  EXPECT_EQ(ReadAll(folder.File("a")), ReadAll(folder.File("b")));
}

TEST(SafetensorsTest, EmptyScalarAndNothing) {
  ScratchFolder folder;
  std::vector<NamedTensor> tensors;
  tensors.push_back({"z", Tensor<float>({0, 4}, {})});
  tensors.push_back({"", Tensor<float>({}, {5})});
  ASSERT_OK(SaveSafetensors(folder.File("t"), tensors));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, SafetensorsFile::Open(folder.File("t")));
  EXPECT_EQ(file.Get("z")->ToString(), "f32[0,4]");
  EXPECT_THAT(Values<float>(file.Get("").value()), ElementsAre(5));
  ASSERT_OK(file.Verify());
  ASSERT_OK(SaveSafetensors(folder.File("n"), {}));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile none, SafetensorsFile::Open(folder.File("n")));
  EXPECT_TRUE(none.names().empty());
  ASSERT_OK(none.Verify());
}

TEST(SafetensorsTest, ReadsWhatTheReferenceWrites) {
  ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile file,
                       SafetensorsFile::Open(folder.Write("t", golden::FromHex(golden::kSafetensors))));
  EXPECT_THAT(Values<float>(file.Get("w").value()), ElementsAre(0, 0.5f, 1, 1.5f, 2, 2.5f));
  EXPECT_THAT(Values<int64_t>(file.Get("b").value()), ElementsAre(1, -1));
  EXPECT_THAT(Values<bool>(file.Get("m").value()), ElementsAre(true));
  EXPECT_THAT(file.metadata(), ElementsAre(std::pair<const std::string, std::string>("step", "3")));
  EXPECT_ERROR(file.Verify(), absl::StatusCode::kFailedPrecondition, "carries no checksums");
}

TEST(SafetensorsTest, CopiesWhatIsNotAligned) {
  ScratchFolder folder;
  const std::string path = folder.Write("t", File(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                                  R"("b":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}})",
                                                  9));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, SafetensorsFile::Open(path));
  const HostTensor b = file.Get("b").value();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % 8, 0u);
  EXPECT_THAT(Values<double>(b), ElementsAre(0));
}

TEST(SafetensorsTest, UnknownNameNamesTheNearest) {
  ScratchFolder folder;
  std::vector<NamedTensor> tensors;
  for (const char* name : {"encoder.0.weight", "encoder.1.weight", "head"}) {
    tensors.push_back({name, Tensor<float>({1}, {0})});
  }
  ASSERT_OK(SaveSafetensors(folder.File("t"), tensors));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, SafetensorsFile::Open(folder.File("t")));
  EXPECT_ERROR(file.Get("encoder.1.wieght"), absl::StatusCode::kNotFound, "nearest: encoder.1.weight");
}

TEST(SafetensorsTest, SaveRefusesBadNames) {
  ScratchFolder folder;
  const auto save = [&](const std::string& a, const std::string& b, const Metadata& metadata = {}) {
    std::vector<NamedTensor> tensors;
    tensors.push_back({a, Tensor<float>({1}, {0})});
    tensors.push_back({b, Tensor<uint8_t>({1}, {0})});
    return SaveSafetensors(folder.File("t"), tensors, metadata);
  };
  EXPECT_ERROR(save("x", "x"), absl::StatusCode::kInvalidArgument, "two tensors are named 'x'");
  EXPECT_ERROR(save("x", "__metadata__"), absl::StatusCode::kInvalidArgument, "the format reserves it");
  EXPECT_ERROR(save("x", "\xff"), absl::StatusCode::kInvalidArgument, "not UTF-8");
  EXPECT_ERROR(save("x", "y", {{"sinter.crc32", ""}}), absl::StatusCode::kInvalidArgument,
               "'sinter.crc32' begins with 'sinter.', which is reserved for checksums");
  EXPECT_TRUE(folder.List().empty());
}

TEST(SafetensorsTest, SourcesAreReadOnceAndOneByOne) {
  ScratchFolder folder;
  CachingAllocator& memory = *ProcessAllocator().value();
  const std::vector<NamedTensor> tensors = OneOfEach();
  ASSERT_OK(SaveSafetensors(folder.File("whole"), tensors, {{"step", "3"}}));
  std::vector<TensorSource> sources;
  std::vector<std::string> read;
  for (const NamedTensor& named : tensors) {
    sources.push_back({named.name, named.tensor.dtype(), named.tensor.shape(), [&named, &read] {
                         read.push_back(named.name);
                         return named.tensor.Clone();
                       }});
  }
  const int64_t used = memory.UsedBytes();
  memory.ResetPeaks();
  ASSERT_OK(SaveSafetensorsOneByOne(folder.File("one_by_one"), sources, {{"step", "3"}}));
  EXPECT_EQ(memory.Stats().peak_used_bytes - used, CachingAllocator::kUnit) << "more than one at a time";
  EXPECT_THAT(read, ElementsAre("f64", "i64", "u64", "f32", "i32", "u32", "bf16", "f16", "i16", "u16",
                                "f8e4m3", "f8e5m2", "i1", "i8", "u8"));
  EXPECT_EQ(ReadAll(folder.File("one_by_one")), ReadAll(folder.File("whole")));
}

TEST(SafetensorsTest, BadSourcesLeaveTheOldFile) {
  ScratchFolder folder;
  folder.Write("t", "old");
  const auto save = [&](std::vector<int64_t> shape, absl::StatusOr<HostTensor> (*b)()) {
    const TensorSource sources[] = {
        {"a", DType::kF64, {1}, [] { return HostTensor::FromVector<double>({1}, {1}); }},
        {"b", DType::kF32, std::move(shape), b}};
    return SaveSafetensorsOneByOne(folder.File("t"), sources);
  };
  EXPECT_ERROR(save({2}, [] { return HostTensor::Zeros(DType::kF32, {3}); }),
               absl::StatusCode::kInvalidArgument,
               "tensor 'b' was said to be f32[2], and its source gives f32[3]");
  EXPECT_ERROR(save({2}, [] { return HostTensor::Zeros(DType::kI32, {2}); }),
               absl::StatusCode::kInvalidArgument, "gives i32[2]");
  EXPECT_ERROR(save({2}, []() -> absl::StatusOr<HostTensor> { return absl::UnavailableError("gone"); }),
               absl::StatusCode::kUnavailable, "gone");
  EXPECT_ERROR(save({-1}, [] { return HostTensor::Zeros(DType::kF32, {1}); }),
               absl::StatusCode::kInvalidArgument, "f32[-1] has a negative size");
  EXPECT_ERROR(save({2}, nullptr), absl::StatusCode::kInvalidArgument, "tensor 'b' has no `read`");
  EXPECT_EQ(ReadAll(folder.File("t")), "old");
  EXPECT_THAT(folder.List(), ElementsAre("t"));
}

TEST(SafetensorsTest, EveryTruncationIsAnError) {
  const std::string whole = golden::FromHex(golden::kSafetensors);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_ERROR(ParseSafetensorsHeader(AsBytes(whole.substr(0, size)), "t"), absl::StatusCode::kDataLoss,
                 "t: ");
  }
  EXPECT_ERROR(ParseSafetensorsHeader(AsBytes(whole.substr(0, whole.size() - 1)), "t"),
               absl::StatusCode::kDataLoss, "it is cut short or altered");
  EXPECT_ERROR(ParseSafetensorsHeader(AsBytes(whole + "x"), "t"), absl::StatusCode::kDataLoss,
               "1 bytes follow the last tensor");
}

TEST(SafetensorsTest, VerifyNamesDamagedTensors) {
  ScratchFolder folder;
  ASSERT_OK(SaveSafetensors(folder.File("t"), OneOfEach()));
  std::string bytes = ReadAll(folder.File("t"));
  ASSERT_OK_AND_ASSIGN(const SafetensorsHeader header, ParseSafetensorsHeader(AsBytes(bytes), "t"));
  EXPECT_EQ(header.data_begin % 64, 0u);
  for (const SafetensorsEntry& entry : header.entries) {
    std::string altered = bytes;
    altered[header.data_begin + entry.begin] ^= 1;
    ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, SafetensorsFile::Open(folder.Write("a", altered)));
    EXPECT_ERROR(file.Verify(), absl::StatusCode::kDataLoss,
                 "the checksum is wrong for '" + entry.name + "'");
  }
}

// The checksums detect every flipped bit: in names, in the padding, and in the checksums themselves.
TEST(SafetensorsTest, EveryFlippedBitIsFound) {
  ScratchFolder folder;
  ASSERT_OK(SaveSafetensors(folder.File("t"), OneOfEach(), {{"step", "1000"}, {"lr", "0.10"}}));
  const size_t bits = 8 * ReadAll(folder.File("t")).size();
  for (size_t bit = 0; bit < bits; ++bit) {
    FlipBit(folder.File("t"), bit);
    const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(folder.File("t"));
    EXPECT_FALSE(file.ok() && file->Verify().ok()) << "bit " << bit % 8 << " of byte " << bit / 8;
    FlipBit(folder.File("t"), bit);
  }
  ASSERT_OK(SafetensorsFile::Open(folder.File("t"))->Verify());
}

// Reads the format of earlier Sinter versions, whose checksum does not cover the header.
TEST(SafetensorsTest, OldChecksumsCoverTheData) {
  ScratchFolder folder;
  const auto file_with = [&](const std::string& metadata) {
    return SafetensorsFile::Open(folder.Write(
        "t",
        File(R"({"__metadata__":{)" + metadata + R"(},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
             4)));
  };
  ASSERT_OK_AND_ASSIGN(SafetensorsFile old, file_with(R"("lr":"0.1","sinter.crc32":"2144df1c")"));
  EXPECT_EQ(old.checks(), SafetensorsChecks::kData);
  EXPECT_THAT(old.metadata(), ElementsAre(std::pair<const std::string, std::string>("lr", "0.1")));
  ASSERT_OK(old.Verify());
  ASSERT_OK_AND_ASSIGN(old, file_with(R"("sinter.crc32":"2144df1d")"));
  EXPECT_ERROR(old.Verify(), absl::StatusCode::kDataLoss, "the checksum is wrong for 'a'");
  EXPECT_ERROR(old.Get("a"), absl::StatusCode::kDataLoss, "the checksum is wrong for 'a'");
  EXPECT_ERROR(file_with(R"("sinter.crc32":"2144df1c 00000000")"), absl::StatusCode::kDataLoss,
               "its header is damaged: it has 2 checksums for 1 tensors");
  EXPECT_ERROR(file_with(R"("sinter.sums":"2144df1c")"), absl::StatusCode::kDataLoss,
               "it has the metadata key 'sinter.sums', which Sinter does not write");
  EXPECT_ERROR(file_with(R"("sinter.checksums":"2144df1c")"), absl::StatusCode::kDataLoss,
               "its header is damaged: its hash is not the one in 'sinter.checksums'");
}

// The file may change between Verify and a read, so Get checks the data that it returns.
TEST(SafetensorsTest, GetChecksWhatItReturns) {
  ScratchFolder folder;
  std::vector<NamedTensor> tensors;
  tensors.push_back({"a", Tensor<float>({2}, {1, 2})});
  ASSERT_OK(SaveSafetensors(folder.File("t"), tensors));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, SafetensorsFile::Open(folder.File("t")));
  ASSERT_OK(file.Verify());
  std::string bytes = ReadAll(folder.File("t"));
  bytes.back() ^= 1;
  folder.Write("t", bytes);
  EXPECT_ERROR(file.Get("a"), absl::StatusCode::kDataLoss, "the checksum is wrong for 'a'");
  std::filesystem::resize_file(folder.File("t"), bytes.size() - 1);
  EXPECT_ERROR(file.Get("a"), absl::StatusCode::kDataLoss, "the file is cut short");
  EXPECT_ERROR(file.Verify(), absl::StatusCode::kDataLoss, "the file is cut short");
}

TEST(SafetensorsTest, MessagesSpellOutControlCharacters) {
  ExpectBad(R"({"\u001b[2Ja":1})", 0, R"('\x1b[2Ja' is a number)");
  ExpectBad("{\"\xc2\x9b\":1}", 0, R"('\xc2\x9b' is a number)");
}

TEST(SafetensorsTest, BadLengthsAndText) {
  const auto bad = [](const std::string& bytes, const std::string& text) {
    EXPECT_ERROR(ParseSafetensorsHeader(AsBytes(bytes), "t"), absl::StatusCode::kDataLoss, text);
  };
  bad("short", "5 bytes are too few");
  bad("\x93NUMPY\1\2{}", "its header claims");
  bad(std::string("\x10\0\0\0\0\0\0\0{}", 10), "cut short in its header: 16 bytes expected, 2 there");
  ExpectBad(" {}", 0, "its header does not begin with '{'");
  ExpectBad("{", 0, "no valid JSON at its byte 2");
  ExpectBad("{} {}", 0, "no valid JSON");
  ExpectBad("{}\t", 0, "behind its '}' are bytes other than spaces");
  ExpectBad("{\"\xff\":1}", 0, "no valid JSON");
  ExpectBad("{" + std::string(1000, '['), 0, "no valid JSON");
  ExpectBad("{\"a\":" + std::string(100000, '['), 0, "'a' is a list, not an object");
}

TEST(SafetensorsTest, BadEntries) {
  const auto entry = [](const std::string& body) { return "{\"a\":{" + body + "}}"; };
  const std::string type = R"("dtype":"F32")";
  const std::string shape = R"("shape":[2])";
  const std::string place = R"("data_offsets":[0,8])";
  EXPECT_TRUE(ParseSafetensorsHeader(AsBytes(File(entry(type + "," + shape + "," + place), 8)), "t").ok());
  ExpectBad(R"({"a":1})", 0, "'a' is a number, not an object");
  ExpectBad(R"({"a":null})", 0, "'a' is null, not an object");
  ExpectBad(R"({"a":true})", 0, "'a' is a boolean, not an object");
  ExpectBad(R"({"__metadata__":{"k":1}})", 0, "the metadata 'k' is a number, not a string");
  ExpectBad(R"({"__metadata__":{"k":"1","k":"2"}})", 0, "the metadata key 'k' occurs twice");
  ExpectBad(entry(type + "," + shape), 8, "lacks one of dtype, shape and data_offsets");
  ExpectBad(entry(type + "," + type), 8, "tensor 'a' has two 'dtype'");
  ExpectBad(entry(R"("x":1)"), 8, "has the unknown key 'x'");
  ExpectBad(entry(R"("dtype":"F6_E2M3",)" + shape + "," + place), 8,
            "element type 'F6_E2M3'; supported are F64");
  ExpectBad(entry(R"("dtype":3)"), 8,
            "'dtype' of tensor 'a' has a number where it should not; it is a string");
  ExpectBad(entry(R"("shape":[-2])"), 8, "has the number -2 where it should not; it is a list of integers");
  ExpectBad(entry(R"("shape":[2.5])"), 8, "has the number 2.5");
  ExpectBad(entry(R"("shape":[[2]])"), 8, "has a list where it should not");
  ExpectBad(entry(R"("shape":[18446744073709551615])"), 8, "has dimension 18446744073709551615");
  ExpectBad(entry(R"("data_offsets":[0,8,9])"), 8, "more than two data_offsets");
  ExpectBad(entry(type + "," + shape + R"(,"data_offsets":[8])"), 8, "has 1 data_offsets instead of two");
  ExpectBad(entry(type + R"(,"shape":[4294967296,4294967296],)" + place), 8,
            "more bytes than 64 bits can count");
  ExpectBad(entry(type + R"(,"shape":[1,1,1,1,1,1,1,1,2],)" + place), 8, "rank 9");
  ExpectBad(entry(type + R"(,"shape":[3],)" + place), 8, "of f32[3] takes 12 bytes, but lies at [0, 8)");
}

TEST(SafetensorsTest, BadPlaces) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  EXPECT_TRUE(ParseSafetensorsHeader(AsBytes(File(two("[4,8]", "[0,4]"), 8)), "t").ok());
  ExpectBad(two("[0,4]", "[3,7]"), 7, "tensor 'b' at [3, 7) overlaps the tensor that ends at 4");
  ExpectBad(two("[0,4]", "[0,4]"), 4, "overlaps");
  ExpectBad(two("[0,4]", "[5,9]"), 9, "tensor 'b' at [5, 9) leaves a hole after 4");
  ExpectBad(two("[1,5]", "[5,9]"), 9, "leaves a hole after 0");
  ExpectBad(two("[0,4]", "[8,4]"), 8, "ends before it begins: [8, 4)");
  ExpectBad(two("[0,4]", "[4,18446744073709551615]"), 8, "but the file has only 8 bytes of data");
  const std::string twice = R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                            R"("\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  ExpectBad(twice, 0, "the name 'a' occurs twice");
}

TEST(SafetensorsTest, BooleansAreZeroOrOne) {
  ScratchFolder folder;
  std::string bytes = File(R"({"m":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  bytes.back() = 7;
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, SafetensorsFile::Open(folder.Write("t", bytes)));
  EXPECT_ERROR(file.Get("m"), absl::StatusCode::kDataLoss,
               "element 1 of the BOOL tensor 'm' is neither 0 nor 1");
}

}  // namespace
}  // namespace sinter
