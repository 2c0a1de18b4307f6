// Finds instructions in generated code that the code's target lacks; a newer test machine would run them.
//
//   EXPECT_EQ(CheckInstructions(shared_object, target.required_features), absl::OkStatus());
//
// LLVM's disassembler decodes all x86 instructions, but does not know which CPU has which. This file derives
// the needed feature from encoding and name, for the instructions that compilers emit without a request.
#ifndef SINTER_TESTS_CODEGEN_PLAN_INSTRUCTIONS_H_
#define SINTER_TESTS_CODEGEN_PLAN_INSTRUCTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter::codegen {

// Returns LLVM's name of the feature that an x86-64 instruction needs, such as "avx512vbmi". Returns "" for
// instructions of x86-64-v2 and those that came with AVX2. `mnemonic` is in AT&T spelling.
std::string NeededFeature(std::span<const uint8_t> instruction, std::string_view mnemonic);

// Checks all executable sections. InvalidArgument names the first instruction that needs a feature outside
// `features`, or the first bytes that are no instruction.
absl::Status CheckInstructions(std::string_view shared_object, const std::vector<std::string>& features);

// Checks all code of a plan, each part against its own target.
absl::Status CheckInstructions(const Plan& plan);

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_PLAN_INSTRUCTIONS_H_
