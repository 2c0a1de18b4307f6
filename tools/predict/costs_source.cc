#include "sinter/tools/predict/costs_source.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/ir/cost/builtin_costs.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"

namespace sinter::tools {

absl::StatusOr<cost::DeviceCosts> ReadCosts(const std::string& costs, const Plan& plan) {
  const bool has_gpu = std::ranges::any_of(plan.Devices(), &Device::is_gpu);
  const std::string name = !costs.empty() ? costs : has_gpu ? "h200" : "cpu";
  if (const cost::CostTable* const table = cost::FindBuiltinCosts(name); table != nullptr) {
    return cost::DeviceCosts(*table);
  }
  const absl::StatusOr<FileBytes> file = FileBytes::Read(name);
  if (absl::IsNotFound(file.status())) {
    std::vector<std::string> names;
    for (const std::string_view known : cost::BuiltinCostNames()) names.emplace_back(known);
    return absl::NotFoundError(absl::StrCat("--costs ", name, ": no such file; built-in tables are ",
                                            absl::StrJoin(names, ", "),
                                            ", and `sinter measure` makes a file"));
  }
  SINTER_RETURN_IF_ERROR(file.status());
  SINTER_ASSIGN_OR_RETURN(cost::CostTable table, cost::ParseCosts(file->text(), name));
  return cost::DeviceCosts(std::move(table));
}

}  // namespace sinter::tools
