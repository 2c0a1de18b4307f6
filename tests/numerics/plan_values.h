// Computes the buffers of a plan.function step by step with the reference, to check each call separately.
//
//   PlanValues values(inputs);                        // by the names of inputs and variables
//   const auto visit = [&](plan_ir::CallOp call, const std::vector<Value>& operands,
//                          const std::vector<Value>& want) { ... return absl::OkStatus(); };
//   absl::Status status = values.Run(function, visit);
//
// Each plan.alloc has its own memory here, whatever its offset in the plan. plan_graph_test checks live
// ranges.
#ifndef SINTER_TESTS_NUMERICS_PLAN_VALUES_H_
#define SINTER_TESTS_NUMERICS_PLAN_VALUES_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/ADT/DenseMap.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/tests/reference/value.h"

namespace sinter::numerics {

class PlanValues {
 public:
  using Visit =
      std::function<absl::Status(plan_ir::CallOp call, const std::vector<reference::Value>& operands,
                                 const std::vector<reference::Value>& want)>;

  explicit PlanValues(const std::map<std::string, reference::Value>& inputs) : inputs_(inputs) {}

  // Calls `visit` with each call's operands and reference results. Stops at the first error of the reference
  // or of `visit`.
  absl::Status Run(plan_ir::FunctionOp function, const Visit& visit);

 private:
  absl::Status Step(mlir::Operation& op, const Visit& visit);
  absl::StatusOr<reference::Value> Input(const std::string& name) const;
  reference::Value Read(mlir::Value buffer);
  void Write(mlir::Value buffer, const reference::Value& value);

  const std::map<std::string, reference::Value>& inputs_;
  llvm::DenseMap<mlir::Value, reference::Value> values_;
};

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_PLAN_VALUES_H_
