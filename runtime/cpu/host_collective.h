// Runs the collectives of CPUs, in one process or several.
//
//   std::vector<CollectiveGroup> groups = LocalGroups(function, local);  // In plan order.
//   auto sum = HostCollective::Make(function, groups[0], {.pool = &pool, .local = local, .name = name});
//   SINTER_RETURN_IF_ERROR(sum->Run(buffers, workspace, run));  // All local members together.
//
// The members of one process are one launch (runtime/execute/launch_order.h, Launch::is_collective). One
// HostCollective does the work of all of them, on the calling thread and its pool.
//
// Between processes, each process combines its share of the elements. It receives that share from every
// member and sends the result to all, in pieces of at most kCollectiveChunkBytes per member. With k processes
// of one device each, every process sends 2 n (k - 1) / k bytes for n bytes of data.
#ifndef SINTER_RUNTIME_CPU_HOST_COLLECTIVE_H_
#define SINTER_RUNTIME_CPU_HOST_COLLECTIVE_H_

#include <chrono>
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
  World* world = nullptr;  // Null if all members are local.
  // World::Operation::name. The fields below are the operation's other fields, except the run.
  std::string name;
  uint32_t tag = 0;
  uint32_t session = 0;
  uint32_t function = 0;
  std::chrono::milliseconds patience{0};
};

// The collective work of all local members, all on CPUs.
class HostCollective {
 public:
  virtual ~HostCollective() = default;

  static std::unique_ptr<HostCollective> Make(const fb::Function& function, const CollectiveGroup& group,
                                              HostCollectiveOptions options);

  // Staging memory for data from other processes, part of the library workspace of the first member's device.
  virtual size_t WorkspaceBytes() const = 0;

  // `buffers` has one table per member of the group: its inputs, then its outputs. `run` is the session's run
  // number, for the world. Errors: those of World::Exchange. Allocates nothing after the first run.
  virtual absl::Status Run(std::span<void* const* const> buffers, void* workspace, int64_t run) = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CPU_HOST_COLLECTIVE_H_
