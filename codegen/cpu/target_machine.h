// The CPU that a plan's kernels are compiled for.
//
// Contract: a target is named like a compiler's -march ("x86-64-v3", "znver4", "native"); whatever is refused
// is refused here, by name, and every target that comes out can be compiled for on any machine. All targets
// have fused multiply-add (x86-64-v3 and newer): the vector math is exact only with it.
// Code uses the instruction sets of the levels up to x86-64-v4 and a few that newer CPUs of all makers share (target_machine.cc),
// if the CPU has them, and no others: what one maker or one model has alone would only tie a plan to it.
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
      features;  // "+avx2,-sse4a,...": sorted; empty where the cpu's name says it all. What is not used is off.

  // The instruction sets that the code may use, as names that __builtin_cpu_supports knows, sorted: what the
  // runtime must find before it loads a kernel.
  std::vector<std::string> required_features;

  // Bits of the vectors to prefer: 512 with AVX-512, else 256.
  int vector_bits = 256;

  // The machine this process runs on, or the level that it is to be taken for (kernels/cpu/cpu_level.h).
  static absl::StatusOr<CpuTarget> Host();

  // "native" or the name of an x86-64 CPU or level. INVALID_ARGUMENT names the nearest valid names.
  static absl::StatusOr<CpuTarget> Parse(std::string_view name);

  // Position-independent code; `opt_level` from 0 to 3.
  absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(int opt_level) const;
};

// The targets of these names, each once, best first: those with the longest vectors, then those with the most instruction
// sets, then as they are given. INVALID_ARGUMENT: a name that Parse refuses, no name, or more than 16.
absl::StatusOr<std::vector<CpuTarget>> ParseCpuTargets(const std::vector<std::string>& names);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_TARGET_MACHINE_H_
