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
  // `parts`: into how many ranges the units are cut, run from the last to the first.
  explicit KernelRunner(const std::string& text);
  ~KernelRunner();
  KernelRunner(const KernelRunner&) = delete;
  KernelRunner& operator=(const KernelRunner&) = delete;

  const absl::Status& status() const { return status_; }
  void Run(const std::vector<const void*>& ins, const std::vector<void*>& outs, int parts = 1);
  // The units of part `part` of `parts` only, with scratch of its own: for kernels of one launch, from several threads.
  void RunPart(const std::vector<const void*>& ins, const std::vector<void*>& outs, int part, int parts);
  const std::vector<RunnerLaunch>& launches() const { return launches_; }
  // The assembly of all kernels for a CPU: not for the one that tests happen to run on. Then how many functions hold loops.
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

// A plan.function of one call: `arguments` like {"tensor<4xf32>", ...}, `body` uses %a0, %a1, ... and ends in sinter.yield.
std::string CallText(const std::vector<std::string>& ins, const std::vector<std::string>& outs,
                     const std::string& body, const std::string& attributes = "");

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_KERNEL_RUNNER_H_
