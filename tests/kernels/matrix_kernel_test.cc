// The kernels around cuSOLVER's calls, compiled for CPUs: a fiber for each thread of a block, and blocks one
// by one. Between two barriers the threads run one after another, every second time from the last to the
// first, so a missing barrier changes results.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/kernels/cpu/linalg/matrix_routines.h"
#include "sinter/kernels/cuda/matrix/matrix_kernel.h"
#include "sinter/tests/codegen/simt_fibers.h"

#define SINTER_KERNEL static
#define SINTER_DEVICE static inline
#define SINTER_SHARED
#define SINTER_CALLED static
#define SINTER_ROLLED

namespace sinter::kernels {
namespace {

using codegen::SimtFibers;

uint32_t this_thread = 0, this_block = 0, grid_blocks = 1;
// Runs the kernel, for the thread `this_thread`.
std::function<void()> matrix_thread;
std::array<bool, kMatrixThreads> has_thread_ended;

SimtFibers& ThreadFibers();

// Lets the other threads run. Each thread keeps its fiber, and kCaller is 0.
void YieldThread() { ThreadFibers().Switch(static_cast<int>(this_thread) + 1, SimtFibers::kCaller); }

void RunThreads() {
  for (;;) {
    matrix_thread();
    has_thread_ended[this_thread] = true;
    YieldThread();
  }
}

SimtFibers& ThreadFibers() {
  static SimtFibers* const kFibers = [] {
    auto* fibers = new SimtFibers(kMatrixThreads, RunThreads);
    for (int i = 0; i < static_cast<int>(kMatrixThreads); ++i) EXPECT_EQ(fibers->Take(), i + 1);
    return fibers;
  }();
  return *kFibers;
}

SINTER_DEVICE uint32_t Thread() { return this_thread; }
SINTER_DEVICE uint32_t Block() { return this_block; }
SINTER_DEVICE uint32_t Blocks() { return grid_blocks; }
SINTER_DEVICE void Barrier() { YieldThread(); }
SINTER_DEVICE float Root(float x) { return std::sqrt(x); }
SINTER_DEVICE double Root(double x) { return std::sqrt(x); }

}  // namespace
}  // namespace sinter::kernels

#include "sinter/kernels/cuda/matrix/matrix_kernel.cu"

namespace sinter::kernels {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

template <typename Parameters>
void LaunchOnCpu(void (*kernel)(Parameters), const Parameters& parameters, uint32_t blocks) {
  matrix_thread = [&] { kernel(parameters); };
  grid_blocks = blocks;
  for (this_block = 0; this_block < blocks; ++this_block) {
    has_thread_ended.fill(false);
    for (bool is_forward = true; !std::ranges::all_of(has_thread_ended, std::identity());
         is_forward = !is_forward) {
      for (uint32_t i = 0; i < kMatrixThreads; ++i) {
        this_thread = is_forward ? i : kMatrixThreads - 1 - i;
        if (has_thread_ended[this_thread]) continue;
        ThreadFibers().Switch(SimtFibers::kCaller, static_cast<int>(this_thread) + 1);
      }
    }
  }
}

template <typename T>
std::vector<T> RandomMatrix(size_t count, int seed) {
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(distribution(random));
  return values;
}

template <typename T>
class MatrixKernelTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kIsF64 = sizeof(T) == sizeof(double) ? 1 : 0;
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
};
using ElementTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MatrixKernelTest, ElementTypes);

TYPED_TEST(MatrixKernelTest, CheckMarksWhatIsNotFinite) {
  using T = TypeParam;
  std::vector<T> x = RandomMatrix<T>(5 * 9, 1);
  x[1 * 9 + 5] = this->kNan;                          // Above the diagonal.
  x[2 * 9 + 6] = std::numeric_limits<T>::infinity();  // Below.
  x[4 * 9 + 8] = -std::numeric_limits<T>::infinity();
  for (const uint64_t columns : {0, 3}) {
    std::vector<uint32_t> bad(5);
    LaunchOnCpu<MatrixCheckParameters>(sinter_matrix_check,
                                       {.from = x.data(),
                                        .bad = bad.data(),
                                        .batch = 5,
                                        .size = 9,
                                        .columns = columns,
                                        .is_f64 = this->kIsF64},
                                       2);
    if (columns == 0) {
      EXPECT_THAT(bad, ElementsAre(0, 1, 1, 0, 1));
    } else {
      EXPECT_THAT(bad, ElementsAre(0, 0, 1, 0, 1));
    }
  }
}

// Columns that are further apart than they are long, and matrices further apart than their columns.
TYPED_TEST(MatrixKernelTest, CopyTransposes) {
  using T = TypeParam;
  constexpr uint64_t kRows = 37, kColumns = 70, kLeading = 40, kStride = kLeading * kColumns + 3;
  const std::vector<T> x = RandomMatrix<T>(2 * kStride, 2);
  for (const MatrixPart part : {MatrixPart::kAll, MatrixPart::kUpper, MatrixPart::kLower}) {
    std::vector<T> y(2 * kRows * kColumns, this->kNan);
    LaunchOnCpu<MatrixCopyParameters>(sinter_matrix_copy,
                                      {.from = x.data(),
                                       .to = y.data(),
                                       .batch = 2,
                                       .rows = kRows,
                                       .columns = kColumns,
                                       .stride = kStride,
                                       .leading = kLeading,
                                       .is_f64 = this->kIsF64,
                                       .is_transposed = 1,
                                       .part = part},
                                      3);
    for (uint64_t i = 0; i < y.size(); ++i) {
      const uint64_t matrix = i / (kRows * kColumns), row = i / kColumns % kRows, column = i % kColumns;
      const bool is_in = part == MatrixPart::kAll || (part == MatrixPart::kUpper && row <= column) ||
                         (part == MatrixPart::kLower && row >= column);
      ASSERT_EQ(y[i], is_in ? x[matrix * kStride + column * kLeading + row] : T{0}) << i;
    }
  }
}

TYPED_TEST(MatrixKernelTest, CopyInPlaceKeepsMatricesWithFactors) {
  using T = TypeParam;
  std::vector<T> x = RandomMatrix<T>(5 * 4, 3);
  const std::vector<T> before = x;
  x[3 * 4 + 3] = this->kNan;
  const std::vector<int32_t> info = {0, 2, 0, 0, 0};
  const std::vector<uint32_t> bad = {0, 0, 1, 0, 0};
  LaunchOnCpu<MatrixCopyParameters>(sinter_matrix_copy,
                                    {.from = x.data(),
                                     .to = x.data(),
                                     .bad = bad.data(),
                                     .info = info.data(),
                                     .batch = 5,
                                     .rows = 2,
                                     .columns = 2,
                                     .stride = 4,
                                     .leading = 2,
                                     .is_f64 = this->kIsF64,
                                     .part = MatrixPart::kLower,
                                     .checks_last = 1},
                                    2);
  for (const size_t good : {0, 4}) {
    const T* const want = &before[good * 4];
    EXPECT_THAT(std::vector<T>(&x[good * 4], &x[good * 4] + 4), ElementsAre(want[0], 0, want[2], want[3]));
  }
  EXPECT_THAT(std::vector<T>(x.begin() + 4, x.begin() + 16), Each(::testing::IsNan()));
}

TYPED_TEST(MatrixKernelTest, CopyRepairs) {
  using T = TypeParam;
  std::vector<T> x(2 * 6, this->kNan), y(2 * 6);
  std::iota(x.begin(), x.begin() + 6, T{1});
  const std::vector<uint32_t> bad = {0, 1};
  LaunchOnCpu<MatrixCopyParameters>(sinter_matrix_copy,
                                    {.from = x.data(),
                                     .to = y.data(),
                                     .bad = bad.data(),
                                     .batch = 2,
                                     .rows = 2,
                                     .columns = 3,
                                     .stride = 6,
                                     .leading = 3,
                                     .is_f64 = this->kIsF64,
                                     .repairs = 1},
                                    1);
  EXPECT_THAT(y, ElementsAre(1, 2, 3, 4, 5, 6, 1, 0, 0, 0, 1, 0));
}

TEST(MatrixKernelTest, PointersListMatrices) {
  std::vector<uint64_t> a(200), b(200);
  LaunchOnCpu<MatrixPointersParameters>(
      sinter_matrix_pointers,
      {.list = {a.data(), b.data()}, .first = {1000, 7}, .bytes = {36, 12}, .count = 200}, 2);
  for (uint64_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i], 1000 + 36 * i);
    EXPECT_EQ(b[i], 7 + 12 * i);
  }
  a.assign(200, 5);
  LaunchOnCpu<MatrixPointersParameters>(
      sinter_matrix_pointers, {.list = {nullptr, b.data()}, .first = {0, 0}, .bytes = {0, 8}, .count = 3}, 1);
  EXPECT_THAT(a, Each(5));
  EXPECT_EQ(b[2], 16);
}

// 9,000 rows do not fit into shared memory.
TEST(MatrixKernelTest, PermutationFollowsThePivots) {
  std::mt19937_64 random(4);
  for (const int64_t size : {1, 5, 1500, 9000}) {
    std::vector<int64_t> pivots(2 * static_cast<size_t>(size));
    for (int64_t i = 0; i < 2 * size; ++i) {
      const int64_t row = i % size;
      pivots[static_cast<size_t>(i)] = std::uniform_int_distribution<int64_t>(row, size - 1)(random) + 1;
    }
    // A matrix with NaN may give these.
    pivots[0] = 0;
    pivots.back() = size + 7;
    std::vector<int32_t> want;
    for (int64_t matrix = 0; matrix < 2; ++matrix) {
      std::vector<int32_t> rows(static_cast<size_t>(size));
      std::iota(rows.begin(), rows.end(), 0);
      for (int64_t i = 0; i < size; ++i) {
        const int64_t pivot = pivots[static_cast<size_t>(matrix * size + i)];
        if (pivot < 1 || pivot > size) continue;
        std::swap(rows[static_cast<size_t>(i)], rows[static_cast<size_t>(pivot - 1)]);
      }
      want.insert(want.end(), rows.begin(), rows.end());
    }
    const std::vector<int32_t> narrow(pivots.begin(), pivots.end());
    for (const uint32_t is_i64 : {0, 1}) {
      std::vector<int32_t> got(want.size(), -1);
      const void* const from = is_i64 != 0 ? static_cast<const void*>(pivots.data()) : narrow.data();
      LaunchOnCpu<MatrixPermutationParameters>(sinter_matrix_permutation,
                                               {.pivots = from,
                                                .permutation = got.data(),
                                                .batch = 2,
                                                .size = static_cast<uint64_t>(size),
                                                .is_i64 = is_i64},
                                               1);
      EXPECT_EQ(got, want) << size;
    }
  }
}

// The same reflections as on CPUs, so the same signs.
TYPED_TEST(MatrixKernelTest, QrAgreesWithCpus) {
  using T = TypeParam;
  struct Sizes {
    uint64_t m, n, k;
  };
  for (const Sizes& s : {Sizes{1, 1, 1},
                         {5, 3, 3},
                         {5, 3, 5},
                         {3, 5, 3},
                         {4, 1, 4},
                         {1, 4, 1},
                         {20, 20, 20},
                         {130, 2, 2},
                         {4, 0, 4}}) {
    constexpr uint64_t kBatch = 2;
    std::vector<T> a = RandomMatrix<T>(kBatch * s.m * s.n, 5);
    // A column without elements below the diagonal is not reflected, whatever its sign.
    for (uint64_t i = 1; i < s.m && s.n > 0; ++i) a[i * s.n] = 0;
    std::vector<T> work(a.size(), this->kNan), q(kBatch * s.m * s.k, this->kNan),
        r(kBatch * s.k * s.n, this->kNan), want_q(q.size()), want_r(r.size());
    LaunchOnCpu<MatrixQrParameters>(sinter_matrix_qr,
                                    {.a = a.data(),
                                     .work = work.data(),
                                     .q = q.data(),
                                     .r = r.data(),
                                     .batch = kBatch,
                                     .rows = s.m,
                                     .columns = s.n,
                                     .sides = s.k,
                                     .is_f64 = this->kIsF64},
                                    1);
    for (uint64_t i = 0; i < kBatch; ++i) {
      FactorQr<T>(static_cast<int64_t>(s.m), static_cast<int64_t>(s.n), static_cast<int64_t>(s.k),
                  a.data() + i * s.m * s.n, want_q.data() + i * s.m * s.k, want_r.data() + i * s.k * s.n);
    }
    const double tolerance = 40 * static_cast<double>(std::numeric_limits<T>::epsilon());
    EXPECT_THAT(q, ::testing::Pointwise(::testing::DoubleNear(tolerance), want_q)) << s.m << " x " << s.n;
    EXPECT_THAT(r, ::testing::Pointwise(::testing::DoubleNear(tolerance * std::sqrt(s.m)), want_r))
        << s.m << " x " << s.n;
  }
}

// Numbers of which squares overflow or vanish, and NaN, which reaches the results.
TYPED_TEST(MatrixKernelTest, QrScales) {
  using T = TypeParam;
  const auto largest_of_r = [&](std::vector<T> a) {
    std::vector<T> work(4), q(4), r(4);
    LaunchOnCpu<MatrixQrParameters>(sinter_matrix_qr,
                                    {.a = a.data(),
                                     .work = work.data(),
                                     .q = q.data(),
                                     .r = r.data(),
                                     .batch = 1,
                                     .rows = 2,
                                     .columns = 2,
                                     .sides = 2,
                                     .is_f64 = this->kIsF64},
                                    1);
    return std::abs(r[0]);
  };
  const T large = std::sqrt(std::numeric_limits<T>::max()) * 16;
  const T small = std::sqrt(std::numeric_limits<T>::min()) / 16;
  for (const T unit : {large, small}) {
    EXPECT_NEAR(largest_of_r({3 * unit, 0, 4 * unit, unit}) / unit, 5, 1e-5);
  }
  EXPECT_TRUE(std::isnan(largest_of_r({0, 0, this->kNan, 1})));
  EXPECT_TRUE(std::isnan(largest_of_r({this->kNan, 0, 1, 1})));
}

}  // namespace
}  // namespace sinter::kernels
