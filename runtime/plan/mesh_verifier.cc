// The part of plan_verifier.h that checks a mesh: its axes and devices, the ranks of functions, and the order
// of their exchanges.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"

namespace sinter {
namespace {

absl::Status In(const std::string& subject, const absl::Status& status) {
  if (status.ok()) return status;
  return BadPlan("the plan is malformed: ", subject, ": ", std::string(status.message()));
}

std::string Decimal(absl::int128 number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

absl::Status VerifyAxes(const fb::Plan& plan) {
  const uint32_t count = SizeOrZero(plan.mesh()->axes());
  if (count == 0 || count > kPlanMaxAxes) {
    return BadPlan("it has ", count, " axes, not 1 to ", kPlanMaxAxes);
  }
  std::set<std::string_view> names;
  uint64_t devices = NumDevices(plan);
  for (uint32_t i = 0; i < count; ++i) {
    const fb::MeshAxis& axis = *plan.mesh()->axes()->Get(i);
    const std::string_view name = View(axis.name());
    if (name.empty()) return BadPlan("axis ", i, " has no name");
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    if (std::ranges::any_of(name, is_control)) {
      return BadPlan("the name of axis ", i, " holds a control character");
    }
    if (!names.insert(name).second) return BadPlan("the axis \"", std::string(name), "\" is there twice");
    if (axis.size() == 0) return BadPlan("the axis \"", std::string(name), "\" has size 0");
    devices *= axis.size();
    if (devices > kPlanMaxRanks) return BadPlan("all ranks have more than ", kPlanMaxRanks, " devices");
  }
  return absl::OkStatus();
}

// Devices without a list have the indices of rank 0's devices plus multiples of their number.
absl::Status VerifyImpliedDevices(const fb::Plan& plan) {
  const uint32_t cell = NumDevices(plan);
  std::map<std::pair<DeviceKind, int32_t>, Device> seen;
  for (uint32_t d = 0; d < cell; ++d) {
    const Device device = DeviceOf(plan, d);
    const auto [other, is_new] =
        seen.emplace(std::pair(device.kind(), device.index() % static_cast<int32_t>(cell)), device);
    if (is_new) continue;
    return BadPlan(other->second.ToString(), " and ", device.ToString(), " of one rank, with ", cell,
                   " devices a rank, are devices of other ranks too: list the devices of all ranks");
  }
  return absl::OkStatus();
}

absl::Status VerifyMeshDevices(const fb::Plan& plan) {
  const auto* const devices = plan.mesh()->devices();
  if (SizeOrZero(devices) == 0) return VerifyImpliedDevices(plan);
  const uint32_t cell = NumDevices(plan), ranks = RankMesh(plan).num_ranks();
  if (devices->size() != ranks * cell) {
    return BadPlan("it lists ", devices->size(), " devices, and ", ranks, " ranks of ", cell, " have ",
                   ranks * cell);
  }
  std::set<Device> seen;
  for (uint32_t i = 0; i < devices->size(); ++i) {
    SINTER_RETURN_IF_ERROR(VerifyDeviceName(*devices->Get(i)));
    const Device device = DeviceOfRank(plan, i / cell, i % cell), first = DeviceOf(plan, i % cell);
    if (!seen.insert(device).second) return BadPlan("it lists ", device.ToString(), " twice");
    if (device.kind() != first.kind() || (i < cell && device != first)) {
      return BadPlan("its device ", i, " is ", device.ToString(), ", and stands for ", first.ToString(),
                     " of rank 0");
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyStrides(const RankMesh& mesh, const flatbuffers::Vector<int64_t>* strides) {
  if (!IsAligned(strides)) return BadPlan("its strides are not aligned to 8 bytes");
  if (SizeOrZero(strides) == mesh.num_axes()) return absl::OkStatus();
  return BadPlan("it has ", SizeOrZero(strides), " strides for ", mesh.num_axes(), " axes");
}

absl::Status VerifyRankValue(const RankMesh& mesh, const fb::RankValue& value) {
  SINTER_RETURN_IF_ERROR(VerifyStrides(mesh, value.strides()));
  RankBox all = {.axes = mesh.num_axes()};
  for (uint32_t axis = 0; axis < mesh.num_axes(); ++axis) all.end[axis] = mesh.size(axis);
  const auto [least, greatest] = all.Range(value.constant(), value.strides());
  if (least >= std::numeric_limits<int64_t>::min() && greatest <= std::numeric_limits<int64_t>::max()) {
    return absl::OkStatus();
  }
  return BadPlan("its numbers exceed 64 bits");
}

// Functions of one name run on disjoint sets of ranks, which together are all.
absl::Status VerifyVariants(const fb::Plan& plan, const RankMesh& mesh,
                            const std::vector<const fb::Function*>& variants) {
  uint64_t covered = 0;
  for (size_t i = 0; i < variants.size(); ++i) {
    const RankBox box = mesh.BoxOf(*variants[i]);
    covered += box.size();
    for (size_t k = 0; k < i; ++k) {
      const RankBox other = mesh.BoxOf(*variants[k]);
      if (box.Meets(other, 0)) return BadPlan("its ", other.ToString(), " and ", box.ToString(), " overlap");
      SINTER_RETURN_IF_ERROR(In(absl::StrCat(other.ToString(), " and ", box.ToString()),
                                VerifyVariantPair(plan, *variants[k], *variants[i])));
    }
  }
  if (covered == mesh.num_ranks()) return absl::OkStatus();
  return BadPlan("it is there for ", covered, " ranks of ", mesh.num_ranks());
}

}  // namespace

absl::Status VerifyMesh(const fb::Plan& plan) {
  const uint32_t values = SizeOrZero(plan.rank_values());
  if (plan.mesh() == nullptr) {
    if (values > 0) return In("rank value 0", BadPlan("the plan has no mesh"));
    return absl::OkStatus();
  }
  if (plan.version() < Plan::LeastVersion({.mesh = true})) {
    return In("mesh", BadPlan("the plan has format version ", plan.version(), ", and meshes are there since ",
                              Plan::LeastVersion({.mesh = true})));
  }
  SINTER_RETURN_IF_ERROR(In("mesh", VerifyAxes(plan)));
  SINTER_RETURN_IF_ERROR(In("mesh", VerifyMeshDevices(plan)));
  const RankMesh mesh(plan);
  for (uint32_t i = 0; i < values; ++i) {
    SINTER_RETURN_IF_ERROR(
        In(absl::StrCat("rank value ", i), VerifyRankValue(mesh, *plan.rank_values()->Get(i))));
  }
  return absl::OkStatus();
}

absl::Status VerifyRanks(const fb::Plan& plan, const fb::Function& function) {
  const uint32_t count = SizeOrZero(function.ranks());
  if (count == 0) return absl::OkStatus();
  const RankMesh mesh(plan);
  if (count != mesh.num_axes()) {
    return BadPlan("it has ranges of ranks for ", count, " axes, and the plan has ", mesh.num_axes());
  }
  if (reinterpret_cast<uintptr_t>(function.ranks()->Data()) % alignof(fb::CoordinateRange) != 0) {
    return BadPlan("its ranges of ranks are not aligned to 4 bytes");
  }
  for (uint32_t axis = 0; axis < count; ++axis) {
    const fb::CoordinateRange& range = *function.ranks()->Get(axis);
    if (range.begin() < range.end() && range.end() <= mesh.size(axis)) continue;
    return BadPlan("its ranks have coordinates [", range.begin(), ", ", range.end(), ") on axis ", axis,
                   ", of size ", mesh.size(axis));
  }
  return absl::OkStatus();
}

absl::Status VerifyRankBuffer(const fb::Plan& plan, const fb::Buffer& buffer) {
  if (buffer.space() == fb::Space::RankValue) {
    const uint32_t count = SizeOrZero(plan.rank_values());
    if (buffer.index() >= count) return BadPlan("rank value ", buffer.index(), " of ", count);
    if (buffer.type()->dtype() != fb::DType::I64 || SizeOrZero(buffer.type()->shape()) > 0) {
      return BadPlan("rank values are one number of i64, and its type is another");
    }
    if (buffer.offset() != 0) return BadPlan("its offset in the rank value is ", buffer.offset());
  }
  if (buffer.rank_strides() == nullptr) return absl::OkStatus();
  if (plan.mesh() == nullptr) return BadPlan("it has strides of ranks, and the plan has no mesh");
  if (buffer.space() != fb::Space::Input) return BadPlan("it has strides of ranks, and is not in an input");
  return VerifyStrides(RankMesh(plan), buffer.rank_strides());
}

absl::Status VerifyRankOffsets(const fb::Plan& plan, const fb::Function& function, const fb::Buffer& buffer,
                               uint64_t room, uint64_t element) {
  const RankMesh mesh(plan);
  const RankBox box = mesh.BoxOf(function);
  const auto [least, greatest] = box.Range(buffer.offset(), buffer.rank_strides());
  if (least < 0 || greatest + buffer.bytes() > room) {
    return BadPlan("its bytes begin at ", Decimal(least), " to ", Decimal(greatest), ", and ", buffer.bytes(),
                   " bytes from there are outside its input of ", room, " bytes");
  }
  for (uint32_t axis = 0; axis < mesh.num_axes(); ++axis) {
    const bool is_one = box.end[axis] - box.begin[axis] == 1;
    if (is_one || buffer.rank_strides()->Get(axis) % static_cast<int64_t>(element) == 0) continue;
    return BadPlan("its stride ", buffer.rank_strides()->Get(axis), " on axis ", axis,
                   " is not aligned to its elements of ", element, " bytes");
  }
  if (least % static_cast<int64_t>(element) == 0) return absl::OkStatus();
  return BadPlan("its least offset ", Decimal(least), " is not aligned to its elements of ", element,
                 " bytes");
}

absl::Status VerifyFunctionRanks(const fb::Plan& plan) {
  if (plan.mesh() == nullptr) return absl::OkStatus();
  const RankMesh mesh(plan);
  for (const std::vector<const fb::Function*>& variants : FunctionVariants(plan)) {
    const std::string subject = absl::StrCat("function \"", variants.front()->name()->c_str(), "\"");
    if (variants.size() > kPlanMaxVariants) {
      return In(subject, BadPlan("it is there ", variants.size(), " times: at most ", kPlanMaxVariants));
    }
    SINTER_RETURN_IF_ERROR(In(subject, VerifyVariants(plan, mesh, variants)));
  }
  return absl::OkStatus();
}

}  // namespace sinter
