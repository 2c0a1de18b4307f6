// Computes initial values on CPU cores that are idle while the devices are initialized.
//
//   InitialValuePrefetch ahead;
//   ahead.Add(3, {.kind = InitialValues::Kind::kNormal, .b = 0.02, .seed = 7}, DType::kF32,
//             TensorBox::Whole(1 << 20));
//   ahead.Start(pool);
//   ...
//   ahead.Wait();
//   if (const std::byte* values = ahead.Find(3); values != nullptr) Upload(values);
//
// Handles only random values, in main memory, up to a number of bytes; values added first take precedence.
// The caller computes all others when it needs them, also if main memory is short: the bits are the same
// (runtime/tensor/initializer.h). One thread may use an instance; Start creates a thread with its own team
// for the work.
#ifndef SINTER_RUNTIME_SESSION_INITIAL_VALUE_PREFETCH_H_
#define SINTER_RUNTIME_SESSION_INITIAL_VALUE_PREFETCH_H_

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

class InitialValuePrefetch {
 public:
  // About as much as 16 cores compute while a GPU is initialized.
  static constexpr int64_t kMostBytes = int64_t{512} << 20;

  explicit InitialValuePrefetch(int64_t most_bytes = kMostBytes) : left_(most_bytes) {}
  // Stops after the values being computed now.
  ~InitialValuePrefetch() {
    is_abandoned_ = true;
    Wait();
  }
  InitialValuePrefetch(const InitialValuePrefetch&) = delete;
  InitialValuePrefetch& operator=(const InitialValuePrefetch&) = delete;

  // Call before Start, once per key.
  void Add(size_t key, const InitialValues& values, DType dtype, const TensorBox& box);
  // Call once. Starts no thread if nothing was added.
  void Start(const ThreadPool& pool);
  // Waits until all values are computed, so that the computation does not disturb later work.
  void Wait() {
    if (thread_.joinable()) thread_.join();
  }
  // Waits, then returns all elements of the box; null if they were not computed here.
  const std::byte* Find(size_t key);

 private:
  // The memory bypasses the process-wide allocator, which would keep it. It uses huge pages if possible:
  // freeing half a GB of small pages takes tens of milliseconds.
  struct Free {
    int64_t bytes;
    void operator()(std::byte* data) const { HostMemory().Free(data, bytes); }
  };
  struct Item {
    InitialValues values;
    DType dtype;
    TensorBox box;
    std::unique_ptr<std::byte, Free> data = {};
  };

  int64_t left_;
  std::map<size_t, Item> items_;  // Owned by the thread between Start and its join.
  std::atomic<bool> is_abandoned_ = false;
  std::thread thread_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_SESSION_INITIAL_VALUE_PREFETCH_H_
