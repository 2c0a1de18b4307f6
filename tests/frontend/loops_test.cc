// Loops of the builder: each against the same program with its trips written out.
#include <gmock/gmock.h>

#include <functional>
#include <random>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using testing::HasSubstr;
using testing::Pointwise;
using testing::FloatNear;

using LoopsTest = DeviceTest;

HostTensor Random(const Shape& shape, unsigned seed) {
  std::mt19937 draw(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  HostTensor tensor = *HostTensor::Zeros(DType::kF32, shape);
  for (float& x : *tensor.MutableSpan<float>()) x = uniform(draw);
  return tensor;
}

struct State {
  Tensor h, c;
};

// A cell with a product, gates and two carries.
State Cell(State s, const Tensor& x, const Tensor& w) {
  Tensor z = MatMul(Concat({x, s.h}, 1), w);
  const int64_t width = s.h.dim(1);
  Tensor gate = Sigmoid(Slice(z, {0, 0}, {z.dim(0), width}));
  Tensor value = Tanh(Slice(z, {0, width}, {z.dim(0), 2 * width}));
  s.c = gate * s.c + (1.0 - gate) * value;
  s.h = Tanh(s.c) * gate;
  return s;
}

constexpr int64_t kTrips = 7, kBatch = 3, kInputs = 4, kWidth = 5;

struct Built {
  State last;
  Tensor hs;
};

Built Looped(const Tensor& x, State first, const Tensor& w, bool reverse) {
  auto [last, hs] = Scan(
      first, x,
      [&](State s, const Tensor& slice) {
        s = Cell(s, slice, w);
        return std::pair(s, s.h);
      },
      {.reverse = reverse});
  return {last, hs};
}

Built Unrolled(const Tensor& x, State s, const Tensor& w, bool reverse) {
  std::vector<Tensor> hs(x.dim(0));
  for (int64_t i = 0; i < x.dim(0); ++i) {
    const int64_t at = reverse ? x.dim(0) - 1 - i : i;
    s = Cell(s, x[at], w);
    hs[at] = s.h;
  }
  return {s, Stack(hs, 0)};
}

Graph CellGraph(const std::function<Built(const Tensor&, State, const Tensor&, bool)>& run, bool reverse) {
  Graph graph("cell");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {kTrips, kBatch, kInputs}), w = b.Input("w", F32, {kInputs + kWidth, 2 * kWidth});
    State first{b.Input("h", F32, {kBatch, kWidth}), b.Input("c", F32, {kBatch, kWidth})};
    Built built = run(x, first, w, reverse);
    b.Output("h", built.last.h);
    b.Output("c", built.last.c);
    b.Output("hs", built.hs);
  });
  return graph;
}

TEST_F(LoopsTest, ScanIsTheProgramWrittenOut) {
  for (const bool reverse : {false, true}) {
    Session looped = MustStart(CellGraph(Looped, reverse), {.device = TestDevice()});
    Session unrolled = MustStart(CellGraph(Unrolled, reverse), {.device = TestDevice()});
    const HostTensor x = Random({kTrips, kBatch, kInputs}, 1), w = Random({kInputs + kWidth, 2 * kWidth}, 2);
    const HostTensor h = Random({kBatch, kWidth}, 3), c = Random({kBatch, kWidth}, 4);
    for (const char* output : {"h", "c", "hs"}) {
      for (int run = 0; run < 3; ++run) {
        EXPECT_THAT(Floats(looped, "f", {{"x", x}, {"w", w}, {"h", h}, {"c", c}}, output),
                    Pointwise(FloatNear(1e-6F), Floats(unrolled, "f", {{"x", x}, {"w", w}, {"h", h}, {"c", c}}, output)))
            << output << (reverse ? " reverse" : "");
      }
    }
  }
}

}  // namespace
}  // namespace sinter
