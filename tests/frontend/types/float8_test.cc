// 8-bit floats in programs: all bit patterns against tables, moves that keep bits, and files.
//
// SINTER_TEST_DEVICE=gpu:0 runs the tests on this GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "sinter/runtime/host/float8.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAreArray;

// A format by its definition: sign, exponent and mantissa.
struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits;
  bool has_infinity;
  int largest;  // Bits of the largest finite number.

  double ValueOf(int bits) const {
    const int bias = (1 << (exponent_bits - 1)) - 1, most = (1 << exponent_bits) - 1;
    const int exponent = bits >> mantissa_bits & most, mantissa = bits & ((1 << mantissa_bits) - 1);
    const double sign = bits & 0x80 ? -1 : 1;
    if ((bits & 0x7f) > largest)
      return has_infinity && mantissa == 0 ? sign * INFINITY : std::copysign(NAN, sign);
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }

  // Returns the bits nearest to x, by trying all; of two that are equally near the even ones.
  int BitsOf(double x) const {
    const int sign = std::signbit(x) ? 0x80 : 0, beyond = largest + 1;
    if (std::isnan(x)) return sign | 0x7f;
    // The number that would follow the largest.
    const double next = 2 * ValueOf(largest) - ValueOf(largest - 1);
    if (std::fabs(x) >= next) return sign | beyond;
    int best = 0;
    for (int bits = 0; bits <= beyond; ++bits) {
      const auto distance = [&](int b) {
        return std::fabs(std::fabs(x) - (b == beyond ? next : ValueOf(b)));
      };
      const bool is_nearer =
          distance(bits) < distance(best) || (distance(bits) == distance(best) && bits % 2 == 0);
      if (is_nearer) best = bits;
    }
    return sign | best;  // `beyond` has the bits of infinity, or of NaN.
  }
};
const Format kFormats[] = {{F8E4M3, 4, 3, false, 0x7e}, {F8E5M2, 5, 2, true, 0x7b}};

HostTensor Bytes(DType dtype, const std::vector<uint8_t>& bits) {
  HostTensor tensor = *HostTensor::Empty(dtype, {static_cast<int64_t>(bits.size())});
  std::memcpy(tensor.mutable_data(), bits.data(), bits.size());
  return tensor;
}
std::vector<uint8_t> BitsOf(const HostTensor& tensor) {
  const auto* const data = static_cast<const uint8_t*>(tensor.data());
  return std::vector<uint8_t>(data, data + tensor.num_bytes());
}
std::vector<uint8_t> AllBits() {
  std::vector<uint8_t> bits(256);
  std::iota(bits.begin(), bits.end(), uint8_t{0});
  return bits;
}

using Float8Test = DeviceTest;

// Runs y = f(x) for an input x.
HostTensor RunOn(const HostTensor& x, const std::function<Tensor(Builder&, const Tensor&)>& f) {
  Graph graph("g");
  graph.Function("f", Mode::kEval,
                 [&](Builder& b) { b.Output("y", f(b, b.Input("x", x.dtype(), x.shape()))); });
  Session session = MustStart(graph, {.device = TestDevice()});
  auto outputs = session.Run("f", {{"x", x}});
  SINTER_CHECK(outputs.ok()) << outputs.status();
  return *(*outputs)["y"].Clone();
}

TEST_F(Float8Test, AllBitsHaveTheValuesOfTheFormat) {
  for (const Format& format : kFormats) {
    for (const DType to : {F64, F32, BF16, F16}) {
      const HostTensor y = RunOn(Bytes(format.dtype, AllBits()),
                                 [&](Builder&, const Tensor& x) { return Cast(Cast(x, to), F32); });
      const std::vector<float> got = ToFloats(y);
      for (int bits = 0; bits < 256; ++bits) {
        const double want = format.ValueOf(bits);
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(got[static_cast<size_t>(bits)])) << DTypeName(format.dtype) << " " << bits;
        } else {
          EXPECT_EQ(got[static_cast<size_t>(bits)], want) << DTypeName(format.dtype) << " " << bits;
        }
        // Conversions on a GPU give NaNs of one sign.
        if (std::isnan(want) && TestDevice().is_gpu()) continue;
        EXPECT_EQ(std::signbit(got[static_cast<size_t>(bits)]), bits >= 128) << bits;
      }
    }
  }
}

TEST_F(Float8Test, EveryHalfRoundsToTheNearest) {
  std::vector<Float16> halves(65536);
  std::vector<BFloat16> wide(65536);
  for (size_t i = 0; i < halves.size(); ++i) {
    halves[i].bits = static_cast<uint16_t>(i), wide[i].bits = static_cast<uint16_t>(i);
  }
  const HostTensor all[] = {*HostTensor::FromVector<Float16>({65536}, halves),
                            *HostTensor::FromVector<BFloat16>({65536}, wide)};
  for (const Format& format : kFormats) {
    for (const HostTensor& x : all) {
      const std::vector<uint8_t> got =
          BitsOf(RunOn(x, [&](Builder&, const Tensor& t) { return Cast(t, format.dtype); }));
      int wrong = 0;
      for (size_t i = 0; i < got.size(); ++i) {
        const float value = x.dtype() == F16 ? halves[i].ToFloat() : wide[i].ToFloat();
        const int want = format.BitsOf(value);
        const uint8_t on_host =
            format.dtype == F8E4M3 ? Float8E4M3::FromFloat(value).bits : Float8E5M2::FromFloat(value).bits;
        EXPECT_EQ(on_host, want) << value;
        // A conversion to f32 in hardware may change the sign of NaN on GPUs.
        const bool is_nan = std::isnan(value) && (got[i] & 0x7f) == 0x7f;
        if (!is_nan && got[i] != want && ++wrong < 10)
          ADD_FAILURE() << value << " gives " << int{got[i]} << ", not " << want;
      }
      EXPECT_EQ(wrong, 0) << DTypeName(format.dtype) << " of " << x.ToString();
    }
  }
}

TEST_F(Float8Test, FloatsRoundOnceAndIntegersAndBoolsConvert) {
  const std::vector<float> values = {
      464,           std::nextafter(464.0f, 1000.0f),     448,   -480,    61439, 61440, 1e-9f, -0.0f,
      0.0009765625f, std::nextafter(0.0009765625f, 1.0f), 1e30f, INFINITY};
  const HostTensor x = *HostTensor::FromVector<float>({static_cast<int64_t>(values.size())}, values);
  for (const Format& format : kFormats) {
    std::vector<uint8_t> want;
    for (float value : values) want.push_back(static_cast<uint8_t>(format.BitsOf(value)));
    EXPECT_THAT(BitsOf(RunOn(x, [&](Builder&, const Tensor& t) { return Cast(t, format.dtype); })),
                ElementsAreArray(want));
    const HostTensor whole = *HostTensor::FromVector<int32_t>({4}, {-3, 0, 17, 300});
    const HostTensor back =
        RunOn(whole, [&](Builder&, const Tensor& t) { return Cast(Cast(t, format.dtype), I32); });
    EXPECT_THAT(std::vector<int32_t>(back.Span<int32_t>()->begin(), back.Span<int32_t>()->end()),
                ::testing::ElementsAre(-3, 0, 16, format.dtype == F8E4M3 ? 288 : 320));
    EXPECT_THAT(ToFloats(RunOn(whole,
                               [&](Builder&, const Tensor& t) {
                                 return Cast(Cast(Cast(Cast(t, I1), format.dtype), I1), F32);
                               })),
                ::testing::ElementsAre(1, 0, 1, 1));
  }
}

// Moves keep the bits, also those of NaN.
TEST_F(Float8Test, MovesKeepBits) {
  for (const Format& format : kFormats) {
    const HostTensor x = Bytes(format.dtype, AllBits());
    const auto same = [](Builder&, const Tensor& t) {
      const Tensor square = Transpose(Reshape(t, {16, 16}), {1, 0});
      const Tensor halves = Concat({Slice(square, {0, 8}, {16, 16}), Slice(square, {0, 0}, {16, 8})}, 1);
      const Tensor turned = Concat({Slice(halves, {0, 8}, {16, 16}), Slice(halves, {0, 0}, {16, 8})}, 1);
      return Reshape(Transpose(turned, {1, 0}), {256});
    };
    EXPECT_THAT(BitsOf(RunOn(x, same)), ElementsAreArray(AllBits()));
    const auto gathered = [](Builder& b, const Tensor& t) {
      return Gather(t, b.Constant(*HostTensor::FromVector<int32_t>({3}, {255, 1, 127})), 0);
    };
    EXPECT_THAT(BitsOf(RunOn(x, gathered)), ::testing::ElementsAre(255, 1, 127));
    const auto selected = [](Builder& b, const Tensor& t) { return Select(b.Full(I1, {256}, 1), t, t); };
    EXPECT_THAT(BitsOf(RunOn(x, selected)), ElementsAreArray(AllBits()));
    const auto padded = [](Builder&, const Tensor& t) { return Pad(Slice(t, {0}, {2}), {1}, {1}, 1.0); };
    const uint8_t one = format.dtype == F8E4M3 ? 0x38 : 0x3c;
    EXPECT_THAT(BitsOf(RunOn(x, padded)), ::testing::ElementsAre(one, 0, 1, one));
    const auto constant = [&](Builder& b, const Tensor& t) {
      return Concat({t, b.Constant(Bytes(format.dtype, {0x7f, 0x01, 0x80}))}, 0);
    };
    EXPECT_THAT(BitsOf(RunOn(Bytes(format.dtype, {3}), constant)), ::testing::ElementsAre(3, 0x7f, 1, 0x80));
  }
}

// A weight that is stored in 8 bits.
TEST_F(Float8Test, VariablesHoldThem) {
  for (const Format& format : kFormats) {
    Graph graph("g");
    const Variable weight =
        graph.Variable("weight", format.dtype, {4}, {.init = {.a = 1.5}, .trainable = false});
    graph.Function("f", Mode::kEval, [&](Builder& b) {
      b.Output("y", Cast(b.Read(weight), F32) * 2.0);
      b.Assign(weight, Cast(b.Full(F32, {4}, 3.25), format.dtype));
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    EXPECT_THAT(Floats(session, "f", {}, "y"), ::testing::Each(3.0f));
    EXPECT_THAT(Floats(session, "f", {}, "y"), ::testing::Each(format.dtype == F8E4M3 ? 6.5f : 6.0f));
  }
}

}  // namespace
}  // namespace sinter
