// Plans: any bytes give a plan whose tables can be read, or an error. The hash is made right first, so that the bytes
// reach the checks behind it. Nothing is run: a plan's code is native, and as trustworthy as whoever wrote it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "sinter/runtime/plan/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  sinter::SealPlan(bytes).IgnoreError();
  absl::StatusOr<sinter::Plan> plan = sinter::Plan::FromBytes(bytes);
  if (!plan.ok()) return 0;
  plan->Functions();
  plan->Variables();
  plan->hash();
  plan->CheckTarget().IgnoreError();
  return 0;
}
