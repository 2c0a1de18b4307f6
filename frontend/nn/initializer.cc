#include "sinter/frontend/nn/initializer.h"

#include <cmath>
#include <utility>

namespace sinter::nn {

namespace {

// The deviation of a normal distribution of deviation 1, cut to two deviations.
constexpr double kDeviationOfTruncated = 0.87962566103423978;

}  // namespace

Initializer::Initializer(VariableInit::Values values)
    : values_(std::make_shared<const VariableInit::Values>(std::move(values))) {}

Initializer Initializer::Between(double low, double high) const {
  Initializer result = *this;
  result.low_ = low, result.high_ = high;
  return result;
}

VariableInit Initializer::Resolve(double fan_in, double fan_out) const {
  if (values_ != nullptr) return {.kind = VariableInit::Kind::kValues, .values = values_};
  const double fan = fan_ == Fan::kIn ? fan_in : fan_ == Fan::kOut ? fan_out : (fan_in + fan_out) / 2;
  double variance = fan > 0 ? a_ / fan : 0;
  switch (kind_) {
    case Kind::kConstant:
      return {VariableInit::Kind::kConstant, a_, 0};
    case Kind::kNormal:
      return {VariableInit::Kind::kNormal, a_, b_};
    case Kind::kUniform:
      return {VariableInit::Kind::kUniform, a_, b_};
    case Kind::kScaledNormal:
      return {VariableInit::Kind::kNormal, 0, std::sqrt(variance)};
    case Kind::kScaledUniform:
      return {VariableInit::Kind::kUniform, -std::sqrt(3 * variance), std::sqrt(3 * variance)};
    case Kind::kOrthogonal:
      return {VariableInit::Kind::kOrthogonal, a_, 0};
    case Kind::kTruncated:
      return {VariableInit::Kind::kTruncatedNormal, a_, b_, low_, high_};
    case Kind::kScaledTruncated:
      return {VariableInit::Kind::kTruncatedNormal, 0, std::sqrt(variance) / kDeviationOfTruncated, -2, 2};
  }
  return {};
}

Initializer Zeros() { return Constant(0); }
Initializer Ones() { return Constant(1); }
Initializer Constant(double value) { return {Initializer::Kind::kConstant, value, 0}; }
Initializer Normal(double stddev, double mean) { return {Initializer::Kind::kNormal, mean, stddev}; }
Initializer Uniform(double low, double high) { return {Initializer::Kind::kUniform, low, high}; }
Initializer GlorotNormal() { return {Initializer::Kind::kScaledNormal, 1, 0, Initializer::Fan::kAverage}; }
Initializer GlorotUniform() { return {Initializer::Kind::kScaledUniform, 1, 0, Initializer::Fan::kAverage}; }
Initializer HeNormal() { return {Initializer::Kind::kScaledNormal, 2, 0}; }
Initializer HeUniform() { return {Initializer::Kind::kScaledUniform, 2, 0}; }
Initializer LeCunNormal() { return {Initializer::Kind::kScaledNormal, 1, 0}; }
Initializer LeCunUniform() { return {Initializer::Kind::kScaledUniform, 1, 0}; }
Initializer VarianceScaling(double scale, Initializer::Fan fan, Spread spread) {
  static constexpr Initializer::Kind kKinds[] = {Initializer::Kind::kScaledNormal,
                                                 Initializer::Kind::kScaledUniform,
                                                 Initializer::Kind::kScaledTruncated};
  return {kKinds[static_cast<int>(spread)], scale, 0, fan};
}

double Gain(Nonlinearity nonlinearity, double slope) {
  switch (nonlinearity) {
    case Nonlinearity::kLinear:
    case Nonlinearity::kSigmoid:
      return 1;
    case Nonlinearity::kTanh:
      return 5.0 / 3;
    case Nonlinearity::kRelu:
      return std::sqrt(2);
    case Nonlinearity::kLeakyRelu:
      return std::sqrt(2 / (1 + slope * slope));
    case Nonlinearity::kSelu:
      return 0.75;
  }
  return 1;
}

Initializer Orthogonal(double gain) { return {Initializer::Kind::kOrthogonal, gain, 0}; }

}  // namespace sinter::nn
