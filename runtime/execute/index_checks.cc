#include "sinter/runtime/execute/index_checks.h"

#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/device/device_runtime.h"
#include "sinter/runtime/execute/session_memory.h"
#include "sinter/runtime/host/status.h"

namespace sinter::internal_session {
namespace {

using Cells = std::array<int64_t, 3>;  // Lowest index, highest index, number of valid indices.

bool IsCells(const fb::Variable& variable) {
  return variable.type()->dtype() == fb::DType::I64 && variable.bytes() == sizeof(Cells);
}

std::string Where(const fb::Plan& plan, const fb::Variable& variable) {
  const fb::SourceLocation& at = *plan.locations()->Get(variable.location());
  const std::string what = at.what() == nullptr ? "" : at.what()->str();
  return absl::StrCat(at.file() == nullptr ? "" : at.file()->str(), ":", at.line(), ": ",
                      what.empty() ? "an op" : what);
}

}  // namespace

IndexChecks::IndexChecks(const fb::Plan& plan, std::string_view function) {
  if (plan.variables() == nullptr) return;
  const std::string prefix = absl::StrCat(std::string(kIndexCheckPrefix), std::string(function), "/");
  std::vector<int64_t> op_of(plan.variables()->size(), -1);
  for (uint32_t i = 0; i < plan.variables()->size(); ++i) {
    const fb::Variable& variable = *plan.variables()->Get(i);
    const std::string_view name = variable.name()->string_view();
    const bool is_number = name.starts_with(prefix) && name.find('/', prefix.size()) == name.npos;
    if (variable.replica_of() == 0 && is_number && IsCells(variable)) {
      op_of[i] = static_cast<int64_t>(ops_.size());
      ops_.push_back({{}, {}, Where(plan, variable)});
    }
  }
  for (uint32_t i = 0; i < plan.variables()->size(); ++i) {
    const fb::Variable& variable = *plan.variables()->Get(i);
    const int64_t op = op_of[variable.replica_of() == 0 ? i : variable.replica_of() - 1];
    if (op < 0) continue;
    ops_[static_cast<size_t>(op)].copies.push_back(i);
    ops_[static_cast<size_t>(op)].devices.push_back(variable.device());
  }
}

absl::Status IndexChecks::Check(const SessionBuffers& memory) const {
  for (const Op& op : ops_) {
    for (size_t i = 0; i < op.copies.size(); ++i) {
      const std::byte* const data = memory.variables[op.copies[i]];
      if (data == nullptr) continue;  // On a device of another process.
      const DeviceBuffers& buffers = memory.devices[op.devices[i]];
      Cells cells;
      if (buffers.is_host) {
        SINTER_RETURN_IF_ERROR(buffers.runtime->Synchronize());
        std::memcpy(cells.data(), data, sizeof(cells));
      } else {
        SINTER_RETURN_IF_ERROR(buffers.runtime->Download(cells.data(), data, sizeof(cells)));
      }
      const auto [lowest, highest, size] = cells;
      if (lowest >= 0 && highest < size) break;  // The other copies are equal.
      const int64_t bad = lowest < 0 ? lowest : highest;
      return absl::OutOfRangeError(absl::StrCat(op.where, ": index ", bad, " is outside of 0 to ", size - 1));
    }
  }
  return absl::OkStatus();
}

}  // namespace sinter::internal_session
