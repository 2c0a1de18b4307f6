// The ranks of a plan with a mesh: their coordinates, their exchanges, and their parts of variables.
//
//   const RankMesh mesh(plan);                               // Axes data 2 and tensor 3: ranks 0 to 5.
//   mesh.GroupOf(4, MaskOf({0}))                             // {1, 4}: they differ in `data` alone.
//   mesh.BoxOf(function).Contains(mesh.CoordinatesOf(4))     // True if rank 4 runs the function.
//   PartOf(mesh, variable, /*rank=*/4)                       // The part that rank 4 holds.
//
// A plan without a mesh has one rank and no axes. A set of axes is a mask: bit i stands for axis i. Unless a
// comment says otherwise, the plan must have passed plan_verifier.h.
#ifndef SINTER_RUNTIME_PLAN_MESH_H_
#define SINTER_RUNTIME_PLAN_MESH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/tensor/tensor_box.h"

namespace sinter {

inline constexpr uint32_t kPlanMaxAxes = 8;
inline constexpr uint32_t kPlanMaxRanks = 1u << 20;  // Also the most devices of all ranks together.

using Coordinates = std::array<uint32_t, kPlanMaxAxes>;  // Zero beyond the mesh's axes.
using AxisMask = uint32_t;

// The mask of a list of axes, all below kPlanMaxAxes; 0 for null.
AxisMask MaskOf(const flatbuffers::Vector<uint32_t>* axes);

// The ranks whose coordinates are in [begin, end) on every axis.
struct RankBox {
  Coordinates begin = {}, end = {};
  uint32_t axes = 0;

  bool Contains(const Coordinates& coordinates) const;
  uint64_t size() const;
  // True if some rank of this box and some rank of the other have equal coordinates on all axes but `axes`.
  bool Meets(const RankBox& other, AxisMask free_axes) const;
  // The least and the greatest value of constant + sum of coordinate * stride. Null strides: the constant.
  std::pair<absl::int128, absl::int128> Range(absl::int128 constant,
                                              const flatbuffers::Vector<int64_t>* strides) const;
  // "ranks [0, 1) x [0, 2)".
  std::string ToString() const;
};

class RankMesh {
 public:
  explicit RankMesh(const fb::Plan& plan);

  uint32_t num_axes() const { return static_cast<uint32_t>(sizes_.size()); }
  uint32_t num_ranks() const { return num_ranks_; }
  uint32_t size(uint32_t axis) const { return sizes_[axis]; }

  Coordinates CoordinatesOf(uint32_t rank) const;
  uint32_t RankOf(const Coordinates& coordinates) const;
  // constant + sum of coordinate * stride, which fits. Null strides: the constant.
  int64_t ValueOf(uint32_t rank, int64_t constant, const flatbuffers::Vector<int64_t>* strides) const;

  // Number of ranks that differ in the coordinates of these axes alone.
  uint32_t GroupSize(AxisMask axes) const;
  // These ranks, ascending; `rank` is one of them.
  std::vector<uint32_t> GroupOf(uint32_t rank, AxisMask axes) const;
  // The position of the rank among them.
  uint32_t PositionOf(uint32_t rank, AxisMask axes) const;
  // The first of them.
  uint32_t FirstOf(uint32_t rank, AxisMask axes) const;

  // The ranks that run the function. The function's list of ranges must be valid or missing.
  RankBox BoxOf(const fb::Function& function) const;
  // The position of the box's ranks in their groups over these axes, if it is the same for all.
  std::optional<uint32_t> OnlyPosition(const RankBox& box, AxisMask axes) const;
  // True if a rank of the box has this position.
  bool HasPosition(const RankBox& box, AxisMask axes, uint32_t position) const;
  // Calls f for the position of each rank of the box, each once, until it returns false.
  void ForEachPosition(const RankBox& box, AxisMask axes, const std::function<bool(uint32_t)>& f) const;

  // "data 2 x tensor 3".
  std::string ToString(const fb::Plan& plan) const;

 private:
  std::vector<uint32_t> sizes_;
  uint32_t num_ranks_ = 1;
};

// The device of a rank that stands for device `device` of Plan.devices.
Device DeviceOfRank(const fb::Plan& plan, uint32_t rank, uint32_t device);

// The functions of each name, in the order in which the names first appear.
std::vector<std::vector<const fb::Function*>> FunctionVariants(const fb::Plan& plan);
// Returns the function that the rank runs, of those of one name.
const fb::Function* VariantOf(const RankMesh& mesh, const std::vector<const fb::Function*>& variants,
                              uint32_t rank);

// True if no rank holds the whole variable.
bool IsCut(const fb::Variable& variable);
// The shape of the whole variable.
std::vector<int64_t> WholeShape(const fb::Variable& variable);
// The part of the variable that the rank holds. The tables of a program (runtime/world/rank_program.h) have
// boxes without strides, which need no mesh.
TensorBox PartOf(const RankMesh& mesh, const fb::Variable& variable, uint32_t rank);
// The number of the rank's term among those that sum to its part of the variable. 0 if it is no sum.
uint32_t TermOf(const RankMesh& mesh, const fb::Variable& variable, uint32_t rank);
// A part or a term of one, and the first rank that holds it.
struct RankedPart {
  TensorBox box;
  uint32_t rank;
  uint32_t term = 0;
};
// The different parts of all ranks, by their first ranks. Together they are the whole variable. Of a sum:
// each term of each part.
std::vector<RankedPart> PartsOf(const RankMesh& mesh, const fb::Variable& variable);

// "data, tensor": the names of a collective's axes.
std::string AxisNames(const fb::Plan& plan, const flatbuffers::Vector<uint32_t>* axes);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_MESH_H_
