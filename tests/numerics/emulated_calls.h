// Judges plan.calls of GPUs without one: their CUDA kernels, run by the emulator (tests/codegen/simt_emulator.h), against
// the reference.
//
// A directed case, whatever the schedule that it is to reach:
//
//   EmulatedCall call = EmulateCall(GpuCallText({"tensor<300x70xf32>"}, {"tensor<70xf32>"}, R"(
//     %r = sinter.sum %a0 [0] : tensor<300x70xf32> -> tensor<70xf32>
//     sinter.yield %r : tensor<70xf32>)"), OpClass::kReduction);
//   EXPECT_EQ(call.wrong, "");
//   EXPECT_THAT(call.schedules, Contains("column whole"));
//
// Whole programs, by the passes of the compiler:
//
//   EmulatedCalls calls;
//   SINTER_RETURN_IF_ERROR(calls.AddPrograms(text, {{"f", {inputs, OpClass::kGraph, "a title"}}}));   // as often as wanted
//   for (const std::string& wrong : calls.Judge()) ADD_FAILURE() << wrong;
//   calls.fused_calls(), calls.launches(), calls.schedules()
//
// So are library ops judged that the catalogue has kernels for (codegen/cuda/catalog/cuda_catalog.h), in the form of GPUs without the
// PTX in them: that of tensor cores and of asynchronous copies is not judged. The reference computes what libraries compute.
#ifndef SINTER_TESTS_NUMERICS_EMULATED_CALLS_H_
#define SINTER_TESTS_NUMERICS_EMULATED_CALLS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sinter/tests/numerics/tolerances.h"
#include "sinter/tests/reference/value.h"

namespace sinter::numerics {

// How often a call's jobs had each schedule: "flat", "map", "tiles", "row in a warp kept", "column whole", "column partial" ...
// (NameOf in emulated_calls.cc).
using ScheduleCounts = std::map<std::string, int>;

class EmulatedCalls {
 public:
  EmulatedCalls();
  ~EmulatedCalls();

  // Compiles a module for gpu:0 up to its plan, and notes the fused calls of its functions; `inputs` are those of a function by
  // its name, then by theirs, variables too. Operands of the calls are what the reference computes. `titles` by function.
  struct Program {
    std::map<std::string, reference::Value> inputs;
    OpClass op_class = OpClass::kGraph;
    std::string title;
    // Inputs without a value are drawn: floats from -1 to 1, integers from 0 to 5; variables from 0.01 to 0.2, which may be
    // weights, and squares that an optimizer keeps.
    bool draws_inputs = false;
  };
  // UNIMPLEMENTED: something in it has no kernel for GPUs.
  absl::Status AddPrograms(const std::string& text, const std::map<std::string, Program>& programs);
  // The only plan.call of a module of a plan.function, its inputs of random values between low and high.
  absl::Status AddCall(const std::string& text, OpClass op_class, double low, double high);

  // Changes the text of every kernel before it runs, to see what is found.
  void set_rewrite(std::function<std::string(const std::string&)> rewrite);

  // Runs what was added since the last time. What is wrong, each with its title: nothing, if all is well.
  std::vector<std::string> Judge();

  // Of what was added so far.
  int fused_calls() const;
  int catalogue_calls() const;
  int launches() const;
  const ScheduleCounts& schedules() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct EmulatedCall {
  std::string
      wrong;  // Empty when the kernels compute what the reference does, in every order of their threads.
  int launches = 0;
  std::vector<std::string> schedules;  // Each once.
};
EmulatedCall EmulateCall(const std::string& text, OpClass op_class, double low = -2, double high = 2);

// A plan.function of one call on gpu:0. `body` uses %a0, %a1, ... and ends in sinter.yield; an output named "in0" is written over
// input 0, in place.
std::string GpuCallText(const std::vector<std::string>& ins, const std::vector<std::string>& outs,
                        const std::string& body);

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_EMULATED_CALLS_H_
