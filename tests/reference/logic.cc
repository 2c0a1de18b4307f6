// Comparisons, logic, selection and conversion.
#include <cmath>

#include "sinter/ir/dialect/ops.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

template <typename T>
bool Holds(ir::Comparison predicate, T x, T y) {
  switch (predicate) {
    case ir::Comparison::eq:
      return x == y;
    case ir::Comparison::ne:
      return x != y;
    case ir::Comparison::lt:
      return x < y;
    case ir::Comparison::le:
      return x <= y;
    case ir::Comparison::gt:
      return x > y;
    case ir::Comparison::ge:
      return x >= y;
  }
  return false;
}

std::vector<Value> Compare(const Call& call) {
  ir::Comparison predicate = llvm::cast<ir::CompareOp>(call.op).getPredicate();
  const Value &x = call.in[0], &y = call.in[1];
  Value r = call.Result();
  for (size_t i = 0; i < r.ints.size(); ++i) {
    if (x.dtype == DType::kU64) {
      r.ints[i] = Holds(predicate, static_cast<uint64_t>(x.ints[i]), static_cast<uint64_t>(y.ints[i]));
    } else {
      r.ints[i] =
          x.is_real() ? Holds(predicate, x.reals[i], y.reals[i]) : Holds(predicate, x.ints[i], y.ints[i]);
    }
  }
  return {r};
}

std::vector<Value> LogicalAnd(const Call& call) {
  Value r = call.Result();
  for (size_t i = 0; i < r.ints.size(); ++i) r.ints[i] = call.in[0].ints[i] != 0 && call.in[1].ints[i] != 0;
  return {r};
}
std::vector<Value> LogicalOr(const Call& call) {
  Value r = call.Result();
  for (size_t i = 0; i < r.ints.size(); ++i) r.ints[i] = call.in[0].ints[i] != 0 || call.in[1].ints[i] != 0;
  return {r};
}
std::vector<Value> LogicalXor(const Call& call) {
  Value r = call.Result();
  for (size_t i = 0; i < r.ints.size(); ++i) r.ints[i] = call.in[0].ints[i] != call.in[1].ints[i];
  return {r};
}
std::vector<Value> LogicalNot(const Call& call) {
  Value r = call.Result();
  for (size_t i = 0; i < r.ints.size(); ++i) r.ints[i] = call.in[0].ints[i] == 0;
  return {r};
}
std::vector<Value> IsNan(const Call& call) {
  Value r = call.Result();
  for (size_t i = 0; i < r.ints.size(); ++i) r.ints[i] = std::isnan(call.in[0].reals[i]);
  return {r};
}
std::vector<Value> IsFinite(const Call& call) {
  Value r = call.Result();
  for (size_t i = 0; i < r.ints.size(); ++i) r.ints[i] = std::isfinite(call.in[0].reals[i]);
  return {r};
}
std::vector<Value> IsInf(const Call& call) {
  Value r = call.Result();
  for (size_t i = 0; i < r.ints.size(); ++i) r.ints[i] = std::isinf(call.in[0].reals[i]);
  return {r};
}

std::vector<Value> Select(const Call& call) {
  Value r = call.Result();
  for (int64_t i = 0; i < r.size(); ++i) r.Copy(i, call.in[0].ints[i] != 0 ? call.in[1] : call.in[2], i);
  return {r};
}

std::vector<Value> Clamp(const Call& call) {
  double low = call.Real("low"), high = call.Real("high");
  Value r = call.in[0];
  for (double& x : r.reals) x = x < low ? low : x > high ? high : x;
  for (size_t i = 0; i < r.ints.size(); ++i) {
    const double number = r.Number(static_cast<int64_t>(i));
    if (number < low) r.ints[i] = static_cast<int64_t>(low);
    if (number > high) r.ints[i] = static_cast<int64_t>(high);
  }
  return {r};
}

std::vector<Value> Cast(const Call& call) {
  const Value& x = call.in[0];
  Value r = call.Result();
  for (int64_t i = 0; i < r.size(); ++i) {
    if (r.dtype == DType::kI1) {
      r.ints[i] = x.is_real() ? x.reals[i] != 0 : x.ints[i] != 0;
    } else if (!r.is_real()) {
      r.ints[i] = x.is_real() ? ToInteger(r.dtype, x.reals[i]) : x.ints[i];
    } else if (x.is_real()) {
      r.reals[i] = x.reals[i];
    } else {
      // Rounds a large integer to f32 once, not first to double and then to float.
      const bool is_large = x.dtype == DType::kU64;
      const auto bits = static_cast<uint64_t>(x.ints[i]);
      const float single = is_large ? static_cast<float>(bits) : static_cast<float>(x.ints[i]);
      r.reals[i] = r.dtype == DType::kF32 ? single : x.Number(i);
    }
  }
  return {r};
}

std::vector<Value> PassOn(const Call& call) { return {call.in[0]}; }

}  // namespace

void AddLogicOps(OpTable& table) {
  table["sinter.compare"] = Compare;
  table["sinter.logical_and"] = LogicalAnd;
  table["sinter.logical_or"] = LogicalOr;
  table["sinter.logical_xor"] = LogicalXor;
  table["sinter.logical_not"] = LogicalNot;
  table["sinter.is_nan"] = IsNan;
  table["sinter.is_finite"] = IsFinite;
  table["sinter.is_inf"] = IsInf;
  table["sinter.select"] = Select;
  table["sinter.clamp"] = Clamp;
  table["sinter.cast"] = Cast;
  table["sinter.stop_gradient"] = PassOn;
  table["sinter.gradient_point"] = PassOn;
}

}  // namespace sinter::reference
