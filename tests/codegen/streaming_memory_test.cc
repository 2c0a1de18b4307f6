// Which kernel stores bypass the cache, and that results keep their bits.
#include "sinter/codegen/cpu/streaming_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_replace.h"
#include "sinter/tests/codegen/kernel_runner.h"

namespace sinter::codegen {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kStreamed = kStreamedBytes / 4;  // In floats.
// The CPU of most assembly checks.
constexpr char kCpu[] = "x86-64-v3";
constexpr char kStore[] = "vmovntps", kFence[] = "sfence", kPrefetch[] = "prefetcht0",
               kNextRow[] = "prefetcht1";

// Floats that begin at a cache line, as in an arena, or `shift` floats after one.
class Lines {
 public:
  explicit Lines(int64_t n, int64_t shift = 0) : bytes_((n + shift) * 4 + 64), n_(n) {
    auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    data_ = reinterpret_cast<float*>((address + 63) / 64 * 64) + shift;
    std::fill_n(data_, n, NAN);
  }
  static Lines Random(int64_t n, int64_t shift = 0) {
    Lines lines(n, shift);
    std::mt19937 engine(7);
    std::uniform_real_distribution<float> distribution(-2, 2);
    for (int64_t i = 0; i < n; ++i) lines.data_[i] = distribution(engine);
    return lines;
  }
  float* data() const { return data_; }
  bool operator==(const Lines& other) const { return std::memcmp(data_, other.data_, n_ * 4) == 0; }

 private:
  std::vector<std::byte> bytes_;
  int64_t n_;
  float* data_;
};

// Returns a call of `body`, in which T is the type of all tensors. The output is at `offset` of the arena.
// The input is outside the arena, or at offset 0 with `in_arena`.
std::string Text(const std::string& type, const std::string& body, int64_t offset, bool in_arena = false) {
  std::string in = in_arena ? "plan.alloc at 0" : "plan.input \"x\"";
  return absl::StrReplaceAll("plan.function @f {\n  %x = " + in + " : B\n  %y = plan.alloc at " +
                                 std::to_string(offset) +
                                 " : B\n  plan.call \"k\" ins(%x : B) outs(%y : B) {\n  ^bb0(%0: T):\n" +
                                 body + "\n    sinter.yield %r : T\n  }\n}\n",
                             {{"B", "!plan.buffer<tensor<" + type + ">>"}, {"T", "tensor<" + type + ">"}});
}

constexpr char kSquare[] = "    %r = sinter.mul %0, %0 : T";

std::string Flat(int64_t n) { return std::to_string(n) + "xf32"; }

TEST(StreamingMemoryTest, LargeOutputsAreStoredPastTheCache) {
  KernelRunner large(Text(Flat(kStreamed), kSquare, 64)), smaller(Text(Flat(kStreamed - 1), kSquare, 64));
  ASSERT_TRUE(large.status().ok()) << large.status();
  ASSERT_TRUE(smaller.status().ok()) << smaller.status();
  for (const char* cpu : {kCpu, "x86-64-v4"}) {
    EXPECT_THAT(large.Assembly(cpu), AllOf(HasSubstr(kStore), HasSubstr(kFence), HasSubstr(kPrefetch)));
    EXPECT_THAT(smaller.Assembly(cpu),
                AllOf(Not(HasSubstr(kStore)), Not(HasSubstr(kFence)), Not(HasSubstr(kPrefetch))));
  }
}

TEST(StreamingMemoryTest, OutputsInPlaceOrOffALineAreNot) {
  KernelRunner in_place(Text(Flat(kStreamed), kSquare, 0, /*in_arena=*/true));
  ASSERT_TRUE(in_place.status().ok()) << in_place.status();
  EXPECT_THAT(in_place.Assembly(kCpu), Not(HasSubstr(kStore)));
  KernelRunner off_line(Text(Flat(kStreamed), kSquare, 4));
  ASSERT_TRUE(off_line.status().ok()) << off_line.status();
  EXPECT_THAT(off_line.Assembly(kCpu), Not(HasSubstr(kStore)));
}

TEST(StreamingMemoryTest, AnyTailAndAnyInput) {
  for (int64_t more : {0, 1, 9, 4095}) {
    const int64_t n = kStreamed + more;
    KernelRunner runner(Text(Flat(n), kSquare, 128));
    ASSERT_TRUE(runner.status().ok()) << runner.status();
    EXPECT_THAT(runner.Assembly(kCpu), HasSubstr(kStore));
    Lines x = Lines::Random(n, /*shift=*/3), y(n), expected(n);
    for (int64_t i = 0; i < n; ++i) expected.data()[i] = x.data()[i] * x.data()[i];
    runner.Run({x.data()}, {y.data()}, 3);
    EXPECT_TRUE(y == expected) << more;
  }
}

constexpr char kNormalize[] = R"(
    %s = sinter.sum %0 [1] : T -> R
    %b = sinter.broadcast %s [0] : R -> T
    %r = sinter.mul %0, %b : T)";
constexpr char kSoftmax[] = R"(
    %m = sinter.max %0 [1] : T -> R
    %c = sinter.broadcast %m [0] : R -> T
    %d = sinter.sub %0, %c : T
    %e = sinter.exp %d : T
    %s = sinter.sum %e [1] : T -> R
    %b = sinter.broadcast %s [0] : R -> T
    %r = sinter.div %e, %b : T)";

std::string Rows(int64_t rows, int64_t columns, const std::string& body) {
  std::string type = std::to_string(rows) + "x" + std::to_string(columns) + "xf32";
  return Text(type, absl::StrReplaceAll(body, {{"R", "tensor<" + std::to_string(rows) + "xf32>"}}), 4096);
}

// Compares with a kernel for a few rows, which does not stream.
void ExpectSameRows(KernelRunner& many, int64_t rows, int64_t columns, const char* body) {
  constexpr int64_t kFew = 8;
  KernelRunner few(Rows(kFew, columns, body));
  ASSERT_TRUE(few.status().ok()) << few.status();
  EXPECT_THAT(few.Assembly(kCpu), Not(HasSubstr(kStore)));
  Lines x = Lines::Random(rows * columns), y(rows * columns);
  many.Run({x.data()}, {y.data()}, 3);
  for (int64_t row = 0; row + kFew <= rows; row += kFew) {
    Lines expected(kFew * columns);
    few.Run({x.data() + row * columns}, {expected.data()});
    ASSERT_EQ(std::memcmp(expected.data(), y.data() + row * columns, kFew * columns * 4), 0) << row;
  }
}

TEST(StreamingMemoryTest, RowsOfWholeLines) {
  constexpr int64_t kRows = 4096, kColumns = 2048 + 16;
  for (const char* body : {kNormalize, kSoftmax}) {
    KernelRunner runner(Rows(kRows, kColumns, body));
    ASSERT_TRUE(runner.status().ok()) << runner.status();
    EXPECT_THAT(runner.Assembly(kCpu), HasSubstr(kStore));
    ExpectSameRows(runner, kRows, kColumns, body);
  }
}

TEST(StreamingMemoryTest, RowsThatBeginAnywhereAreStoredAsEver) {
  constexpr int64_t kRows = 4096, kColumns = 2048 + 3;
  KernelRunner runner(Rows(kRows, kColumns, kNormalize));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  EXPECT_THAT(runner.Assembly(kCpu), Not(HasSubstr(kStore)));
  ExpectSameRows(runner, kRows, kColumns, kNormalize);
}

TEST(StreamingMemoryTest, TheNextRowIsAskedForWhereTheMemoryHasTime) {
  constexpr int64_t kRows = 2048, kColumns = 4096;
  // The last pass reads the row again: it prefetches the next row besides the stores.
  KernelRunner normalize(Rows(kRows, kColumns, kNormalize));
  ASSERT_TRUE(normalize.status().ok()) << normalize.status();
  EXPECT_THAT(normalize.Assembly(kCpu), HasSubstr(kNextRow));
  KernelRunner few(Rows(8, kColumns, kNormalize));
  EXPECT_THAT(few.Assembly(kCpu), Not(HasSubstr(kNextRow)));
  // The last pass reads the kept exponentials: the pass that computes them prefetches.
  KernelRunner softmax(Rows(kRows, kColumns, kSoftmax));
  ASSERT_TRUE(softmax.status().ok()) << softmax.status();
  EXPECT_THAT(softmax.Assembly(kCpu), HasSubstr(kNextRow));
  EXPECT_THAT(softmax.Assembly(kCpu), Not(HasSubstr(kPrefetch)));
}

}  // namespace
}  // namespace sinter::codegen
