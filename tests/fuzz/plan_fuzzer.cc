// Fuzzes plan files: any bytes give a plan with readable tables, or an error.
//
// The fuzzer first repairs the hash, so that the bytes reach the later checks. It runs nothing: a plan holds
// native code, which is only as trustworthy as its author.
#include <cstddef>
#include <cstdint>
#include <string>

#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/world/rank_program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  sinter::SealPlan(bytes).IgnoreError();
  absl::StatusOr<sinter::Plan> plan = sinter::Plan::FromBytes(bytes);
  if (!plan.ok()) return 0;
  plan->Functions();
  plan->Variables();
  plan->Devices();
  plan->Mesh();
  sinter::RankProgram::Of(plan->table(), /*world=*/nullptr).IgnoreError();
  plan->hash();
  plan->CheckTarget().IgnoreError();
  return 0;
}
