#include "sinter/runtime/memory/device_memory.h"
#include "sinter/runtime/host/round_up.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sinter {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// Returns the first number in a file, or kUnknown ("max", no such file).
int64_t ReadNumber(const char* path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : kUnknown;
}

// Returns the number after `key` in a file of "key number ..." lines, or kUnknown.
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

// Memory limit of the control group (container): version 2, otherwise version 1.
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

// The live mapped pieces that may have untouched pages.
struct HugePieces {
  std::mutex mutex;
  std::map<std::byte*, int64_t> bytes;
  int64_t sum = 0;

  void Remove(std::byte* data) {
    const auto found = bytes.find(data);
    if (found == bytes.end()) return;
    sum -= found->second;
    bytes.erase(found);
  }
};
// Never destroyed, because static objects may hold memory.
HugePieces& TheHugePieces() {
  static HugePieces& pieces = *new HugePieces;
  return pieces;
}

// Untouched bytes of a piece, whose size is a multiple of kHugePage; 0 if the kernel does not report them.
int64_t UntouchedBytesOf(std::byte* data, int64_t bytes) {
  constexpr int64_t kAtOnce = int64_t{256} << 20;
  const int64_t page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> is_there(static_cast<size_t>(std::min(bytes, kAtOnce) / page));
  int64_t untouched = 0;
  for (int64_t done = 0; done < bytes; done += kAtOnce) {
    const int64_t some = std::min(bytes - done, kAtOnce);
    if (mincore(data + done, static_cast<size_t>(some), is_there.data()) != 0) return 0;
    const auto end = is_there.begin() + some / page;
    untouched += page * std::count_if(is_there.begin(), end, [](unsigned char c) { return (c & 1) == 0; });
  }
  return untouched;
}

// Maps `size` bytes (a multiple of kHugePage) at a multiple of kHugePage.
void* MapHuge(int64_t size) {
  const int64_t mapped = size + kHugePage;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = RoundUp(begin, uintptr_t{kHugePage});
  const int64_t head = static_cast<int64_t>(aligned - begin);
  if (head > 0) munmap(raw, head);
  if (mapped - head - size > 0) munmap(reinterpret_cast<void*>(aligned + size), mapped - head - size);
  void* result = reinterpret_cast<void*>(aligned);
  madvise(result, size, MADV_HUGEPAGE);  // Only advice: kernels without huge pages ignore it.
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
  } else if (HasRoomFor(bytes)) {
    const int64_t size = RoundUp(bytes, kHugePage);
    ptr = MapHuge(size);
    HugePieces& pieces = TheHugePieces();
    const std::lock_guard lock(pieces.mutex);
    if (ptr != nullptr) {
      pieces.bytes[static_cast<std::byte*>(ptr)] = size;
      pieces.sum += size;
    }
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
    const std::lock_guard lock(TheHugePieces().mutex);
    TheHugePieces().Remove(static_cast<std::byte*>(ptr));
    munmap(ptr, RoundUp(bytes, kHugePage));
  }
}

void HostMemory::Fill(void* ptr, uint8_t value, int64_t bytes) noexcept { std::memset(ptr, value, bytes); }

// Both macros are empty without AddressSanitizer.
void HostMemory::MarkAccessible(void* ptr, int64_t bytes) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(ptr, static_cast<size_t>(bytes));
}
void HostMemory::MarkInaccessible(void* ptr, int64_t bytes) noexcept {
  ASAN_POISON_MEMORY_REGION(ptr, static_cast<size_t>(bytes));
}

int64_t HostMemory::TotalBytes() const {
  return std::min<int64_t>(int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE), ReadGroupMemory().limit);
}

int64_t HostMemory::FreeBytes() const { return std::max<int64_t>(SystemFreeBytes() - UntouchedBytes(), 0); }

int64_t HostMemory::SystemFreeBytes() const {
  const int64_t available_kib = ReadEntry("/proc/meminfo", "MemAvailable:");
  const int64_t available = available_kib == kUnknown ? TotalBytes() : available_kib * 1024;
  return std::min(available, ReadGroupMemory().left);
}

// Checks single pages only if the answer depends on them.
bool HostMemory::HasRoomFor(int64_t bytes) const {
  {
    const std::lock_guard lock(TheHugePieces().mutex);
    if (bytes <= SystemFreeBytes() - TheHugePieces().sum) return true;
  }
  return bytes <= FreeBytes();
}

int64_t HostMemory::UntouchedBytes() {
  HugePieces& pieces = TheHugePieces();
  const std::lock_guard lock(pieces.mutex);
  int64_t sum = 0;
  for (auto piece = pieces.bytes.begin(); piece != pieces.bytes.end();) {
    const auto& [data, bytes] = *piece++;
    const int64_t untouched = UntouchedBytesOf(data, bytes);
    sum += untouched;
    // A fully touched piece stays fully touched.
    if (untouched == 0) pieces.Remove(data);
  }
  return sum;
}

}  // namespace sinter
