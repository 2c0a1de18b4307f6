// Runs the collectives of CPUs, in one process or several.
//
//   std::vector<CollectiveGroup> groups = LocalGroups(function, local);            // Of this process, in the plan's order.
//   auto sum = HostCollective::Make(function, groups[0], {.pool = &pool, .local = local, .name = name});
//   SINTER_RETURN_IF_ERROR(sum->Run(buffers, workspace, run));                     // All its members at once.
//
// The members that one process has are one launch (runtime/execute/launch_order.h, Launch::is_collective). One HostCollective does the
// work of all of them when their turn comes, on the calling thread and its pool.
//
// Between processes each one combines its share of the elements, of which it receives every member's and sends the result
// to all, in pieces of at most kCollectiveChunkBytes a member: in all 2 n (k - 1) / k bytes are sent by each of k processes
// with one device, of n.
#ifndef SINTER_RUNTIME_CPU_HOST_COLLECTIVE_H_
#define SINTER_RUNTIME_CPU_HOST_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/world/local_devices.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

inline constexpr size_t kCollectiveChunkBytes = size_t{1} << 20;

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

#endif  // SINTER_RUNTIME_CPU_HOST_COLLECTIVE_H_
