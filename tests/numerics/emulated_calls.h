// Checks a GPU plan's calls without a GPU: an emulator runs their CUDA kernels.
// The emulator is tests/codegen/simt_emulator.h. The results are compared with the reference.
//
// A single case, for a chosen schedule:
//
//   EmulatedCall call = EmulateCall(codegen::GpuCallText({"tensor<300x70xf32>"}, {"tensor<70xf32>"}, R"(
//     %r = sinter.sum %a0 [0] : tensor<300x70xf32> -> tensor<70xf32>
//     sinter.yield %r : tensor<70xf32>)"), OpClass::kReduction);
//   EXPECT_EQ(call.wrong, "");
//   EXPECT_THAT(call.schedules, Contains("column whole"));
//
// Whole programs, compiled by the passes of the compiler (AddPrograms may be called several times):
//
//   EmulatedCalls calls;
//   SINTER_RETURN_IF_ERROR(calls.AddPrograms(text, {{"f", {inputs, OpClass::kGraph, "a title"}}}));
//   for (const std::string& wrong : calls.Judge()) ADD_FAILURE() << wrong;
//   calls.fused_calls(), calls.launches(), calls.schedules()
//
// Library ops with catalog kernels (codegen/cuda/catalog/cuda_catalog.h) are checked too, if those kernels
// hold no PTX: kernels with tensor cores and asynchronous copies are not checked. The reference computes the
// results of library calls.
#ifndef SINTER_TESTS_NUMERICS_EMULATED_CALLS_H_
#define SINTER_TESTS_NUMERICS_EMULATED_CALLS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sinter/frontend/compile/compile.h"
#include "sinter/tests/numerics/tolerances.h"
#include "sinter/tests/reference/value.h"

namespace sinter::numerics {

// Number of jobs for each schedule: "flat", "map", "tiles", "row in a warp kept", "column whole", "column
// partial" ... (NameOf in emulated_calls.cc).
using ScheduleCounts = std::map<std::string, int>;

class EmulatedCalls {
 public:
  EmulatedCalls();
  ~EmulatedCalls();

  // One function of a module. `inputs` holds its inputs and variables by name, `title` names it in error
  // messages.
  struct Program {
    std::map<std::string, reference::Value> inputs;
    OpClass op_class = OpClass::kGraph;
    std::string title;
    // Draws the inputs that have no value: floats from -1 to 1, integers from 0 to 5. Variables are from 0.01
    // to 0.2, so that they can be weights or an optimizer's squares.
    bool draws_inputs = false;
  };
  // Compiles a module for gpu:0 up to its plan and notes the calls of the functions in `programs` (by name).
  // The reference computes the operands of the calls. `options` names no device. UNIMPLEMENTED if an op has
  // no kernel for GPUs.
  absl::Status AddPrograms(const std::string& text, const std::map<std::string, Program>& programs,
                           CompileOptions options = {});
  // Adds the only plan.call of a module with one plan.function. The inputs are random values between low and
  // high.
  absl::Status AddCall(const std::string& text, OpClass op_class, double low, double high);

  // Sets a function that changes the text of every kernel before it runs. Tests use it to insert errors.
  void set_rewrite(std::function<std::string(const std::string&)> rewrite);

  // Runs the calls added since the last time. Returns the titled errors; empty if all results are right.
  std::vector<std::string> Judge();

  // Counts of all calls added so far.
  int fused_calls() const;
  int catalogue_calls() const;
  int launches() const;
  const ScheduleCounts& schedules() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct EmulatedCall {
  std::string wrong;  // Empty if all results match the reference in every thread order.
  int launches = 0;
  std::vector<std::string> schedules;  // Each once.
};
EmulatedCall EmulateCall(const std::string& text, OpClass op_class, double low = -2, double high = 2);

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_EMULATED_CALLS_H_
