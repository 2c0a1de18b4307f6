#include "sinter/tools/predict/mesh_sizes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/tools/plan_text.h"

namespace sinter::tools {
namespace {

struct AxisSize {
  uint32_t axis = 0;
  uint32_t size = 1;
};

absl::StatusOr<AxisSize> ParseSize(const fb::Plan& plan, const std::string& text) {
  const size_t equals = text.find('=');
  AxisSize size;
  if (equals == std::string::npos || !absl::SimpleAtoi(text.substr(equals + 1), &size.size) ||
      size.size < 1 || size.size > kPlanMaxRanks) {
    return absl::InvalidArgumentError(
        absl::StrCat("--axis ", text, ": expected name=size, with a size from 1 to ", kPlanMaxRanks));
  }
  const std::string name = text.substr(0, equals);
  if (plan.mesh() == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("--axis ", text, ": the plan has no mesh"));
  }
  const auto& axes = *plan.mesh()->axes();
  std::vector<std::string> names;
  for (uint32_t i = 0; i < axes.size(); ++i) {
    if (axes[i]->name()->str() == name) return AxisSize{i, size.size};
    names.push_back(axes[i]->name()->str());
  }
  return absl::InvalidArgumentError(absl::StrCat("--axis ", text, ": the plan has no axis \"", name,
                                                 "\"; there are ", absl::StrJoin(names, ", ")));
}

// True if the sizes of the kind's tensors do not depend on the number of members.
bool KeepsItsSizes(const CollectiveTraits& traits) {
  return traits.parts == CollectiveTraits::Parts::kNone && !traits.has_equal_parts && traits.members == 0;
}

// OK if the function's steps are the same for every size of the axis.
absl::Status CheckFunction(const fb::Plan& plan, const fb::Function& function, const AxisSize& size) {
  const auto refuse = [&](const std::string& why) {
    const fb::MeshAxis& axis = *plan.mesh()->axes()->Get(size.axis);
    return absl::InvalidArgumentError(absl::StrCat("--axis ", axis.name()->str(), "=", size.size, ": ", why,
                                                   "; compile the plan for ", size.size,
                                                   " ranks of this axis"));
  };
  if (size.size == plan.mesh()->axes()->Get(size.axis)->size()) return absl::OkStatus();
  if (plan.mesh()->axes()->Get(size.axis)->size() == 1) {
    return refuse("the plan has one rank of this axis, and so no exchanges over it");
  }
  if (function.ranks() != nullptr) {
    return refuse(absl::StrCat("some ranks have a function \"", function.name()->str(), "\" of their own"));
  }
  for (const fb::Step* step : OrEmpty(function.steps())) {
    const fb::CollectiveStep* const body = step->body_as_CollectiveStep();
    if (body == nullptr || (MaskOf(body->axes()) >> size.axis & 1) == 0) continue;
    const CollectiveTraits& traits = TraitsOf(body->kind());
    // A sum of two ranks only: each adds the other's term.
    if (traits.reaches_one) {
      return refuse(absl::StrCat("2 ranks send each other the terms of ", LocationsText(plan, *step, 1)));
    }
    if (KeepsItsSizes(traits)) continue;
    const std::string_view name = CollectiveName(body->kind());
    return refuse(absl::StrCat("the sizes of an ", absl::string_view(name.data(), name.size()), " of ",
                               LocationsText(plan, *step, 1), " depend on it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> WithAxisSizes(const Plan& plan, const std::vector<std::string>& sizes,
                                          const std::string& function) {
  fb::PlanT table;
  plan.table().UnPackTo(&table);
  uint64_t ranks = 1;
  for (const std::string& text : sizes) {
    SINTER_ASSIGN_OR_RETURN(const AxisSize size, ParseSize(plan.table(), text));
    for (const fb::Function* f : OrEmpty(plan.table().functions())) {
      if (f->name()->str() != function) continue;
      SINTER_RETURN_IF_ERROR(CheckFunction(plan.table(), *f, size));
    }
    table.mesh->axes[size.axis]->size = size.size;
  }
  for (const auto& axis : table.mesh->axes) ranks = std::min<uint64_t>(ranks * axis->size, uint64_t{1} << 32);
  if (ranks * std::max<size_t>(1, table.devices.size()) > kPlanMaxRanks) {
    return absl::InvalidArgumentError(absl::StrCat("--axis: the mesh has ", ranks, " ranks, and at most ",
                                                   kPlanMaxRanks, " devices are allowed"));
  }
  // Devices of all ranks follow from those of rank 0. Code is not needed.
  table.mesh->devices.clear();
  table.shared_object.clear();
  table.better_code.clear();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &table), fb::PlanIdentifier());
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

}  // namespace sinter::tools
