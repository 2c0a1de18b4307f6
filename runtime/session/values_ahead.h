// Initial values that a thread computes while devices are reached, which leaves the cores of the CPU idle.
//
//   ValuesAhead ahead;
//   ahead.Add(3, {.kind = InitialValues::Kind::kNormal, .b = 0.02, .seed = 7}, DType::kF32, 1 << 20);
//   ahead.Start(pool);
//   ...
//   ahead.Wait();
//   if (const std::byte* values = ahead.Find(3); values != nullptr) Upload(values);
//
// Random values alone, in main memory: as many bytes as are asked for at most, those that were added first. What does not fit,
// and what main memory has no room for, the caller computes when it needs it: the bits are the same (runtime/tensor/initializer.h).
// For one thread at a time; Start has the work done by a thread that it starts, with a team of its own.
#ifndef SINTER_RUNTIME_SESSION_VALUES_AHEAD_H_
#define SINTER_RUNTIME_SESSION_VALUES_AHEAD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>

#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/memory/device_memory.h"
#include "sinter/runtime/tensor/initializer.h"

namespace sinter {

class ValuesAhead {
 public:
  // Some 16 cores' work while a GPU is reached.
  static constexpr int64_t kMostBytes = int64_t{512} << 20;

  explicit ValuesAhead(int64_t most_bytes = kMostBytes) : left_(most_bytes) {}
  // Waits for the values under way alone, as where there is no such device.
  ~ValuesAhead() {
    is_abandoned_ = true;
    Wait();
  }
  ValuesAhead(const ValuesAhead&) = delete;
  ValuesAhead& operator=(const ValuesAhead&) = delete;

  // Before Start. A key is added once.
  void Add(size_t key, const InitialValues& values, DType dtype, int64_t elements);
  // Once. Starts no thread where nothing was added.
  void Start(const ThreadPool& pool);
  // Until everything is computed, so that it does not disturb what comes then.
  void Wait() {
    if (thread_.joinable()) thread_.join();
  }
  // All the elements; null: they are not computed here. Waits.
  const std::byte* Find(size_t key);

 private:
  // Not to the process's pool of memory, which would keep it; in huge pages where it can be: to give back half a GB of small
  // ones takes tens of milliseconds.
  struct Free {
    int64_t bytes;
    void operator()(std::byte* data) const { HostMemory().Free(data, bytes); }
  };
  struct Item {
    InitialValues values;
    DType dtype;
    int64_t elements;
    std::unique_ptr<std::byte, Free> data = {};
  };

  int64_t left_;
  std::map<size_t, Item> items_;  // The thread's from Start until it is joined.
  std::atomic<bool> is_abandoned_ = false;
  std::thread thread_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_SESSION_VALUES_AHEAD_H_
