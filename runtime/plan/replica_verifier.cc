// The part of plan_verifier.h that checks replicas of variables.
#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"

namespace sinter {
namespace {

// Known copies of variables, originals and replicas: index of the original, device, type.
using Places = std::set<std::tuple<uint32_t, uint32_t, DType>>;

DType TypeOf(const fb::Variable& variable) { return static_cast<DType>(variable.type()->dtype()); }

bool SameShape(const fb::Variable& a, const fb::Variable& b) {
  const flatbuffers::Vector<int64_t>* const x = a.type()->shape();
  const flatbuffers::Vector<int64_t>* const y = b.type()->shape();
  if (x == nullptr || y == nullptr)
    return (x == nullptr || x->size() == 0) && (y == nullptr || y->size() == 0);
  return std::ranges::equal(*x, *y);
}

std::string InType(const fb::Variable& variable) { return " in " + std::string(DTypeName(TypeOf(variable))); }

absl::Status VerifyReplica(const fb::Plan& plan, const fb::Variable& variable, Places& places) {
  const uint32_t index = variable.replica_of() - 1;
  if (index >= plan.variables()->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is a replica of variable ", index, " of ", plan.variables()->size()));
  }
  const fb::Variable& original = *plan.variables()->Get(index);
  const std::string is_replica = absl::StrCat("it is a replica of \"", original.name()->c_str(), "\"");
  if (&original == &variable) return absl::InvalidArgumentError("it is a replica of itself");
  if (original.replica_of() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(is_replica, ", which is one itself"));
  }
  if (!SameShape(original, variable)) {
    return absl::InvalidArgumentError(absl::StrCat(is_replica, ", of another shape"));
  }
  if (SizeOrZero(original.sum_axes()) > 0) {
    return absl::InvalidArgumentError(absl::StrCat(is_replica, ", of which ranks hold terms"));
  }
  if (!HaveEqualBoxes(original, variable)) {
    return absl::InvalidArgumentError(absl::StrCat(is_replica, ", of which ranks hold other parts"));
  }
  const bool is_low_precision = TypeOf(variable) == DType::kBf16 || TypeOf(variable) == DType::kF16;
  if (TypeOf(variable) != TypeOf(original) && !(TypeOf(original) == DType::kF32 && is_low_precision)) {
    return absl::InvalidArgumentError(
        absl::StrCat(is_replica, InType(original), ", and it is", InType(variable),
                     ": variables of f32 alone have replicas of another type, bf16 or f16"));
  }
  places.emplace(index, original.device(), TypeOf(original));
  if (places.emplace(index, variable.device(), TypeOf(variable)).second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      is_replica, " on ", DeviceOf(plan, variable.device()).ToString(), ", where there is one already"));
}

// Reads return the original's type. A device with a rounded replica must therefore also have a full-precision
// copy.
absl::Status VerifyIsBeside(const fb::Plan& plan, const fb::Variable& variable, const Places& places) {
  const uint32_t index = variable.replica_of() - 1;
  const fb::Variable& original = *plan.variables()->Get(index);
  if (places.contains({index, variable.device(), TypeOf(original)})) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it is a replica of \"", original.name()->c_str(), "\"", InType(variable), " on ",
                   DeviceOf(plan, variable.device()).ToString(), ", where there is none", InType(original)));
}

absl::Status OfVariable(uint32_t index, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("the plan is malformed: variable ", index, ": ",
                                                  std::string(status.message())));
}

}  // namespace

absl::Status VerifyVariableReplicas(const fb::Plan& plan) {
  const uint32_t count = plan.variables() == nullptr ? 0 : plan.variables()->size();
  Places places;
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Variable& variable = *plan.variables()->Get(i);
    if (variable.replica_of() == 0) continue;
    SINTER_RETURN_IF_ERROR(OfVariable(i, VerifyReplica(plan, variable, places)));
  }
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Variable& variable = *plan.variables()->Get(i);
    if (variable.replica_of() == 0) continue;
    SINTER_RETURN_IF_ERROR(OfVariable(i, VerifyIsBeside(plan, variable, places)));
  }
  return absl::OkStatus();
}

}  // namespace sinter
