#include "sinter/runtime/world/rank_program.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/world/rank_expansion.h"

namespace sinter {
namespace {

constexpr size_t kAlignment = 64;                          // As that of a plan file.
constexpr uint64_t kMostProgramBytes = uint64_t{1} << 30;  // FlatBuffers have less than 2 GiB.

// "3 or 6": the nearest numbers of processes that divide the ranks.
std::string NearestDivisors(uint32_t ranks, uint32_t processes) {
  uint32_t below = std::min(processes, ranks), above = processes;
  while (ranks % below != 0) --below;
  if (processes >= ranks) return absl::StrCat(ranks);
  while (ranks % above != 0) ++above;
  return absl::StrCat(below, " or ", above);
}

// The least number of processes of which each runs at most `most` ranks. At least one rank is a process's.
uint32_t LeastProcesses(uint32_t ranks, uint32_t most) {
  uint32_t processes = (ranks + most - 1) / most;
  while (ranks % processes != 0) ++processes;
  return processes;
}

}  // namespace

absl::StatusOr<RankProgram> RankProgram::Of(const fb::Plan& plan, const World* world) {
  if (plan.mesh() == nullptr) return RankProgram(plan);
  const RankMesh mesh(plan);
  const uint32_t processes = world == nullptr ? 1 : static_cast<uint32_t>(world->size());
  const uint32_t ranks = mesh.num_ranks(), cell = NumDevices(plan);
  const std::string subject =
      absl::StrCat("the plan has ", ranks, ranks == 1 ? " rank" : " ranks", " (", mesh.ToString(plan), ")");
  if (ranks % processes != 0) {
    return absl::InvalidArgumentError(absl::StrCat(subject, ", which ", processes,
                                                   " processes cannot share evenly: start ",
                                                   NearestDivisors(ranks, processes)));
  }
  const uint32_t count = ranks / processes;
  if (count * cell > kPlanMaxDevices) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ", of which this process would run ", count, " on ", count * cell,
                     " devices: a process has at most ", kPlanMaxDevices, ", so start ",
                     LeastProcesses(ranks, kPlanMaxDevices / cell), " processes"));
  }
  const uint32_t first = world == nullptr ? 0 : static_cast<uint32_t>(world->rank()) * count;
  RankExpansion expansion(plan, first, count);
  if (const uint64_t bytes = expansion.MostBytes(); bytes > kMostProgramBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(subject, ", and the tables of the ", count, " of this process may take ", bytes,
                     " bytes, more than ", kMostProgramBytes, ": start more processes"));
  }
  const flatbuffers::DetachedBuffer built = expansion.Build();
  RankProgram program(plan);
  program.bytes_.reset(
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, RoundUp(built.size(), kAlignment))));
  if (program.bytes_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat(subject, ", and main memory has no room for the tables of this process's"));
  }
  std::memcpy(program.bytes_.get(), built.data(), built.size());
  program.size_ = built.size();
  program.table_ = fb::GetPlan(program.bytes_.get());
  for (uint32_t rank = first; rank < first + count; ++rank) {
    for (uint32_t i = 0; i < SizeOrZero(plan.rank_values()); ++i) {
      const fb::RankValue& value = *plan.rank_values()->Get(i);
      program.rank_values_.push_back(mesh.ValueOf(rank, value.constant(), value.strides()));
    }
  }
  return program;
}

std::span<const std::byte> RankProgram::constants() const {
  if (file_->constants() == nullptr) return {};
  return std::as_bytes(std::span(file_->constants()->data(), file_->constants()->size()));
}

}  // namespace sinter
