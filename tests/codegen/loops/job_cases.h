// The table of fused calls whose jobs reach every schedule, for the tests of launches and schedules.
//
//   for (const JobCase& c : AllJobCases()) {
//     ParsedCall parsed(c.text);
//     auto launches = SplitIntoLaunches(parsed.call(), CpuLoopTarget());
//   }
#ifndef SINTER_TESTS_CODEGEN_LOOPS_JOB_CASES_H_
#define SINTER_TESTS_CODEGEN_LOOPS_JOB_CASES_H_

#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::codegen {

struct JobCase {
  std::string name;
  std::string text;
};
std::vector<JobCase> AllJobCases();

// Returns the text of the case of this name.
std::string JobCaseText(const std::string& name);

// A module with one plan.call, and its context.
class ParsedCall {
 public:
  explicit ParsedCall(const std::string& text);

  plan_ir::CallOp call() { return call_; }
  // Returns the operand `i` of the terminator: the value that the call stores to output `i`.
  mlir::Value output(unsigned i) { return call_.getBody().front().getTerminator()->getOperand(i); }

 private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  plan_ir::CallOp call_;
};

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_LOOPS_JOB_CASES_H_
