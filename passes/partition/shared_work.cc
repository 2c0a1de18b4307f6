#include "sinter/passes/partition/shared_work.h"

#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter {

using mlir::Operation;
using mlir::StringAttr;
using mlir::Value;
using mlir::func::FuncOp;

namespace {

int64_t BytesOfAll(mlir::ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values) bytes += plan_ir::TensorBytes(ir::TypeOf(value));
  return bytes;
}

}  // namespace

void RowReaders::find(FuncOp function, llvm::ArrayRef<StringAttr> rows, WorksAlong works) {
  for (Operation& op : llvm::reverse(function.getBody().front().without_terminator())) {
    for (StringAttr axis : rows) {
      if (works(&op, axis)) {
        works_.insert({&op, axis});
        continue;
      }
      bool any = false, all = !op.use_empty();
      for (Operation* reader : op.getUsers()) {
        any |= wantAllRows(reader, axis);
        all &= widens(reader, axis);
      }
      const bool grows = BytesOfAll(op.getResults()) > BytesOfAll(op.getOperands());
      if (grows ? any : all) widens_.insert({&op, axis});
    }
  }
}

void WorkFeeds::find(FuncOp function, llvm::ArrayRef<StringAttr> axes, WorksAlong works) {
  for (Operation& op : llvm::reverse(function.getBody().front().without_terminator())) {
    for (StringAttr axis : axes) {
      const bool feeds = works(&op, axis) ||
                         llvm::any_of(op.getResults(), [&](Value result) { return contains(result, axis); });
      if (!feeds) continue;
      for (Value operand : op.getOperands()) feeds_.insert({operand, axis});
    }
  }
}

}  // namespace sinter
