// The boxes of variables: the parts of mesh.h and plan_verifier.h that read and check plan.fbs: VariableBox.
#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/tensor/scalar_log.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {
namespace {

using Shape = std::span<const int64_t>;

constexpr uint32_t kMaxExtents = 64;

Shape Numbers(const flatbuffers::Vector<int64_t>* list) {
  return SizeOrZero(list) == 0 ? Shape() : Shape(list->data(), list->size());
}

std::string ListText(Shape numbers) { return absl::StrCat("[", absl::StrJoin(numbers, ", "), "]"); }

absl::Status VerifyExtent(const RankMesh& mesh, const fb::BoxExtent& extent) {
  if (extent.size() < 1 || static_cast<uint64_t>(extent.size()) > kPlanMaxMemoryBytes) {
    return BadPlan("its size is ", extent.size());
  }
  if (extent.part() < 1 || extent.part() > extent.size()) {
    return BadPlan("a rank has ", extent.part(), " of its ", extent.size(), " iterations");
  }
  if (!IsAligned(extent.rank_strides())) return BadPlan("its strides are not aligned to 8 bytes");
  const uint32_t strides = SizeOrZero(extent.rank_strides());
  if (strides == 0 || strides == mesh.num_axes()) return absl::OkStatus();
  return BadPlan("it has ", strides, " strides for ", mesh.num_axes(), " axes");
}

// The parts begin at all multiples of their size, and nowhere else. An axis of n ranks with a step of t parts
// leaves no gap behind the parts before it if t is at most their number.
absl::Status VerifyCover(const RankMesh& mesh, const fb::BoxExtent& extent) {
  const auto refuse = [&] {
    return BadPlan("the ranks' ", extent.part(), " of ", extent.size(), " iterations begin at ",
                   extent.first(), " by ", ListText(Numbers(extent.rank_strides())),
                   ", not at each multiple of ", extent.part());
  };
  if (extent.size() % extent.part() != 0) return refuse();
  std::vector<std::pair<int64_t, int64_t>> steps;  // In parts, and how often.
  absl::int128 down = 0;                           // Sum of the strides that lead down.
  for (uint32_t axis = 0; axis < SizeOrZero(extent.rank_strides()); ++axis) {
    const int64_t stride = extent.rank_strides()->Get(axis), more = int64_t{mesh.size(axis)} - 1;
    if (stride == 0 || more == 0) continue;
    if (stride % extent.part() != 0 || stride <= -extent.size() || stride >= extent.size()) return refuse();
    if (stride < 0) down -= absl::int128(stride) * more;
    steps.emplace_back(std::abs(stride) / extent.part(), more);
  }
  std::ranges::sort(steps);
  absl::int128 parts = 1;
  for (const auto& [step, count] : steps) {
    if (step > parts) return refuse();
    parts += absl::int128(step) * count;
  }
  return extent.first() == down && parts == extent.size() / extent.part() ? absl::OkStatus() : refuse();
}

// Each axis moves the box along one extent: along two, its corners would not all be there.
absl::Status VerifyMoves(const RankMesh& mesh, const fb::VariableBox& box) {
  for (uint32_t axis = 0; axis < mesh.num_axes(); ++axis) {
    uint32_t moved = 0;
    for (const fb::BoxExtent* const extent : *box.extents()) {
      if (SizeOrZero(extent->rank_strides()) > 0 && extent->rank_strides()->Get(axis) != 0) ++moved;
    }
    if (moved > 1 && mesh.size(axis) > 1)
      return BadPlan("axis ", axis, " moves it along ", moved, " extents");
  }
  return absl::OkStatus();
}

// The shape of a part: for each dimension the product of the parts of its extents. nullopt if the extents are
// no view of the shape. An extent of 1 belongs to either neighbour.
std::optional<std::vector<int64_t>> PartShape(Shape shape, const fb::VariableBox& box) {
  std::vector<int64_t> parts;
  uint32_t i = 0;
  const uint32_t count = SizeOrZero(box.extents());
  for (const int64_t size : shape) {
    absl::int128 product = 1;
    parts.push_back(1);
    for (; i < count && (product < size || box.extents()->Get(i)->size() == 1); ++i) {
      product *= box.extents()->Get(i)->size();
      if (product > size) return std::nullopt;
      parts.back() *= box.extents()->Get(i)->part();
    }
    if (product != size) return std::nullopt;
  }
  if (i < count) return std::nullopt;
  return parts;
}

absl::Status VerifyShapes(const fb::Variable& variable) {
  const fb::VariableBox& box = *variable.box();
  if (!IsAligned(box.shape())) return BadPlan("its shape is not aligned to 8 bytes");
  const Shape whole = Numbers(box.shape()), own = Numbers(variable.type()->shape());
  if (whole.size() > HostTensor::kMaxRank) return BadPlan("its rank is ", whole.size());
  SINTER_ASSIGN_OR_RETURN(const int64_t bytes,
                          DenseBytes(static_cast<DType>(variable.type()->dtype()), whole));
  if (static_cast<uint64_t>(bytes) > kPlanMaxMemoryBytes) {
    return BadPlan("the whole variable has ", bytes, " bytes, more than an address space");
  }
  const std::optional<std::vector<int64_t>> part = PartShape(whole, box);
  if (!part.has_value()) return BadPlan("its extents are no view of the shape ", ListText(whole));
  if (std::ranges::equal(*part, own)) return absl::OkStatus();
  return BadPlan("a part of ", ListText(whole), " has the shape ", ListText(*part), ", and the variable has ",
                 ListText(own));
}

}  // namespace

bool IsCut(const fb::Variable& variable) {
  if (variable.box() == nullptr) return false;
  for (uint32_t i = 0; i < SizeOrZero(variable.box()->extents()); ++i) {
    const fb::BoxExtent& extent = *variable.box()->extents()->Get(i);
    if (extent.part() != extent.size()) return true;
  }
  return false;
}

std::vector<int64_t> WholeShape(const fb::Variable& variable) {
  const Shape shape = Numbers(variable.box() == nullptr ? variable.type()->shape() : variable.box()->shape());
  return {shape.begin(), shape.end()};
}

TensorBox PartOf(const RankMesh& mesh, const fb::Variable& variable, uint32_t rank) {
  if (!IsCut(variable)) {
    int64_t elements = 1;
    for (const int64_t size : WholeShape(variable)) elements *= size;
    return TensorBox::Whole(elements);
  }
  std::vector<BoxExtent> extents;
  for (const fb::BoxExtent* const extent : *variable.box()->extents()) {
    extents.push_back(
        {extent->size(), extent->part(), mesh.ValueOf(rank, extent->first(), extent->rank_strides())});
  }
  return TensorBox(extents);
}

uint32_t TermOf(const RankMesh& mesh, const fb::Variable& variable, uint32_t rank) {
  return mesh.PositionOf(rank, MaskOf(variable.sum_axes()));
}

std::vector<RankedPart> PartsOf(const RankMesh& mesh, const fb::Variable& variable) {
  std::vector<RankedPart> boxes;
  std::set<std::pair<TensorBox, uint32_t>> seen;
  const bool differ = IsCut(variable) || SizeOrZero(variable.sum_axes()) > 0;
  const uint32_t ranks = differ ? mesh.num_ranks() : 1;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    RankedPart part = {PartOf(mesh, variable, rank), rank, TermOf(mesh, variable, rank)};
    if (seen.emplace(part.box, part.term).second) boxes.push_back(std::move(part));
  }
  return boxes;
}

absl::Status VerifySumAxes(const fb::Plan& plan, const fb::Variable& variable) {
  const auto* const axes = variable.sum_axes();
  if (!IsAligned(axes)) return BadPlan("the axes of its terms are not aligned to 4 bytes");
  if (SizeOrZero(axes) == 0) return absl::OkStatus();
  if (plan.mesh() == nullptr) return BadPlan("its ranks hold terms, and the plan has no mesh");
  const RankMesh mesh(plan);
  for (uint32_t i = 0; i < axes->size(); ++i) {
    const uint32_t axis = axes->Get(i);
    if (axis >= mesh.num_axes()) {
      return BadPlan("its ranks hold terms over axis ", axis, " of ", mesh.num_axes());
    }
    if (i > 0 && axis <= axes->Get(i - 1)) return BadPlan("the axes of its terms do not ascend");
    for (uint32_t e = 0; variable.box() != nullptr && e < SizeOrZero(variable.box()->extents()); ++e) {
      const auto* const strides = variable.box()->extents()->Get(e)->rank_strides();
      if (SizeOrZero(strides) == 0 || strides->Get(axis) == 0 || mesh.size(axis) == 1) continue;
      return BadPlan("its ranks hold both terms and parts over axis ", axis);
    }
  }
  const auto dtype = static_cast<DType>(variable.type()->dtype());
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return BadPlan("its ranks hold terms of ", std::string(DTypeName(dtype)), "; sums are f32 or f64");
  }
  if (variable.replica_of() != 0) return BadPlan("its ranks hold terms, and it is a replica");
  const fb::Initializer* const init = variable.initializer();
  if (init->kind() != fb::InitializerKind::Constant || init->a() != 0) {
    return BadPlan("its ranks hold terms, and it does not start at zero");
  }
  return absl::OkStatus();
}

absl::Status VerifyVariableBox(const fb::Plan& plan, const fb::Variable& variable) {
  if (variable.box() == nullptr) return absl::OkStatus();
  const auto in_box = [](const absl::Status& status) {
    return status.ok() ? status : BadPlan("its box: ", std::string(status.message()));
  };
  if (plan.mesh() == nullptr) return in_box(BadPlan("the plan has no mesh"));
  if (IsCut(variable) && IsLogVariable(View(variable.name()))) {
    return in_box(BadPlan("it is a log, of which every rank has the whole"));
  }
  const RankMesh mesh(plan);
  const uint32_t count = SizeOrZero(variable.box()->extents());
  if (count > kMaxExtents) return in_box(BadPlan("it has ", count, " extents: at most ", kMaxExtents));
  for (uint32_t i = 0; i < count; ++i) {
    const fb::BoxExtent& extent = *variable.box()->extents()->Get(i);
    absl::Status status = VerifyExtent(mesh, extent);
    if (status.ok()) status = VerifyCover(mesh, extent);
    if (!status.ok()) return in_box(BadPlan("extent ", i, ": ", std::string(status.message())));
  }
  if (count > 0) SINTER_RETURN_IF_ERROR(in_box(VerifyMoves(mesh, *variable.box())));
  return in_box(VerifyShapes(variable));
}

absl::Status VerifyInitialValues(const fb::Variable& variable) {
  if (variable.replica_of() != 0) return absl::OkStatus();
  const auto* const shape = variable.box() == nullptr ? variable.type()->shape() : variable.box()->shape();
  // The box has been verified: the whole has less than 2^63 bytes.
  auto bytes = static_cast<uint64_t>(SizeOf(static_cast<DType>(variable.type()->dtype())));
  for (uint32_t d = 0; shape != nullptr && d < shape->size(); ++d) bytes *= shape->Get(d);
  const auto* const values = variable.initializer()->values();
  const uint64_t given = values == nullptr ? 0 : values->size();
  if (given == bytes) return absl::OkStatus();
  return BadPlan("it has initial values of ", given, " bytes, and its type has ", bytes);
}

bool HaveEqualBoxes(const fb::Variable& a, const fb::Variable& b) {
  const fb::VariableBox *const x = a.box(), *const y = b.box();
  if (x == nullptr || y == nullptr) return x == y;
  if (!std::ranges::equal(Numbers(x->shape()), Numbers(y->shape()))) return false;
  const uint32_t count = SizeOrZero(x->extents());
  if (SizeOrZero(y->extents()) != count) return false;
  for (uint32_t i = 0; i < count; ++i) {
    const fb::BoxExtent &e = *x->extents()->Get(i), &f = *y->extents()->Get(i);
    if (e.size() != f.size() || e.part() != f.part() || e.first() != f.first() ||
        !std::ranges::equal(Numbers(e.rank_strides()), Numbers(f.rank_strides()))) {
      return false;
    }
  }
  return true;
}

}  // namespace sinter
