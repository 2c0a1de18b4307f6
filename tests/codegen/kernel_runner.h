// Compiles the first fused plan.call of a module given as text and runs it on host arrays.
//
//   KernelRunner runner(R"(plan.function @f { ... })");
//   runner.Run({x.data(), y.data()}, {z.data()});
#ifndef SINTER_TESTS_CODEGEN_KERNEL_RUNNER_H_
#define SINTER_TESTS_CODEGEN_KERNEL_RUNNER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace sinter::codegen {

struct RunnerLaunch {
  std::string symbol;
  long units = 0;
  long scratch_bytes = 0;
};

class KernelRunner {
 public:
  // Compiles the first fused call of `text`; status() has the error.
  explicit KernelRunner(const std::string& text);
  ~KernelRunner();
  KernelRunner(const KernelRunner&) = delete;
  KernelRunner& operator=(const KernelRunner&) = delete;

  const absl::Status& status() const { return status_; }
  // Runs the units in `parts` ranges, from the last range to the first.
  void Run(const std::vector<const void*>& ins, const std::vector<void*>& outs, int parts = 1);
  // Runs only the units of part `part` of `parts`, with separate scratch memory: for kernels of one launch
  // that several threads run.
  void RunPart(const std::vector<const void*>& ins, const std::vector<void*>& outs, int part, int parts);
  const std::vector<RunnerLaunch>& launches() const { return launches_; }
  // Assembly() returns the assembly of all kernels for `cpu`, which need not be the test machine's CPU.
  // bodies() returns the number of functions with loops.
  std::string Assembly(const std::string& cpu) const;
  int bodies() const { return bodies_; }

 private:
  struct Impl;
  absl::Status Compile(const std::string& text);

  absl::Status status_;
  std::vector<RunnerLaunch> launches_;
  int bodies_ = 0;
  Impl* impl_;
};

// Returns the text of a plan.function with one call. `ins` and `outs` are types such as "tensor<4xf32>".
// `body` uses %a0, %a1, ... and ends in sinter.yield.
std::string CallText(const std::vector<std::string>& ins, const std::vector<std::string>& outs,
                     const std::string& body, const std::string& attributes = "");

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_KERNEL_RUNNER_H_
