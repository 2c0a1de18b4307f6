#include "sinter/runtime/plan/mesh.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"

namespace sinter {
namespace {

bool IsIn(AxisMask axes, uint32_t axis) { return (axes >> axis & 1) != 0; }

}  // namespace

AxisMask MaskOf(const flatbuffers::Vector<uint32_t>* axes) {
  AxisMask mask = 0;
  for (uint32_t i = 0; i < SizeOrZero(axes); ++i) mask |= AxisMask{1} << axes->Get(i);
  return mask;
}

bool RankBox::Contains(const Coordinates& coordinates) const {
  for (uint32_t axis = 0; axis < axes; ++axis) {
    if (coordinates[axis] < begin[axis] || coordinates[axis] >= end[axis]) return false;
  }
  return true;
}

uint64_t RankBox::size() const {
  uint64_t ranks = 1;
  for (uint32_t axis = 0; axis < axes; ++axis) ranks *= end[axis] - begin[axis];
  return ranks;
}

bool RankBox::Meets(const RankBox& other, AxisMask free_axes) const {
  for (uint32_t axis = 0; axis < axes; ++axis) {
    if (IsIn(free_axes, axis)) continue;
    if (begin[axis] >= other.end[axis] || other.begin[axis] >= end[axis]) return false;
  }
  return true;
}

std::pair<absl::int128, absl::int128> RankBox::Range(absl::int128 constant,
                                                     const flatbuffers::Vector<int64_t>* strides) const {
  absl::int128 least = constant, greatest = constant;
  for (uint32_t axis = 0; axis < std::min(axes, SizeOrZero(strides)); ++axis) {
    const absl::int128 stride = strides->Get(axis);
    const absl::int128 first = stride * begin[axis], last = stride * (end[axis] - 1);
    least += std::min(first, last);
    greatest += std::max(first, last);
  }
  return {least, greatest};
}

std::string RankBox::ToString() const {
  std::string text = "ranks ";
  for (uint32_t axis = 0; axis < axes; ++axis) {
    absl::StrAppend(&text, axis == 0 ? "" : " x ", "[", begin[axis], ", ", end[axis], ")");
  }
  return text;
}

RankMesh::RankMesh(const fb::Plan& plan) {
  if (plan.mesh() == nullptr) return;
  for (const fb::MeshAxis* axis : *plan.mesh()->axes()) {
    sizes_.push_back(axis->size());
    num_ranks_ *= axis->size();
  }
}

Coordinates RankMesh::CoordinatesOf(uint32_t rank) const {
  Coordinates coordinates = {};
  for (uint32_t axis = num_axes(); axis-- > 0; rank /= sizes_[axis]) coordinates[axis] = rank % sizes_[axis];
  return coordinates;
}

uint32_t RankMesh::RankOf(const Coordinates& coordinates) const {
  uint32_t rank = 0;
  for (uint32_t axis = 0; axis < num_axes(); ++axis) rank = rank * sizes_[axis] + coordinates[axis];
  return rank;
}

// The verifier has checked that the sum fits; parts of it may not.
int64_t RankMesh::ValueOf(uint32_t rank, int64_t constant,
                          const flatbuffers::Vector<int64_t>* strides) const {
  const Coordinates coordinates = CoordinatesOf(rank);
  absl::int128 value = constant;
  for (uint32_t axis = 0; axis < std::min(num_axes(), SizeOrZero(strides)); ++axis) {
    value += absl::int128(strides->Get(axis)) * coordinates[axis];
  }
  return static_cast<int64_t>(value);
}

uint32_t RankMesh::GroupSize(AxisMask axes) const {
  uint32_t ranks = 1;
  for (uint32_t axis = 0; axis < num_axes(); ++axis) ranks *= IsIn(axes, axis) ? sizes_[axis] : 1;
  return ranks;
}

std::vector<uint32_t> RankMesh::GroupOf(uint32_t rank, AxisMask axes) const {
  std::vector<uint32_t> ranks = {FirstOf(rank, axes)};
  uint32_t stride = num_ranks_;
  for (uint32_t axis = 0; axis < num_axes(); ++axis) {
    stride /= sizes_[axis];
    if (!IsIn(axes, axis)) continue;
    std::vector<uint32_t> more;
    for (const uint32_t first : ranks) {
      for (uint32_t i = 0; i < sizes_[axis]; ++i) more.push_back(first + i * stride);
    }
    ranks = std::move(more);
  }
  return ranks;
}

uint32_t RankMesh::PositionOf(uint32_t rank, AxisMask axes) const {
  const Coordinates coordinates = CoordinatesOf(rank);
  uint32_t position = 0;
  for (uint32_t axis = 0; axis < num_axes(); ++axis) {
    if (IsIn(axes, axis)) position = position * sizes_[axis] + coordinates[axis];
  }
  return position;
}

uint32_t RankMesh::FirstOf(uint32_t rank, AxisMask axes) const {
  Coordinates coordinates = CoordinatesOf(rank);
  for (uint32_t axis = 0; axis < num_axes(); ++axis) {
    if (IsIn(axes, axis)) coordinates[axis] = 0;
  }
  return RankOf(coordinates);
}

RankBox RankMesh::BoxOf(const fb::Function& function) const {
  RankBox box = {.axes = num_axes()};
  for (uint32_t axis = 0; axis < num_axes(); ++axis) {
    const bool is_listed = SizeOrZero(function.ranks()) > 0;
    box.begin[axis] = is_listed ? function.ranks()->Get(axis)->begin() : 0;
    box.end[axis] = is_listed ? function.ranks()->Get(axis)->end() : sizes_[axis];
  }
  return box;
}

std::optional<uint32_t> RankMesh::OnlyPosition(const RankBox& box, AxisMask axes) const {
  for (uint32_t axis = 0; axis < num_axes(); ++axis) {
    if (IsIn(axes, axis) && box.end[axis] - box.begin[axis] != 1) return std::nullopt;
  }
  return PositionOf(RankOf(box.begin), axes);
}

bool RankMesh::HasPosition(const RankBox& box, AxisMask axes, uint32_t position) const {
  for (uint32_t axis = num_axes(); axis-- > 0;) {
    if (!IsIn(axes, axis)) continue;
    const uint32_t coordinate = position % sizes_[axis];
    if (coordinate < box.begin[axis] || coordinate >= box.end[axis]) return false;
    position /= sizes_[axis];
  }
  return true;
}

void RankMesh::ForEachPosition(const RankBox& box, AxisMask axes,
                               const std::function<bool(uint32_t)>& f) const {
  Coordinates at = box.begin;
  const auto advance = [&] {
    for (uint32_t axis = num_axes(); axis-- > 0;) {
      if (!IsIn(axes, axis)) continue;
      if (++at[axis] < box.end[axis]) return true;
      at[axis] = box.begin[axis];
    }
    return false;
  };
  while (f(PositionOf(RankOf(at), axes)) && advance()) {
  }
}

std::string RankMesh::ToString(const fb::Plan& plan) const {
  std::vector<std::string> axes;
  for (uint32_t axis = 0; axis < num_axes(); ++axis) {
    axes.push_back(absl::StrCat(plan.mesh()->axes()->Get(axis)->name()->c_str(), " ", sizes_[axis]));
  }
  return absl::StrJoin(axes, " x ");
}

Device DeviceOfRank(const fb::Plan& plan, uint32_t rank, uint32_t device) {
  const uint32_t cell = NumDevices(plan);
  if (plan.mesh() != nullptr && SizeOrZero(plan.mesh()->devices()) > 0) {
    const fb::DeviceName& name = *plan.mesh()->devices()->Get(rank * cell + device);
    return Device::Of(*DeviceKindOf(name), name.index());
  }
  const Device first = DeviceOf(plan, device);
  return Device::Of(first.kind(), first.index() + static_cast<int32_t>(rank * cell));
}

std::vector<std::vector<const fb::Function*>> FunctionVariants(const fb::Plan& plan) {
  std::vector<std::vector<const fb::Function*>> functions;
  std::map<std::string_view, size_t> places;
  for (uint32_t i = 0; i < SizeOrZero(plan.functions()); ++i) {
    const fb::Function* const function = plan.functions()->Get(i);
    const auto [place, is_new] = places.emplace(View(function->name()), functions.size());
    if (is_new) functions.emplace_back();
    functions[place->second].push_back(function);
  }
  return functions;
}

const fb::Function* VariantOf(const RankMesh& mesh, const std::vector<const fb::Function*>& variants,
                              uint32_t rank) {
  const Coordinates coordinates = mesh.CoordinatesOf(rank);
  const auto runs = [&](const fb::Function* function) { return mesh.BoxOf(*function).Contains(coordinates); };
  const auto found = std::ranges::find_if(variants, runs);
  SINTER_CHECK(found != variants.end()) << "rank " << rank << " runs no function of this name";
  return *found;
}

std::string AxisNames(const fb::Plan& plan, const flatbuffers::Vector<uint32_t>* axes) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < SizeOrZero(axes); ++i) {
    names.push_back(plan.mesh()->axes()->Get(axes->Get(i))->name()->str());
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace sinter
