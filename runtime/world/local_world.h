// A world whose ranks are threads of one process, for tests of code for several processes.
//
//   LocalWorld world(2);
//   std::thread other([&] { Session::Create(plan.Share(), {.threads = 1, .world = &world.rank(1)}); ... });
//   Session::Create(plan.Share(), {.threads = 1, .world = &world.rank(0)});
//
// Messages are copied directly from the sender's memory to the receiver's, never after the sender's call has
// returned. If the ranks' exchanges differ, or one rank does not answer in time, all later calls of all ranks
// fail.
#ifndef SINTER_RUNTIME_WORLD_LOCAL_WORLD_H_
#define SINTER_RUNTIME_WORLD_LOCAL_WORLD_H_

#include <chrono>
#include <memory>
#include <vector>

#include "sinter/runtime/world/world.h"

namespace sinter {

class LocalWorld {
 public:
  // `patience`: how long a rank waits for another.
  explicit LocalWorld(int size, std::chrono::milliseconds patience = std::chrono::seconds(60));
  ~LocalWorld();

  int size() const { return static_cast<int>(ranks_.size()); }
  // Each rank serves one thread at a time and must not be used after the destruction of this world.
  World& rank(int rank) { return *ranks_[static_cast<size_t>(rank)]; }

 private:
  struct Shared;
  class Rank;

  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<World>> ranks_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_LOCAL_WORLD_H_
