#include "sinter/ir/fusion/op_forms.h"

#include "mlir/IR/OperationSupport.h"

namespace sinter::ir {

using mlir::Operation;
using mlir::OperationEquivalence;
using mlir::Value;

unsigned OpForms::SameButForValues::getHashValue(const Operation* op) {
  return OperationEquivalence::computeHash(const_cast<Operation*>(op), OperationEquivalence::ignoreHashValue,
                                           OperationEquivalence::ignoreHashValue,
                                           OperationEquivalence::IgnoreLocations);
}

bool OpForms::SameButForValues::isEqual(const Operation* a, const Operation* b) {
  if (a == b) return true;
  const Operation *empty = getEmptyKey(), *tombstone = getTombstoneKey();
  if (a == empty || a == tombstone || b == empty || b == tombstone) return false;
  auto *x = const_cast<Operation*>(a), *y = const_cast<Operation*>(b);
  return llvm::equal(x->getOperandTypes(), y->getOperandTypes()) &&
         OperationEquivalence::isEquivalentTo(x, y, OperationEquivalence::ignoreValueEquivalence, nullptr,
                                              OperationEquivalence::IgnoreLocations);
}

unsigned OpForms::numberOf(Operation* op) {
  auto [known, is_new] = number_of_.try_emplace(op, 0);
  if (is_new) known->second = numbers_.try_emplace(op, numbers_.size()).first->second;
  return known->second;
}

void OpForms::append(llvm::ArrayRef<Operation*> ops, mlir::ValueRange outputs,
                     llvm::SmallVectorImpl<uint64_t>& form) {
  Numbers numbers;
  append(ops, outputs, numbers, form);
}

void OpForms::append(mlir::Block& body, llvm::SmallVectorImpl<uint64_t>& form) {
  Numbers numbers;
  form.push_back(body.getNumArguments());
  for (mlir::BlockArgument argument : body.getArguments()) {
    numbers.try_emplace(argument, argument.getArgNumber());
    form.push_back(reinterpret_cast<uintptr_t>(argument.getType().getAsOpaquePointer()));
  }
  llvm::SmallVector<Operation*> ops;
  for (Operation& op : body.without_terminator()) ops.push_back(&op);
  append(ops, body.getTerminator()->getOperands(), numbers, form);
}

void OpForms::append(llvm::ArrayRef<Operation*> ops, mlir::ValueRange outputs, Numbers& numbers,
                     llvm::SmallVectorImpl<uint64_t>& form) {
  auto number = [&](Value value) {
    return numbers.try_emplace(value, static_cast<unsigned>(numbers.size())).first->second;
  };
  form.push_back(ops.size());
  for (Operation* op : ops) {
    form.push_back(numberOf(op));
    for (Value operand : op->getOperands()) form.push_back(number(operand));
    for (Value result : op->getResults()) form.push_back(number(result));
  }
  form.push_back(outputs.size());
  for (Value output : outputs) form.push_back(number(output));
}

}  // namespace sinter::ir
