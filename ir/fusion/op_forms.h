// OpForms: describes lists of ops by numbers, so that equal computations are found without comparing them in
// pairs. Equal layers of a model then cost the compiler one analysis.
//
//   OpForms forms;
//   llvm::SmallVector<uint64_t> form;
//   forms.append(ops, outputs, form);     // Equal vectors: equal computations.
//
//   ByOpForm<int64_t> costs;              // A result for each form.
//   int64_t cost = costs.of(ops, outputs, [&] { return Measure(ops); });
#ifndef SINTER_IR_FUSION_OP_FORMS_H_
#define SINTER_IR_FUSION_OP_FORMS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace sinter::ir {

class OpForms {
 public:
  // Appends the form of `ops`, in program order, which give `outputs`. Two lists have the same form exactly
  // if they differ only in lines of the user's program and in the values that they read from outside: the
  // types of those values, and which of them are one value, are part of the form. The ops must live,
  // unchanged, as long as this object.
  void append(llvm::ArrayRef<mlir::Operation*> ops, mlir::ValueRange outputs,
              llvm::SmallVectorImpl<uint64_t>& form);
  // Appends the form of a body: that of its ops, whose outputs its terminator reads, and of its arguments.
  void append(mlir::Block& body, llvm::SmallVectorImpl<uint64_t>& form);

 private:
  using Numbers = llvm::SmallDenseMap<mlir::Value, unsigned, 64>;

  // Equal: ops that differ only in operands of the same types and in lines.
  struct SameButForValues : llvm::DenseMapInfo<mlir::Operation*> {
    static unsigned getHashValue(const mlir::Operation* op);
    static bool isEqual(const mlir::Operation* a, const mlir::Operation* b);
  };

  void append(llvm::ArrayRef<mlir::Operation*> ops, mlir::ValueRange outputs, Numbers& numbers,
              llvm::SmallVectorImpl<uint64_t>& form);
  unsigned numberOf(mlir::Operation* op);

  llvm::DenseMap<mlir::Operation*, unsigned, SameButForValues> numbers_;
  llvm::DenseMap<mlir::Operation*, unsigned> number_of_;  // By op, so that each op is compared once.
};

// Results that are computed once for each form of ops.
template <class Result>
class ByOpForm {
 public:
  // Returns the result for the form of `ops`, which stays valid as long as this object; calls `compute` if
  // there is none. `more` is part of the form.
  const Result& of(llvm::ArrayRef<mlir::Operation*> ops, mlir::ValueRange outputs,
                   llvm::function_ref<Result()> compute, llvm::ArrayRef<uint64_t> more = {}) {
    llvm::SmallVector<uint64_t, 128> form(more);
    forms_.append(ops, outputs, form);
    return of(form, compute);
  }
  // The same for the ops of a body whose terminator reads the outputs.
  const Result& of(mlir::Block& body, llvm::function_ref<Result()> compute) {
    llvm::SmallVector<uint64_t, 128> form;
    forms_.append(body, form);
    return of(form, compute);
  }

 private:
  struct Hash {
    size_t operator()(const std::vector<uint64_t>& form) const {
      return llvm::hash_combine_range(form.begin(), form.end());
    }
  };

  const Result& of(llvm::ArrayRef<uint64_t> form, llvm::function_ref<Result()> compute) {
    auto [known, is_new] = results_.try_emplace(std::vector<uint64_t>(form.begin(), form.end()));
    if (is_new) known->second = compute();
    return known->second;
  }

  OpForms forms_;
  std::unordered_map<std::vector<uint64_t>, Result, Hash> results_;
};

}  // namespace sinter::ir

#endif  // SINTER_IR_FUSION_OP_FORMS_H_
