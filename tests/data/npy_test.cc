#include "sinter/runtime/formats/npy.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "sinter/runtime/formats/npy_header.h"
#include "sinter/runtime/tensor/tensor_bytes.h"
#include "sinter/tests/data/golden_files.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

using testing::ElementsAre;

absl::StatusOr<HostTensor> LoadBytes(const std::string& bytes) {
  ScratchFolder folder;
  return LoadNpy(folder.Write("t.npy", bytes));
}

// Returns a version 1.0 file with this header and data.
std::string Npy(const std::string& header, const std::string& data = "") {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

TEST(NpyTest, ReadsWhatNumpyWrites) {
  ASSERT_OK_AND_ASSIGN(const HostTensor f32, LoadBytes(golden::FromHex(golden::kNpyF32)));
  EXPECT_EQ(f32.ToString(), "f32[2,3]");
  EXPECT_THAT(Values<float>(f32), ElementsAre(0, 0.5f, 1, 1.5f, 2, 2.5f));
  ASSERT_OK_AND_ASSIGN(const HostTensor fortran, LoadBytes(golden::FromHex(golden::kNpyFortranF64)));
  EXPECT_EQ(fortran.ToString(), "f64[2,3]");
  EXPECT_THAT(Values<double>(fortran), ElementsAre(0, 1, 2, 3, 4, 5));
  ASSERT_OK_AND_ASSIGN(const HostTensor mask, LoadBytes(golden::FromHex(golden::kNpyBool)));
  EXPECT_THAT(Values<bool>(mask), ElementsAre(true, false, true));
  ASSERT_OK_AND_ASSIGN(const HostTensor scalar, LoadBytes(golden::FromHex(golden::kNpyScalarI64V2)));
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_THAT(Values<int64_t>(scalar), ElementsAre(-7));
  ASSERT_OK_AND_ASSIGN(const HostTensor bf16, LoadBytes(golden::FromHex(golden::kNpyBfloat16)));
  EXPECT_EQ(bf16.ToString(), "bf16[2]");
  uint16_t bits[2];
  std::memcpy(bits, bf16.data(), 4);
  EXPECT_THAT(bits, ElementsAre(0x3f80, 0xc000));
}

TEST(NpyTest, WritesTheBytesThatNumpyWrites) {
  ScratchFolder folder;
  ASSERT_OK(SaveNpy(folder.File("t.npy"), Tensor<float>({2, 3}, {0, 0.5f, 1, 1.5f, 2, 2.5f})));
  EXPECT_EQ(ReadAll(folder.File("t.npy")), golden::FromHex(golden::kNpyF32));
  ASSERT_OK(SaveNpy(folder.File("t.npy"), Tensor<bool>({3}, {true, false, true})));
  EXPECT_EQ(ReadAll(folder.File("t.npy")), golden::FromHex(golden::kNpyBool));
}

TEST(NpyTest, RoundTripsEveryElementTypeAndRank) {
  ScratchFolder folder;
  for (int i = 0; i < kNumDTypes; ++i) {
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{}, {0}, {5}, {2, 3}, {3, 0, 2}, {1, 2, 1, 2, 1, 2, 1, 2}}) {
      ASSERT_OK_AND_ASSIGN(HostTensor tensor, HostTensor::Zeros(static_cast<DType>(i), shape));
      for (std::byte& byte : MutableBytesOf(tensor)) byte = std::byte{1};
      ASSERT_OK(SaveNpy(folder.File("t.npy"), tensor));
      ASSERT_OK_AND_ASSIGN(const HostTensor loaded, LoadNpy(folder.File("t.npy")));
      EXPECT_EQ(loaded.ToString(), tensor.ToString());
      EXPECT_TRUE(std::ranges::equal(BytesOf(loaded), BytesOf(tensor))) << tensor.ToString();
      EXPECT_EQ(NpyPreamble(tensor).size() % 64, 0u);
    }
  }
}

TEST(NpyTest, TransposesFortranOrderOfRankThree) {
  std::string data;
  // Element [i, j, k] of shape (2, 2, 3) is at offset i + 2 j + 4 k.
  for (int at = 0; at < 12; ++at) data += static_cast<char>(100 * (at % 2) + 10 * (at / 2 % 2) + at / 4);
  ASSERT_OK_AND_ASSIGN(const HostTensor tensor,
                       LoadBytes(Npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 3)}\n", data)));
  EXPECT_THAT(Values<uint8_t>(tensor), ElementsAre(0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112));
}

// Rows longer and shorter than the reader's blocks, checked against the formula for Fortran order.
TEST(NpyTest, TransposesFortranOrderInBlocks) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1500000, 2}, std::vector<int64_t>{2, 900000}, std::vector<int64_t>{100, 70, 60},
        std::vector<int64_t>{1, 1, 5000}, std::vector<int64_t>{5000, 1}}) {
    const int64_t rank = static_cast<int64_t>(shape.size());
    std::string dims;
    int64_t size = 1;
    for (const int64_t n : shape) dims += std::to_string(n) + ", ", size *= n;
    std::vector<uint16_t> data(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) data[static_cast<size_t>(i)] = static_cast<uint16_t>(i * 40503);
    ASSERT_OK_AND_ASSIGN(const HostTensor tensor,
                         LoadBytes(Npy("{'descr': '<f2', 'fortran_order': True, 'shape': (" + dims + ")}\n",
                                       {reinterpret_cast<const char*>(data.data()), data.size() * 2})));
    const auto* const values = static_cast<const uint16_t*>(tensor.data());
    for (int64_t at = 0; at < size; ++at) {
      int64_t rest = at, fortran = 0;
      for (int64_t i = rank; i-- > 0;) {
        int64_t stride = 1;
        for (int64_t k = 0; k < i; ++k) stride *= shape[static_cast<size_t>(k)];
        fortran += rest % shape[static_cast<size_t>(i)] * stride;
        rest /= shape[static_cast<size_t>(i)];
      }
      ASSERT_EQ(values[at], data[static_cast<size_t>(fortran)]) << tensor.ToString() << " at " << at;
    }
  }
}

TEST(NpyTest, AcceptsOtherSpellings) {
  const std::string data(8, '\0');
  for (const char* header : {"{\"shape\":(2,),\"descr\":\"<i4\",\"fortran_order\":False}",
                             "{'shape': (2L,), 'fortran_order': False, 'descr': '<i4', }  \n"}) {
    EXPECT_EQ(LoadBytes(Npy(header, data))->ToString(), "i32[2]") << header;
  }
  EXPECT_EQ(LoadBytes(Npy("{'descr': '<b1', 'fortran_order': False, 'shape': (8,)}", data))->ToString(),
            "i1[8]");
}

TEST(NpyTest, EveryTruncationIsAnError) {
  const std::string whole = golden::FromHex(golden::kNpyScalarI64V2);
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::StatusOr<HostTensor> loaded = LoadBytes(whole.substr(0, size));
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kDataLoss) << size;
    EXPECT_THAT(std::string(loaded.status().message()), testing::HasSubstr("t.npy: ")) << size;
  }
  EXPECT_ERROR(LoadBytes(whole + "x"), absl::StatusCode::kDataLoss,
               "i64[] takes 8 bytes, but 9 follow the header");
}

TEST(NpyTest, DamagedHeaders) {
  const auto damaged = [](const std::string& header, const std::string& text) {
    EXPECT_ERROR(LoadBytes(Npy(header)), absl::StatusCode::kDataLoss, text);
  };
  damaged("", "expected '{' at its byte 0");
  damaged("{'descr': '<f4', 'fortran_order': False}", "'shape' is missing");
  damaged("{'descr': '<f4', 'descr': '<f4'}", "each once at its byte");
  damaged("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "expected True or False");
  damaged("{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", "a comma in a tuple of one");
  damaged("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "expected an integer");
  damaged("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
          "an integer of 64 bits");
  damaged("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "nothing after the dictionary");
  damaged("{'descr': '<f4", "a closing quote");
  damaged("{'desc\\x72': '<f4'}", "a string without escapes");
  damaged("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000,)}",
          "f32[1000000] takes 4000000 bytes, but 0 follow the header");
  EXPECT_ERROR(LoadBytes("PK\3\4 and more bytes"), absl::StatusCode::kDataLoss,
               "does not begin with \\x93NUMPY");
  EXPECT_ERROR(LoadBytes(std::string("\x93NUMPY\7\0\0\0", 10)), absl::StatusCode::kUnimplemented,
               ".npy version 7 is not supported");
  EXPECT_ERROR(LoadBytes(std::string("\x93NUMPY\1\0\xff\xff", 10)), absl::StatusCode::kDataLoss,
               "it claims 65535 bytes, but only 0 follow");
  const std::string long_header("\x93NUMPY\2\0\1\0\1\0", 12);
  EXPECT_ERROR(LoadBytes(long_header + std::string(65537, ' ')), absl::StatusCode::kDataLoss,
               "it claims 65537 bytes, and at most 65536 are read");
}

TEST(NpyTest, ShapesThatCannotBe) {
  const auto bad = [](const std::string& shape, const std::string& text) {
    EXPECT_ERROR(LoadBytes(Npy("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + "}")),
                 absl::StatusCode::kInvalidArgument, text);
  };
  bad("(4294967296, 4294967296)", "more bytes than 64 bits can count");
  bad("(1, 1, 1, 1, 1, 1, 1, 1, 1)", "rank 9");
}

TEST(NpyTest, UnknownElementTypesNameTheFix) {
  const auto unknown = [](const std::string& descr, const std::string& text) {
    EXPECT_ERROR(LoadBytes(Npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': ()}", "....")),
                 absl::StatusCode::kUnimplemented, text);
  };
  unknown("'>f4'", "it is big-endian: save a.astype('<f4') instead");
  unknown("'|V2'", "a.view([('bfloat16', '<u2')])");
  unknown("'|V1'", "a.view([('float8_e4m3fn', '|u1')])");
  unknown("'<c8'", "element type '<c8' is not supported; convert it with astype()");
  unknown("'|O'", "it holds Python objects");
  unknown("'\x1b[2J'", "element type '\\x1b[2J' is not supported");
  unknown("[('x', '<f4'), ('y', '<f4')]", "element type [('x', '<f4'), ('y', '<f4')] is not supported");
}

TEST(NpyTest, BooleansAreZeroOrOne) {
  EXPECT_ERROR(LoadBytes(Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", "\1\1\2")),
               absl::StatusCode::kDataLoss, "element 2 of a boolean tensor is neither 0 nor 1");
}

}  // namespace
}  // namespace sinter
