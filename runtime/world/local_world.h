// A world whose ranks are threads of one process: for tests of what runs in several.
//
//   LocalWorld world(2);
//   std::thread other([&] { Session::Create(plan.Share(), {.threads = 1, .world = &world.rank(1)}); ... });
//   Session::Create(plan.Share(), {.threads = 1, .world = &world.rank(0)});
//
// Messages are copied from the sender's memory to the receiver's, and never after its call has returned. Where the ranks do not
// exchange the same, or one lets the others wait too long, all their calls fail from then on.
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
  // Used by one thread at a time, and not after this world.
  World& rank(int rank) { return *ranks_[static_cast<size_t>(rank)]; }

 private:
  struct Shared;
  class Rank;

  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<World>> ranks_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_LOCAL_WORLD_H_
