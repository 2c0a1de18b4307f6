// Exchanges between the devices of a plan: what a CollectiveStep asks for, and how CPUs do it, in one process or several.
//
//   std::vector<CollectiveGroup> groups = LocalGroups(function, local);            // Of this process, in the plan's order.
//   auto sum = HostCollective::Make(function, groups[0], {.pool = &pool, .local = local, .name = name});
//   SINTER_RETURN_IF_ERROR(sum->Run(buffers, workspace, run));                     // All its members at once.
//
// The members of a channel are neighbours in the plan.
//  - CPUs: those that one process has are one launch (runtime/launch_order.h, Launch::is_collective). One HostCollective does
//    the work of all of them when their turn comes, on the calling thread and its pool.
//  - GPUs: each member is a step that its device has made (DeviceRuntime::MakeStep) after DeviceRuntime::Connect, run and
//    recorded with its neighbours. Where one process has several, each device is given its work by a thread of its own.
//
// Elements are combined in the order of the ranks, one after the other, so that all members get the same bits however the
// devices are spread over processes. bf16 and f16 are added as f32 and rounded once. A mean is the sum divided by the number
// of members: of integers, rounded towards zero, with the sum taken modulo 2^64. Max and min: NaN if any is, and -0 < 0.
//
// Between processes each one combines its share of the elements, of which it receives every member's and sends the result
// to all, in pieces of at most kCollectiveChunkBytes a member: in all 2 n (k - 1) / k bytes are sent by each of k processes
// with one device, of n.
#ifndef SINTER_RUNTIME_COLLECTIVE_H_
#define SINTER_RUNTIME_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/dtype.h"
#include "sinter/runtime/local_devices.h"
#include "sinter/runtime/thread_pool.h"
#include "sinter/runtime/world.h"

namespace sinter {

namespace fb {
struct CollectiveStep;
struct Function;
enum class CollectiveKind : uint8_t;
enum class Combine : uint8_t;
}  // namespace fb

inline constexpr size_t kCollectiveChunkBytes = size_t{1} << 20;

// "all_reduce", "send_recv".
std::string_view CollectiveName(fb::CollectiveKind kind);

// Elements [begin, end) of a member, counting through its tensors, are elements [offset, ...) of one of them.
struct CollectivePiece {
  size_t tensor;
  int64_t offset, count;
};

// What the members of a channel have in common.
struct Collective {
  fb::CollectiveKind kind;
  fb::Combine combine;
  DType dtype;
  uint32_t channel;
  std::vector<uint32_t> group;  // Indices into the plan's devices, by rank.
  uint32_t root;
  // Where the elements of each tensor begin, and at the end the number of all. Flat tensors are one, with the bytes between
  // them. Of AllGather and ReduceScatter: of the parts, which together are the one tensor.
  std::vector<int64_t> starts;

  // From any member's step. The tables must have passed plan_verifier.h.
  static Collective Of(const fb::Function& function, uint32_t step);

  int64_t elements() const { return starts.back(); }
  uint32_t size() const { return static_cast<uint32_t>(group.size()); }
  bool HasInputs(uint32_t rank) const;
  bool HasOutputs(uint32_t rank) const;
};

// The members of one channel that this process runs: neighbours in Function.steps, all CPUs or all GPUs.
struct CollectiveGroup {
  std::vector<uint32_t> steps;  // Indices into Function.steps, in the order of their ranks.
};
std::vector<CollectiveGroup> LocalGroups(const fb::Function& function, const LocalDevices& local);

struct HostCollectiveOptions {
  const ThreadPool* pool = nullptr;
  LocalDevices local;
  World* world = nullptr;  // Null: all members are here.
  std::string name;        // World::Operation::name, and what else it has but for the run.
  uint32_t tag = 0;
  uint32_t session = 0;
  uint32_t function = 0;
};

// The work of all members that this process has, all on CPUs.
class HostCollective {
 public:
  virtual ~HostCollective() = default;

  static std::unique_ptr<HostCollective> Make(const fb::Function& function, const CollectiveGroup& group,
                                              HostCollectiveOptions options);

  // For what comes from other processes: part of the library workspace of the first member's device.
  virtual size_t WorkspaceBytes() const = 0;

  // One table a member of the group: of its inputs, then its outputs. `run`: which of the session's, for the world. Errors are
  // those of World::Exchange. Allocates nothing after the first run.
  virtual absl::Status Run(std::span<void* const* const> buffers, void* workspace, int64_t run) = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_COLLECTIVE_H_
