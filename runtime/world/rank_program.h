// The program of the ranks that this process runs, made from a plan with a mesh when a session is created.
//
//   SINTER_ASSIGN_OR_RETURN(const RankProgram program, RankProgram::Of(plan.table(), world));
//   SINTER_ASSIGN_OR_RETURN(const LocalDevices local, LocalDevices::Of(program.table(), world));
//   const fb::Function& train = *program.table().functions()->Get(0);       // The steps of all local ranks.
//
// A plan with a mesh holds the functions of one rank. The program is an ordinary plan for several devices, so
// the rest of the runtime knows no mesh. It differs from a plan file in the following:
//  - Its devices are those of all ranks, but its steps, buffers and variables are only those of the local
//    ranks, one rank after the other between two exchanges.
//  - An exchange over axes has both its axes and its group, and steps for the local members alone. Its epoch
//    and the first device of its group identify it on all processes.
//  - Space RankValue: Buffer.index is an index into rank_values().
// - It has no constants and no code for CPUs. These stay in the file. Each local rank has its own copy of a
// variable: the first one's is the variable, the others are replicas. If ranks hold parts of the variable,
// each copy has the box of its part, without strides, and a "replica" may hold another part than its
// original. An output is the first local rank's; the others' are its replicas.
//
// The program of a plan without a mesh is the plan itself.
#ifndef SINTER_RUNTIME_WORLD_RANK_PROGRAM_H_
#define SINTER_RUNTIME_WORLD_RANK_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

namespace fb {
struct Plan;
}  // namespace fb

class RankProgram {
 public:
  // The plan itself. It must outlive the program, as for Of.
  explicit RankProgram(const fb::Plan& plan) : file_(&plan), table_(&plan) {}
  // InvalidArgument: the processes cannot share the ranks evenly, or one process would run too many devices.
  // ResourceExhausted: the program would be too large.
  static absl::StatusOr<RankProgram> Of(const fb::Plan& plan, const World* world);

  const fb::Plan& table() const { return *table_; }
  // The plan that the program was made from.
  const fb::Plan& file() const { return *file_; }
  // The bytes of the table. Empty if it is the plan itself.
  std::span<const std::byte> bytes() const { return {bytes_.get(), size_}; }
  // The constants of the file.
  std::span<const std::byte> constants() const;
  // The numbers of the local ranks.
  std::span<const int64_t> rank_values() const { return rank_values_; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  const fb::Plan* file_;
  const fb::Plan* table_;
  std::unique_ptr<std::byte, Free> bytes_;  // Hold the table of a plan with a mesh. Aligned to 64.
  size_t size_ = 0;
  std::vector<int64_t> rank_values_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_RANK_PROGRAM_H_
