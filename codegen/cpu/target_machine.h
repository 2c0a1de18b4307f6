// The CPU that a plan's kernels are compiled for.
//
// Contract: a target has a name like a compiler's -march ("x86-64-v3", "znver4", "native"). Parse refuses
// every unsupported name, and any machine can compile for every target that Parse returns. All targets have
// fused multiply-add (x86-64-v3 and newer), because the vector math is exact only with it. Code uses the
// instruction sets of the levels up to x86-64-v4 and a few that newer CPUs of all makers share
// (target_machine.cc), if the CPU has them. It uses no other instruction sets: those of a single maker or
// model would only tie a plan to that CPU.
//
//   SINTER_ASSIGN_OR_RETURN(CpuTarget target, CpuTarget::Parse("znver4"));
//   for (const std::string& feature : target.required_features) plan.AddCpuFeature(feature);
#ifndef SINTER_CODEGEN_CPU_TARGET_MACHINE_H_
#define SINTER_CODEGEN_CPU_TARGET_MACHINE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace llvm {
class TargetMachine;
}  // namespace llvm

namespace sinter::codegen {

struct CpuTarget {
  std::string triple;  // "x86_64-unknown-linux-gnu"
  std::string cpu;     // LLVM's name, never "native".
  std::string
      features;  // "+avx2,-sse4a,...", sorted; "-" marks unused features. Empty if the name implies all.

  // The instruction sets that the code may use, sorted, by their names in __builtin_cpu_supports. The runtime
  // must find them all before it loads a kernel.
  std::vector<std::string> required_features;

  // Preferred vector width in bits: 512 with AVX-512, else 256.
  int vector_bits = 256;

  // Returns the machine that runs this process, or the level that it must be treated as
  // (kernels/cpu/cpu_level.h).
  static absl::StatusOr<CpuTarget> Host();

  // `name` is "native" or an x86-64 CPU or level. INVALID_ARGUMENT names the nearest valid names.
  static absl::StatusOr<CpuTarget> Parse(std::string_view name);

  // Generates position-independent code. `opt_level` is 0 to 3.
  absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(int opt_level) const;
};

// Returns the targets of these names, each once, best first: by vector width, then by the number of
// instruction sets, then in the order given. INVALID_ARGUMENT: an invalid name, no name, or more than 16
// names.
absl::StatusOr<std::vector<CpuTarget>> ParseCpuTargets(const std::vector<std::string>& names);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_TARGET_MACHINE_H_
