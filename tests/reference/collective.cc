#include "sinter/tests/reference/collective.h"

#include <algorithm>
#include <cmath>

#include "sinter/ir/dialect/ops.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

using Values = std::vector<Value>;

double Larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b); }
double Smaller(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b); }

// Combines operand `i` of all members in the order of their ranks.
Value Combined(const std::vector<Values>& operands, size_t i, ir::ReduceKind combine) {
  Value sum = operands[0][i];
  double members = static_cast<double>(operands.size());
  for (size_t r = 1; r < operands.size(); ++r) {
    const Value& x = operands[r][i];
    for (size_t k = 0; k < sum.reals.size(); ++k) {
      if (combine == ir::ReduceKind::max) sum.reals[k] = Larger(sum.reals[k], x.reals[k]);
      if (combine == ir::ReduceKind::min) sum.reals[k] = Smaller(sum.reals[k], x.reals[k]);
      if (combine == ir::ReduceKind::sum || combine == ir::ReduceKind::mean) sum.reals[k] += x.reals[k];
    }
    for (size_t k = 0; k < sum.ints.size(); ++k) {
      const bool is_less = IsLess(sum.dtype, sum.ints[k], x.ints[k]);
      if (combine == ir::ReduceKind::max && is_less) sum.ints[k] = x.ints[k];
      if (combine == ir::ReduceKind::min && !is_less) sum.ints[k] = x.ints[k];
      if (combine == ir::ReduceKind::sum || combine == ir::ReduceKind::mean) sum.ints[k] += x.ints[k];
    }
  }
  if (combine != ir::ReduceKind::mean) return sum;
  for (double& x : sum.reals) x /= members;
  for (int64_t& x : sum.ints) x /= static_cast<int64_t>(operands.size());
  return sum;
}

// Copies elements [begin, end) of `from` to `to`, starting at element `at`.
void CopyElements(Value& to, int64_t at, const Value& from, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) to.Copy(at + i - begin, from, i);
}

Values OneMember(ir::AllReduceOp op, const std::vector<Values>& operands) {
  Values results;
  for (size_t i = 0; i < operands[0].size(); ++i) results.push_back(Combined(operands, i, op.getCombine()));
  return results;
}
Values OneMember(ir::ReduceOp op, const std::vector<Values>& operands) {
  Values results;
  for (size_t i = 0; i < op.getNumResults(); ++i) results.push_back(Combined(operands, i, op.getCombine()));
  return results;
}
Values OneMember(ir::BroadcastFromOp op, const std::vector<Values>& operands) {
  return operands[op.getRoot()];
}
Values OneMember(ir::AllGatherOp op, const std::vector<Values>& operands) {
  Value all = ZerosOf(op.getType());
  int64_t at = 0;
  for (const Values& part : operands) {
    CopyElements(all, at, part[0], 0, part[0].size());
    at += part[0].size();
  }
  return {all};
}
Values OneMember(ir::ReduceScatterOp op, const std::vector<Values>& operands, size_t rank) {
  Value part = ZerosOf(op.getType()), all = Combined(operands, 0, op.getCombine());
  int64_t row = all.shape[0] == 0 ? 0 : all.size() / all.shape[0], begin = 0;
  for (size_t r = 0; r < rank; ++r) begin += op.getSizes()[r] * row;
  CopyElements(part, 0, all, begin, begin + part.size());
  return {part};
}
Values OneMember(ir::AllToAllOp op, const std::vector<Values>& operands, size_t rank) {
  Value received = ZerosOf(op.getType());
  int64_t part = received.size() / static_cast<int64_t>(operands.size());
  for (size_t r = 0; r < operands.size(); ++r) {
    int64_t begin = static_cast<int64_t>(rank) * part;
    CopyElements(received, static_cast<int64_t>(r) * part, operands[r][0], begin, begin + part);
  }
  return {received};
}
Values OneMember(ir::RingShiftOp op, const std::vector<Values>& operands, size_t rank) {
  const size_t members = operands.size();
  return operands[(rank + members - op.getBy()) % members];
}

}  // namespace

std::vector<Values> ExchangeValues(llvm::ArrayRef<mlir::Operation*> members,
                                   const std::vector<Values>& operands) {
  std::vector<Values> results;
  for (auto [rank, member] : llvm::enumerate(members)) {
    results.push_back(llvm::TypeSwitch<mlir::Operation*, Values>(member)
                          .Case<ir::AllReduceOp, ir::ReduceOp, ir::BroadcastFromOp, ir::AllGatherOp>(
                              [&](auto op) { return OneMember(op, operands); })
                          .Case<ir::ReduceScatterOp, ir::AllToAllOp, ir::RingShiftOp>(
                              [&, r = rank](auto op) { return OneMember(op, operands, r); })
                          .Case<ir::RecvOp>([&](auto) { return operands[0]; })
                          .Default([](mlir::Operation*) { return Values(); }));
  }
  return results;
}

namespace {

// Evaluates a collective in a world of one.
Values Alone(const Call& call) { return ExchangeValues({call.op}, {call.in})[0]; }

}  // namespace

void AddCollectiveOps(OpTable& table) {
  for (const char* name : {"all_reduce", "reduce", "broadcast_from", "all_gather", "reduce_scatter",
                           "all_to_all", "ring_shift", "send", "recv"}) {
    table[std::string("sinter.") + name] = Alone;
  }
}

}  // namespace sinter::reference
