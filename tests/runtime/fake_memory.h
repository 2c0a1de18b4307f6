// A fake device memory: it hands out addresses without memory, which nothing may touch.
#ifndef SINTER_TESTS_RUNTIME_FAKE_MEMORY_H_
#define SINTER_TESTS_RUNTIME_FAKE_MEMORY_H_

#include <cstdint>
#include <map>
#include <mutex>

#include "absl/status/status.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {

class FakeMemory : public DeviceMemory {
 public:
  explicit FakeMemory(int64_t capacity, Device device = Device::Gpu())
      : capacity_(capacity), device_(device) {}
  ~FakeMemory() override { SINTER_CHECK(pieces_.empty()) << "the allocator leaked raw memory"; }

  absl::StatusOr<void*> Allocate(int64_t bytes) override {
    std::lock_guard lock(mutex_);
    if (broken_) return absl::InternalError("the device is broken");
    if (bytes > capacity_ - used_) return absl::ResourceExhaustedError("the device is full");
    used_ += bytes;
    pieces_[next_] = bytes;
    void* const ptr = reinterpret_cast<void*>(next_);
    next_ += bytes;  // Adjacent pieces: the pool must not merge them.
    return ptr;
  }
  void Free(void* ptr, int64_t bytes) noexcept override {
    std::lock_guard lock(mutex_);
    const auto piece = pieces_.find(reinterpret_cast<uintptr_t>(ptr));
    SINTER_CHECK(piece != pieces_.end() && piece->second == bytes) << "a raw free that matches no allocation";
    used_ -= bytes;
    pieces_.erase(piece);
  }
  void Fill(void*, uint8_t, int64_t) noexcept override {}
  int64_t TotalBytes() const override { return capacity_; }
  int64_t FreeBytes() const override {
    std::lock_guard lock(mutex_);
    return capacity_ - used_;
  }
  Device device() const override { return device_; }
  int64_t alignment() const override { return alignment_; }

  void Break() { broken_ = true; }
  void SetAlignment(int64_t alignment) { alignment_ = alignment; }

 private:
  const int64_t capacity_;
  const Device device_;
  int64_t alignment_ = 512;
  bool broken_ = false;
  mutable std::mutex mutex_;
  uintptr_t next_ = uintptr_t{1} << 40;
  int64_t used_ = 0;
  std::map<uintptr_t, int64_t> pieces_;
};

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_FAKE_MEMORY_H_
