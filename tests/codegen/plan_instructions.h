// Finds instructions in generated code that its target does not have. What the code computes is judged elsewhere: on a newer CPU
// than the target's, it would run.
//
//   EXPECT_EQ(CheckInstructions(shared_object, target.required_features), absl::OkStatus());
//
// LLVM's disassembler decodes the instructions of every x86; which of them a CPU has, it does not know. That is told here from
// the encoding and the name, for what compilers use unasked.
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

// The instruction set that an instruction of x86-64 needs, by LLVM's name, such as "avx512vbmi"; for what is in x86-64-v2 or came with
// AVX2: "". `mnemonic`: in AT&T's spelling.
std::string NeededFeature(std::span<const uint8_t> instruction, std::string_view mnemonic);

// Of all executable sections. InvalidArgument: the first instruction that needs something else than `features`, or that is none.
absl::Status CheckInstructions(std::string_view shared_object, const std::vector<std::string>& features);

// Of all code of a plan, each against its own target.
absl::Status CheckInstructions(const Plan& plan);

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_PLAN_INSTRUCTIONS_H_
