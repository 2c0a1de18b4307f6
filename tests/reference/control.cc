// Loops: the ops of ir/program/control_ops.td.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

// Row `row` of a stack.
Value Row(const Value& stack, int64_t row) {
  Value part = Value::Zeros(stack.dtype, Shape(stack.shape.begin() + 1, stack.shape.end()));
  for (int64_t i = 0; i < part.size(); ++i) part.Copy(i, stack, row * part.size() + i);
  return part;
}

void SetRow(Value& stack, int64_t row, const Value& part) {
  for (int64_t i = 0; i < part.size(); ++i) stack.Copy(row * part.size() + i, part, i);
}

// `has_trip`: the body gets the number of the trip first.
template <typename Loop>
std::vector<Value> Run(const Call& call, Loop loop, mlir::Block& body, bool has_trip) {
  const size_t carries = loop.getCarries().size(), slices = loop.getSlices().size();
  const int64_t trips = loop.getTrips();
  std::vector<Value> results(call.in.begin(), call.in.begin() + carries);
  for (size_t i = carries; i < loop->getNumResults(); ++i) results.push_back(call.Result(i));
  for (int64_t k = 0; k < trips; ++k) {
    if (loop.getGuarded() && results[0].ints[0] == 0) break;
    const int64_t trip = loop.getReverse() ? trips - 1 - k : k;
    std::vector<Value> arguments;
    if (has_trip) {
      arguments.push_back(Value::Zeros(DType::kI64, {}));
      arguments.back().ints[0] = trip;
    }
    arguments.insert(arguments.end(), results.begin(), results.begin() + carries);
    for (size_t i = 0; i < slices; ++i) arguments.push_back(Row(call.in[carries + i], trip));
    arguments.insert(arguments.end(), call.in.begin() + carries + slices, call.in.end());
    absl::StatusOr<std::vector<Value>> yielded = EvaluateBlock(body, arguments, call.options);
    if (!yielded.ok()) return {};
    for (size_t i = 0; i < yielded->size(); ++i) {
      i < carries ? void(results[i] = (*yielded)[i]) : SetRow(results[i], trip, (*yielded)[i]);
    }
  }
  return results;
}

std::vector<Value> Scan(const Call& call) {
  auto scan = llvm::cast<ir::ScanOp>(call.op);
  return Run(call, scan, scan.block(), /*has_trip=*/true);
}

std::vector<Value> Loop(const Call& call) {
  auto loop = llvm::cast<ir::LoopOp>(call.op);
  auto body = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(loop, loop.getBodyAttr());
  if (!body) return {};
  return Run(call, loop, body.getBody().front(), /*has_trip=*/false);
}

}  // namespace

void AddControlOps(OpTable& table) {
  table["sinter.scan"] = Scan;
  table["sinter.loop"] = Loop;
}

}  // namespace sinter::reference
