// Runs each rank of a LocalWorld in its own thread.
//
//   RunInWorld(2, [&](World& world) { ... EXPECT_EQ(...) ... });
#ifndef SINTER_TESTS_RUNTIME_WORLD_THREADS_H_
#define SINTER_TESTS_RUNTIME_WORLD_THREADS_H_

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "sinter/runtime/world/local_world.h"

namespace sinter {

inline void RunInWorld(int size, const std::function<void(World&)>& run,
                       std::chrono::milliseconds patience = std::chrono::seconds(60)) {
  LocalWorld world(size, patience);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) threads.emplace_back([&, rank] { run(world.rank(rank)); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_WORLD_THREADS_H_
