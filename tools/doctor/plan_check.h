// Says whether a plan runs on this machine, and what would make it run or run faster: what `sinter check`
// prints. Loads no code of the plan, so it is safe for any file.
//
//   SINTER_ASSIGN_OR_RETURN(const Plan plan, Plan::Load("gpt2.plan"));
//   const PlanCheck check = CheckPlan(plan);
//   std::cout << PlanCheckText(check);
//   return check.runs() ? 0 : 1;
#ifndef SINTER_TOOLS_DOCTOR_PLAN_CHECK_H_
#define SINTER_TOOLS_DOCTOR_PLAN_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter::tools {

// One device that the plan runs on.
struct PlanDeviceCheck {
  Device device = {};
  std::string name = {};      // "NVIDIA H200"; empty if the device is not here.
  uint64_t needed_bytes = 0;  // As `sinter predict` counts, without the workspaces of libraries.
  int64_t free_bytes = 0;
  std::vector<PlanFinding> findings = {};
};

struct PlanCheck {
  std::string path = {};
  int64_t ranks = 1;  // Product of the mesh's axes.
  std::vector<PlanDeviceCheck> devices = {};

  // True if no finding is fatal.
  bool runs() const;
  // True if some finding is not fatal.
  bool could_be_faster() const;
};

// With a mesh, checks the devices of all ranks: one process would need them all.
PlanCheck CheckPlan(const Plan& plan);

std::string PlanCheckText(const PlanCheck& check);
// One JSON object: "plan", "runs", "could_be_faster", "ranks", "devices" with "findings". Sizes are bytes.
std::string PlanCheckJson(const PlanCheck& check);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_DOCTOR_PLAN_CHECK_H_
