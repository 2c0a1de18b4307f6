// Special functions against SciPy's (scipy.special: gammaln, digamma, polygamma(1), erfinv, betaln).
#include "sinter/frontend/ops/special.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

using SpecialTest = DeviceTest;

struct Row {
  double x, log_gamma, digamma, trigamma;
};
const std::vector<Row> kRows = {{1e-30, 69.07755278982137, -9.999999999999999e+29, 9.999999999999998e+59},
                                {1e-05, 11.512919692895826, -100000.57719921567, 10000000001.644913},
                                {0.1, 2.252712651734206, -10.423754940411076, 101.43329915079275},
                                {0.5, 0.5723649429247, -1.9635100260214235, 4.93480220054468},
                                {0.9, 0.06637623973474327, -0.7549269499470516, 1.9225399594772041},
                                {1.0, 0.0, -0.5772156649015329, 1.6449340668482266},
                                {1.5, -0.12078223763524526, 0.03648997397857652, 0.9348022005446793},
                                {2.0, 0.0, 0.42278433509846713, 0.6449340668482266},
                                {2.5, 0.2846828704729192, 0.7031566406452432, 0.4903577561002349},
                                {3.7, 1.428072326665388, 1.1671535393615113, 0.31003785767003833},
                                {7.9, 8.32426586800881, 2.002238487563571, 0.13493078345663442},
                                {8.0, 8.525161361065415, 2.0156414779556098, 0.13313701469403144},
                                {12.5, 18.73434751193645, 2.4851956512749123, 0.08328522460157839},
                                {100.0, 359.1342053695754, 4.600161852738088, 0.010050166663333573},
                                {100000.0, 1051287.7089736569, 11.512920464961896, 1.0000050000166665e-05},
                                {1e+30, 6.8077552789821365e+31, 69.07755278982137, 9.999999999999999e-31},
                                {-0.5, 1.2655121234846454, 0.03648997397857651, 8.934802200544679},
                                {-1.3, 1.2024757863901114, 2.8825405488661677, 14.536876244137085},
                                {-2.75, 0.0044878975359557705, -1.9590552649779958, 19.433868949488414},
                                {-7.1, -6.408299371963087, 11.697695447544644, 103.22444886369492}};

TEST_F(SpecialTest, LogGammaAndItsDerivatives) {
  std::vector<double> x;
  for (const Row& row : kRows) x.push_back(row.x);
  Values got = Compute([&](Builder& b) {
    const Tensor in = Vector(b, x);
    const Tensor log_gamma = LogGamma(in), digamma = Digamma(in);
    const Tensor slope = Gradients(Sum(log_gamma), {in})[0];
    b.Output("log gamma", log_gamma);
    b.Output("digamma", digamma);
    b.Output("slope", slope);
    b.Output("trigamma", Gradients(Sum(digamma), {in})[0]);
    b.Output("curve", Gradients(Sum(slope), {in})[0]);
    b.Output("f32", LogGamma(Cast(in, F32)));
  });
  for (size_t i = 0; i < kRows.size(); ++i) {
    const Row& row = kRows[i];
    SCOPED_TRACE(row.x);
    const auto near = [](double want, double relative) { return relative * std::max(1.0, std::abs(want)); };
    EXPECT_NEAR(got["log gamma"][i], row.log_gamma, near(row.log_gamma, 5e-14));
    EXPECT_NEAR(got["f32"][i], std::lgamma(static_cast<float>(row.x)), near(row.log_gamma, 2e-7));
    EXPECT_NEAR(got["digamma"][i], row.digamma, near(row.digamma, 5e-14));
    EXPECT_NEAR(got["slope"][i], row.digamma, near(row.digamma, 1e-12));
    EXPECT_NEAR(got["trigamma"][i], row.trigamma, near(row.trigamma, 1e-11));
    EXPECT_NEAR(got["curve"][i], row.trigamma, near(row.trigamma, 1e-11));
  }
}

TEST_F(SpecialTest, PolesAndInfinity) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, {0, -1, -3, 1});
    b.Output("poles", LogGamma(x));
    b.Output("slope", Gradients(LogGamma(x)[3], {x})[0]);
    b.Output("infinity", LogGamma(1.0 / Vector(b, {0})));
  });
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isinf(got["poles"][i]) && got["poles"][i] > 0);
  EXPECT_TRUE(std::isinf(got["infinity"][0]));
  EXPECT_NEAR(got["slope"][3], -0.5772156649015329, 1e-12);
}

TEST_F(SpecialTest, ErfInv) {
  const std::vector<std::vector<double>> rows = {{0.0, 0.0, 0.8862269254527579},
                                                 {1e-08, 8.86226925452758e-09, 0.8862269254527579},
                                                 {0.1, 0.08885599049425769, 0.8932517253051874},
                                                 {-0.5, -0.4769362762044699, 1.1125848189719496},
                                                 {0.84, 0.9935356283473041, 2.3781688651397053},
                                                 {0.85, 1.0179024648320276, 2.497632267943753},
                                                 {0.86, 1.043541843639759, 2.633193430648795},
                                                 {-0.99, -1.8213863677184496, 24.450876473746423},
                                                 {0.999999, 3.458910737275499, 139146.31032670863},
                                                 {0.999999999999, 5.042031898572696, 97323218788.39914},
                                                 {-0.999999999999999, -5.675915739744712, 86852921546857.9}};
  std::vector<double> x;
  for (const auto& row : rows) x.push_back(row[0]);
  Values got = Compute([&](Builder& b) {
    const Tensor in = Vector(b, x);
    const Tensor y = ErfInv(in);
    b.Output("y", y);
    b.Output("slope", Gradients(Sum(y), {in})[0]);
    b.Output("ends", ErfInv(Vector(b, {-1, 1, 1.5})));
  });
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i][0]);
    EXPECT_NEAR(got["y"][i], rows[i][1], 1e-14 * (1 + std::abs(rows[i][1])));
    EXPECT_NEAR(got["slope"][i] / rows[i][2], 1, 1e-9);
  }
  EXPECT_EQ(got["ends"][0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(got["ends"][1], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(got["ends"][2]));
}

TEST_F(SpecialTest, LogBeta) {
  Values got =
      Compute([](Builder& b) { b.Output("y", LogBeta(Vector(b, {2.5, 100}), Vector(b, {0.3, 200}))); });
  EXPECT_NEAR(got["y"][0], 0.8637780733032481, 1e-13);
  EXPECT_NEAR(got["y"][1], -192.134192274979, 1e-11);
}

class SpecialErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(SpecialErrorTest, Says) { ExpectSays(GetParam(), "special_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(Cases, SpecialErrorTest,
                         ::testing::Values(In("Integers", [](Builder& b) { LogGamma(X(b, {2}, I32)); },
                                              {"LogGamma(i32[2])", "takes floats"}),
                                           In("Types", [](Builder& b) { LogBeta(X(b, {2}), X(b, {2}, F64)); },
                                              {"LogBeta(f32[2], f64[2])", "floats of one element type"})),
                         ErrorCaseName);

}  // namespace
}  // namespace sinter
