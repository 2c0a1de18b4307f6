// The catalogue's kernels of matrices, and plans that call them wrongly.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/kernels/cpu/catalog/catalog.h"
#include "sinter/tests/runtime/step_values.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

constexpr int64_t kF64 = 0, kF32 = 1;

AddStep CallingMatrices(const std::string& kernel, const std::vector<int64_t>& parameters) {
  return [=](TestFunction& f, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out) {
    f.Catalog(kernel, parameters, in, out);
  };
}

HostTensor Doubles(const std::vector<int64_t>& shape, const std::vector<double>& values) {
  return MakeTensor(DType::kF64, shape, values);
}

// Random matrices with a large diagonal: each is far from singular.
HostTensor Dominant(DType dtype, int64_t batch, int64_t n) {
  std::vector<double> values = RandomValues(batch * n * n, 5);
  for (int64_t i = 0; i < batch * n; ++i)
    values[static_cast<size_t>(i * n + i % n)] = 4.0 * static_cast<double>(n);
  return MakeTensor(dtype, {batch, n, n}, values);
}

TEST(MatricesTest, KnownFactors) {
  // The upper triangle is not read.
  const HostTensor a = Doubles({1, 3, 3}, {4, 99, 99, 12, 37, 99, -16, -43, 98});
  EXPECT_THAT(RunStep({&a}, {{DType::kF64, {1, 3, 3}}}, CallingMatrices("cholesky", {kF64, 1, 3}))[0],
              ElementsAre(2, 0, 0, 6, 1, 0, -8, 5, 3));
  const HostTensor b = Doubles({1, 2, 2}, {2, 7, 1, 2});
  const auto eigh =
      RunStep({&b}, {{DType::kF64, {1, 2}}, {DType::kF64, {1, 2, 2}}}, CallingMatrices("eigh", {kF64, 1, 2}));
  ExpectNear(eigh[0], {1, 3}, 1e-14, "eigenvalues");
  for (double x : eigh[1]) EXPECT_NEAR(std::abs(x), std::sqrt(0.5), 1e-14);
  const HostTensor c = Doubles({1, 2, 2}, {3, 0, 4, 5});
  const auto svd = RunStep({&c}, {{DType::kF64, {1, 2, 2}}, {DType::kF64, {1, 2}}, {DType::kF64, {1, 2, 2}}},
                           CallingMatrices("svd", {kF64, 1, 2, 2}));
  ExpectNear(svd[1], {std::sqrt(45.0), std::sqrt(5.0)}, 1e-14, "singular values");
  const HostTensor d = Doubles({1, 2, 2}, {1, 2, 4, 2});
  const auto lu =
      RunStep({&d}, {{DType::kF64, {1, 2, 2}}, {DType::kI32, {1, 2}}}, CallingMatrices("lu", {kF64, 1, 2}));
  EXPECT_THAT(lu[0], ElementsAre(4, 2, 0.25, 1.5));
  EXPECT_THAT(lu[1], ElementsAre(1, 0));
  const HostTensor e = Doubles({1, 2, 1}, {3, 4});
  const auto qr = RunStep({&e}, {{DType::kF64, {1, 2, 2}}, {DType::kF64, {1, 2, 1}}},
                          CallingMatrices("qr", {kF64, 1, 2, 1, 1}));
  ExpectNear(qr[0], {-0.6, -0.8, -0.8, 0.6}, 1e-15, "q");
  ExpectNear(qr[1], {-5, 0}, 1e-15, "r");
}

TEST(MatricesTest, AFailureIsNanForItsMatrixAlone) {
  const double nan = std::nan("");
  const HostTensor a = Doubles({3, 2, 2}, {1, 0, 2, 1, 4, 0, 0, 9, nan, 0, 0, 1});
  TestPlan plan;
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF64, {3, 2, 2}), y = f.Arena(DType::kF64, {3, 2, 2});
  f.Catalog("cholesky", {kF64, 3, 2}, {x}, {y});
  f.Output("y", y);
  absl::StatusOr<Session> session = plan.MakeSession({.threads = 2});
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = session->Run("f", {{"x", a}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const std::vector<double> l = ToDoubles((*outputs)["y"]);
  EXPECT_THAT(std::vector<double>(l.begin(), l.begin() + 4), Each(IsNan()));
  EXPECT_THAT(std::vector<double>(l.begin() + 4, l.begin() + 8), ElementsAre(2, 0, 0, 3));
  EXPECT_THAT(std::vector<double>(l.begin() + 8, l.end()), Each(IsNan()));
}

// RunStep compares the bits for several numbers of threads.
TEST(MatricesTest, ThreadsGiveTheSameBits) {
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    const int64_t number = static_cast<int64_t>(dtype);
    for (const auto& [batch, n] : {std::pair<int64_t, int64_t>{1, 90}, {40, 3}, {3, 70}}) {
      const HostTensor a = Dominant(dtype, batch, n);
      const HostTensor b = MakeTensor(dtype, {batch, n, 200}, RandomValues(batch * n * 200, 6));
      const TensorType matrix{dtype, {batch, n, n}}, vector{dtype, {batch, n}};
      const std::vector<int> threads = {1, 2, 3};
      RunStep({&a}, {matrix}, CallingMatrices("cholesky", {number, batch, n}), threads);
      RunStep({&a}, {matrix, matrix}, CallingMatrices("qr", {number, batch, n, n, 0}), threads);
      RunStep({&a}, {vector, matrix}, CallingMatrices("eigh", {number, batch, n}), threads);
      RunStep({&a}, {matrix, vector, matrix}, CallingMatrices("svd", {number, batch, n, n}), threads);
      RunStep({&a}, {matrix, {DType::kI32, {batch, n}}}, CallingMatrices("lu", {number, batch, n}), threads);
      RunStep({&a, &b}, {{dtype, {batch, n, 200}}},
              CallingMatrices("triangular_solve", {number, batch, n, 200, 1, 0, 0, 0}), threads);
    }
  }
}

// The result may be in the memory of the operand.
TEST(MatricesTest, InPlace) {
  const HostTensor a = Dominant(DType::kF64, 2, 5);
  const HostTensor b = MakeTensor(DType::kF64, {2, 5, 100}, RandomValues(1000, 3));
  const auto in_place = [](const std::string& kernel, const std::vector<int64_t>& parameters) {
    return [=](TestFunction& f, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out) {
      f.Copy(in.back(), out[0]);
      std::vector<uint32_t> operands = in;
      operands.back() = out[0];
      f.Catalog(kernel, parameters, operands, out);
    };
  };
  const TensorType matrix{DType::kF64, {2, 5, 5}}, sides{DType::kF64, {2, 5, 100}};
  EXPECT_EQ(RunStep({&a}, {matrix}, in_place("cholesky", {kF64, 2, 5})),
            RunStep({&a}, {matrix}, CallingMatrices("cholesky", {kF64, 2, 5})));
  const std::vector<int64_t> solve = {kF64, 2, 5, 100, 0, 1, 0, 0};
  EXPECT_EQ(RunStep({&a, &b}, {sides}, in_place("triangular_solve", solve)),
            RunStep({&a, &b}, {sides}, CallingMatrices("triangular_solve", solve)));
}

struct BrokenCall {
  const char* kernel;
  std::vector<int64_t> parameters;
  std::vector<std::vector<int64_t>> inputs, outputs;
  const char* message;
};

constexpr int64_t kHugeSize = int64_t{1} << 40;

const std::vector<BrokenCall> kBrokenMatrixCalls = {
    {"cholesky",
     {kF32, 1, 3},
     {{1, 2, 2}},
     {{1, 2, 2}},
     "a has 4 elements of f32, and the parameters make 9"},
    {"cholesky",
     {kF32, 1, 2},
     {{1, 2, 2}},
     {{1, 2, 3}},
     "l has 6 elements of f32, and the parameters make 4"},
    {"cholesky",
     {kF64, 1, 2},
     {{1, 2, 2}},
     {{1, 2, 2}},
     "a has 4 elements of f32, and the parameters make 4 of f64"},
    {"cholesky",
     {2, 1, 2},
     {{1, 2, 2}},
     {{1, 2, 2}},
     "matrices are f32 or f64, not of element type number 2"},
    {"cholesky", {kF32, -1, 2}, {{1, 2, 2}}, {{1, 2, 2}}, "the size -1 is out of range"},
    {"cholesky", {kF32, 1, kHugeSize}, {{1, 2, 2}}, {{1, 2, 2}}, "is out of range"},
    {"cholesky", {kF32, 1}, {{1, 2, 2}}, {{1, 2, 2}}, "the kernel cholesky has 3 parameters, not 2"},
    {"triangular_solve", {kF32, 1, 2, 3, 0, 0, 0, 2}, {{2, 2}, {2, 3}}, {{2, 3}}, "right is 2, not 0 or 1"},
    {"triangular_solve", {kF32, 1, 2, 3, -1, 0, 0, 0}, {{2, 2}, {2, 3}}, {{2, 3}}, "upper is -1, not 0 or 1"},
    {"triangular_solve", {kF32, 1, 2, 4, 0, 0, 0, 0}, {{2, 2}, {2, 3}}, {{2, 4}}, "b has 6 elements"},
    {"triangular_solve", {kF32, 1, 2, 3, 0, 0, 0, 0}, {{2, 2}, {2, 3}}, {{2, 2}}, "x has 4 elements"},
    {"qr",
     {kF32, 1, 3, 2, 0},
     {{3, 2}},
     {{3, 3}, {2, 2}},
     "q has 9 elements of f32, and the parameters make 6"},
    {"qr",
     {kF32, 1, 3, 2, 1},
     {{3, 2}},
     {{3, 3}, {2, 2}},
     "r has 4 elements of f32, and the parameters make 6"},
    {"qr", {kF32, 1, 3, 2, 7}, {{3, 2}}, {{3, 3}, {3, 2}}, "complete is 7, not 0 or 1"},
    {"qr", {kF32, 1, kHugeSize, 0, 1}, {{0}}, {{0}, {0}}, "is out of range"},
    {"eigh", {kF32, 1, 2}, {{2, 2}}, {{3}, {2, 2}}, "the eigenvalues has 3 elements"},
    {"eigh", {kF32, 1, 2}, {{2, 2}}, {{2}, {2}}, "the eigenvectors has 2 elements"},
    {"svd", {kF32, 1, 3, 2}, {{3, 2}}, {{3, 3}, {2}, {2, 2}}, "u has 9 elements"},
    {"svd", {kF32, 1, 3, 2}, {{3, 2}}, {{3, 2}, {3}, {2, 2}}, "the singular values has 3 elements"},
    {"svd", {kF32, 1, 3, 2}, {{3, 2}}, {{3, 2}, {2}, {2, 3}}, "vt has 6 elements"},
    {"lu",
     {kF32, 1, 2},
     {{2, 2}},
     {{2, 2}, {2}},
     "the permutation has 2 elements of f32, and the parameters make 2 of i32"},
    {"lu", {kF32, 0, int64_t{1} << 31}, {{0}}, {{0}, {0}}, "a matrix of 2147483648 rows exceeds i32"},
};

// A plan is refused before it runs: each size decides what the kernel reads and writes.
TEST(MatricesTest, BrokenPlansAreRefused) {
  for (const BrokenCall& call : kBrokenMatrixCalls) {
    TestPlan plan;
    TestFunction f(plan, "f");
    std::vector<uint32_t> in, out;
    for (size_t i = 0; i < call.inputs.size(); ++i)
      in.push_back(f.Input("x" + std::to_string(i), DType::kF32, call.inputs[i]));
    for (const std::vector<int64_t>& shape : call.outputs) out.push_back(f.Arena(DType::kF32, shape));
    f.Catalog(call.kernel, call.parameters, in, out);
    for (size_t i = 0; i < out.size(); ++i) f.Output("y" + std::to_string(i), out[i]);
    const absl::Status status = plan.Make().status();
    ASSERT_FALSE(status.ok()) << call.kernel << ": " << call.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(call.message));
  }
}

// On GPUs, libraries take what they can count in 32 bits.
TEST(MatricesTest, PlansOfGpusHaveSizesOf32Bits) {
  const auto status_of = [](int64_t rows) {
    TestPlan plan;
    plan.UseDevices({Device::Gpu(0)});
    TestFunction f(plan, "f");
    const uint32_t a = f.Arena(DType::kF32, {0});
    f.Catalog("qr", {kF32, 0, rows, 2, 0}, {a}, {f.Arena(DType::kF32, {0}), f.Arena(DType::kF32, {0})});
    return plan.Make().status();
  };
  EXPECT_TRUE(status_of((int64_t{1} << 31) - 1).ok()) << status_of((int64_t{1} << 31) - 1);
  EXPECT_THAT(
      std::string(status_of(int64_t{1} << 31).message()),
      HasSubstr("it runs on gpu:0, which does not compute it, because cuSOLVER and cuBLAS take at most "
                "2147483647 rows, columns and matrices, not 2147483648"));
}

}  // namespace
}  // namespace sinter
