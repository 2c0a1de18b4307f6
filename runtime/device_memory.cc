#include "sinter/runtime/device_memory.h"
#include "sinter/runtime/round_up.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

namespace sinter {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// The first number in a file, or kUnknown ("max", no such file).
int64_t ReadNumber(const char* path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : kUnknown;
}

// The number after `key` in a file of "key number ..." lines, or kUnknown.
int64_t ReadEntry(const char* path, const char* key) {
  std::ifstream file(path);
  for (std::string name; file >> name;) {
    int64_t value = 0;
    if (name == key) return file >> value ? value : kUnknown;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return kUnknown;
}

struct GroupMemory {
  int64_t limit = kUnknown;
  int64_t left = kUnknown;
};

// The limit of the control group that a container runs in: version 2, else version 1.
GroupMemory ReadGroupMemory() {
  GroupMemory group;
  group.limit = ReadNumber("/sys/fs/cgroup/memory.max");
  int64_t used = ReadNumber("/sys/fs/cgroup/memory.current");
  int64_t cache = ReadEntry("/sys/fs/cgroup/memory.stat", "inactive_file");
  if (group.limit == kUnknown) {
    group.limit = ReadNumber("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    used = ReadNumber("/sys/fs/cgroup/memory/memory.usage_in_bytes");
    cache = ReadEntry("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file");
  }
  if (group.limit == kUnknown || used == kUnknown) return group;
  // The page cache counts as used, but the kernel drops it when the group needs room.
  if (cache != kUnknown) used -= std::min(used, cache);
  group.left = std::max<int64_t>(0, group.limit - used);
  return group;
}

// A mapping of `size` bytes (a multiple of kHugePage) that starts at a multiple of kHugePage.
void* MapHuge(int64_t size) {
  const int64_t mapped = size + kHugePage;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const int64_t head = static_cast<int64_t>(aligned - begin);
  if (head > 0) munmap(raw, head);
  if (mapped - head - size > 0) munmap(reinterpret_cast<void*>(aligned + size), mapped - head - size);
  void* result = reinterpret_cast<void*>(aligned);
  madvise(result, size, MADV_HUGEPAGE);  // Only advice: a kernel without huge pages is fine.
  return result;
}

}  // namespace

absl::StatusOr<void*> HostMemory::Allocate(int64_t bytes) {
  if (bytes <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot allocate ", bytes, " bytes of main memory"));
  }
  void* ptr = nullptr;
  if (bytes < kHugeBytes) {
    ptr = std::aligned_alloc(kAlignment, RoundUp(bytes, kAlignment));
  } else if (const int64_t left = FreeBytes(); bytes <= left) {
    ptr = MapHuge(RoundUp(bytes, kHugePage));
  }
  if (ptr == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("main memory has no room for ", bytes, " bytes: ",
                                                     FreeBytes(), " of ", TotalBytes(), " bytes are free"));
  }
  return ptr;
}

void HostMemory::Free(void* ptr, int64_t bytes) noexcept {
  MarkAccessible(ptr, bytes);
  if (bytes < kHugeBytes) {
    std::free(ptr);
  } else {
    munmap(ptr, RoundUp(bytes, kHugePage));
  }
}

void HostMemory::Fill(void* ptr, uint8_t value, int64_t bytes) noexcept { std::memset(ptr, value, bytes); }

// Both macros are empty in programs built without AddressSanitizer.
void HostMemory::MarkAccessible(void* ptr, int64_t bytes) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(ptr, static_cast<size_t>(bytes));
}
void HostMemory::MarkInaccessible(void* ptr, int64_t bytes) noexcept {
  ASAN_POISON_MEMORY_REGION(ptr, static_cast<size_t>(bytes));
}

int64_t HostMemory::TotalBytes() const {
  return std::min<int64_t>(int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE), ReadGroupMemory().limit);
}

int64_t HostMemory::FreeBytes() const {
  const int64_t available_kib = ReadEntry("/proc/meminfo", "MemAvailable:");
  const int64_t available = available_kib == kUnknown ? TotalBytes() : available_kib * 1024;
  return std::min(available, ReadGroupMemory().left);
}

}  // namespace sinter
