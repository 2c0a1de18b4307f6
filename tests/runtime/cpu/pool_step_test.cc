#include <limits>
#include <tuple>

#include "gtest/gtest.h"
#include "sinter/tests/runtime/image_steps_reference.h"
#include "sinter/tests/runtime/step_values.h"

namespace sinter {
namespace {

fb::PoolStepT Pool(int64_t batch, int64_t channels, std::vector<int64_t> in_size, std::vector<int64_t> window,
                   std::vector<int64_t> strides, std::vector<int64_t> padding) {
  fb::PoolStepT s;
  s.batch = batch, s.channels = channels, s.in_size = in_size, s.window = window, s.strides = strides,
  s.padding = padding;
  for (int d = 0; d < 2; ++d) {
    s.out_size.push_back((in_size[d] + padding[2 * d] + padding[2 * d + 1] - window[d]) / strides[d] + 1);
  }
  return s;
}

class PoolStepTest : public ::testing::TestWithParam<std::tuple<DType, fb::ImageLayout>> {
 protected:
  DType dtype() const { return std::get<0>(GetParam()); }

  std::vector<fb::PoolStepT> Shapes(fb::PoolKind kind) const {
    std::vector<fb::PoolStepT> shapes = {
        Pool(2, 3, {8, 8}, {2, 2}, {2, 2}, {0, 0, 0, 0}),   Pool(2, 5, {9, 7}, {2, 2}, {2, 2}, {0, 0, 0, 0}),
        Pool(1, 4, {10, 11}, {3, 3}, {2, 2}, {1, 1, 1, 1}), Pool(2, 2, {7, 6}, {3, 2}, {1, 1}, {1, 2, 0, 1}),
        Pool(1, 3, {13, 14}, {2, 4}, {3, 3}, {0, 1, 3, 0}), Pool(1, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}),
        Pool(0, 3, {8, 8}, {2, 2}, {2, 2}, {0, 0, 0, 0})};
    for (fb::PoolStepT& s : shapes) {
      s.kind = kind;
      s.dtype = static_cast<fb::DType>(dtype());
      s.layout = std::get<1>(GetParam());
    }
    return shapes;
  }
  std::vector<int64_t> Shape(const fb::PoolStepT& s, const std::vector<int64_t>& size) const {
    if (s.layout == fb::ImageLayout::Nhwc) return {s.batch, size[0], size[1], s.channels};
    return {s.batch, s.channels, size[0], size[1]};
  }
  int64_t Count(const fb::PoolStepT& s, const std::vector<int64_t>& size) const {
    return s.batch * s.channels * size[0] * size[1];
  }
  AddStep Adding(const fb::PoolStepT& s) const {
    return [s](TestFunction& f, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out) {
      f.Pool(s, in, out);
    };
  }
};

TEST_P(PoolStepTest, Max) {
  for (const fb::PoolStepT& s : Shapes(fb::PoolKind::Max)) {
    const std::vector<double> x = RandomValues(Count(s, s.in_size), 1);
    const size_t outputs = static_cast<size_t>(Count(s, s.out_size));
    std::vector<double> want(outputs, -std::numeric_limits<double>::infinity()), position(outputs);
    ForPoolElements(s, [&](size_t in, size_t out, int64_t at) {
      if (x[in] > want[out]) want[out] = x[in], position[out] = static_cast<double>(at);
    });
    const HostTensor tensor = MakeTensor(dtype(), Shape(s, s.in_size), x);
    const auto results =
        RunStep({&tensor}, {{dtype(), Shape(s, s.out_size)}, {DType::kU8, Shape(s, s.out_size)}}, Adding(s));
    EXPECT_EQ(results[0], want);
    EXPECT_EQ(results[1], position);
  }
}

TEST_P(PoolStepTest, MaxGrad) {
  for (const fb::PoolStepT& s : Shapes(fb::PoolKind::MaxGrad)) {
    const int64_t outputs = Count(s, s.out_size);
    const std::vector<double> g = RandomValues(outputs, 1);
    // Every window position inside the image is valid. Uses the last one for every third output, else the
    // first that is not 0.
    std::vector<double> position(static_cast<size_t>(outputs)),
        want(static_cast<size_t>(Count(s, s.in_size)));
    std::vector<size_t> winner(position.size());
    ForPoolElements(s, [&](size_t in, size_t out, int64_t at) {
      if (out % 3 == 0 || position[out] == 0) position[out] = static_cast<double>(at), winner[out] = in;
    });
    for (size_t i = 0; i < winner.size(); ++i) want[winner[i]] += g[i];
    const HostTensor tensor = MakeTensor(dtype(), Shape(s, s.out_size), g);
    const HostTensor positions = MakeTensor(DType::kU8, Shape(s, s.out_size), position);
    ExpectNear(RunStep({&tensor, &positions}, {{dtype(), Shape(s, s.in_size)}}, Adding(s))[0], want,
               Tolerance(dtype()), "max grad");
  }
}

TEST_P(PoolStepTest, Avg) {
  for (const fb::PoolStepT& s : Shapes(fb::PoolKind::Avg)) {
    const std::vector<double> x = RandomValues(Count(s, s.in_size), 1);
    std::vector<double> want(static_cast<size_t>(Count(s, s.out_size)));
    const double count = static_cast<double>(s.window[0] * s.window[1]);
    ForPoolElements(s, [&](size_t in, size_t out, int64_t) { want[out] += x[in] / count; });
    const HostTensor tensor = MakeTensor(dtype(), Shape(s, s.in_size), x);
    ExpectNear(RunStep({&tensor}, {{dtype(), Shape(s, s.out_size)}}, Adding(s))[0], want, Tolerance(dtype()),
               "avg");
  }
}

TEST_P(PoolStepTest, AvgGrad) {
  for (const fb::PoolStepT& s : Shapes(fb::PoolKind::AvgGrad)) {
    const std::vector<double> g = RandomValues(Count(s, s.out_size), 1);
    std::vector<double> want(static_cast<size_t>(Count(s, s.in_size)));
    const double count = static_cast<double>(s.window[0] * s.window[1]);
    ForPoolElements(s, [&](size_t in, size_t out, int64_t) { want[in] += g[out] / count; });
    const HostTensor tensor = MakeTensor(dtype(), Shape(s, s.out_size), g);
    ExpectNear(RunStep({&tensor}, {{dtype(), Shape(s, s.in_size)}}, Adding(s))[0], want, Tolerance(dtype()),
               "avg grad");
  }
}

TEST_P(PoolStepTest, NanWinsAndInfinityIsAnElement) {
  fb::PoolStepT s = Pool(1, 1, {4, 4}, {2, 2}, {2, 2}, {0, 0, 0, 0});
  s.dtype = static_cast<fb::DType>(dtype());
  s.layout = std::get<1>(GetParam());
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const HostTensor x =
      MakeTensor(dtype(), Shape(s, s.in_size),
                 {-inf, -inf, 1, nan, -inf, -inf, nan, 5, inf, 2, -inf, -inf, 3, inf, -1, -inf});
  // Does not use RunStep: it compares two runs by value, and NaN differs from itself.
  TestPlan plan;
  TestFunction f(plan, "f");
  const uint32_t in = f.Input("x", dtype(), x.shape());
  const uint32_t y = f.Arena(dtype(), Shape(s, s.out_size)), p = f.Arena(DType::kU8, Shape(s, s.out_size));
  f.Pool(s, {in}, {y, p});
  f.Output("y", y);
  f.Output("p", p);
  Session session = *plan.MakeSession();
  absl::StatusOr<Outputs> out = session.Run("f", {{"x", x}});
  const std::vector<double> values = ToDoubles((*out)["y"]);
  EXPECT_EQ(values[0], -inf);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], inf);
  EXPECT_EQ(values[3], -1);
  EXPECT_EQ(ToDoubles((*out)["p"]), (std::vector<double>{0, 1, 0, 2}));
}

INSTANTIATE_TEST_SUITE_P(Types, PoolStepTest,
                         ::testing::Combine(::testing::Values(DType::kF64, DType::kF32, DType::kBf16,
                                                              DType::kF16),
                                            ::testing::Values(fb::ImageLayout::Nchw, fb::ImageLayout::Nhwc)),
                         [](const auto& info) {
                           return std::string(DTypeName(std::get<0>(info.param))) + "_" +
                                  fb::EnumNameImageLayout(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace sinter
