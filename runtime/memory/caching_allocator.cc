#include "sinter/runtime/memory/caching_allocator.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/block_arena.h"

namespace sinter {
namespace {

constexpr uint8_t kPoison = 0xff;
// Above this size a request fails before sums of sizes can overflow. No machine has this much memory.
constexpr int64_t kMaxRequest = int64_t{1} << 56;

// "805306368 bytes (768.0 MiB)".
std::string FormatBytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024.0;
  int unit = 0;
  for (; value >= 1024.0 && unit < 3; ++unit) value /= 1024.0;
  std::string text = absl::StrCat(bytes, " bytes");
  if (bytes >= 1024) absl::StrAppendFormat(&text, " (%.1f %s)", value, kUnits[unit]);
  return text;
}

}  // namespace

namespace internal_allocator {

// State shared by the handles. mutex_ guards all mutable state, except during calls to the device and to
// observers.
class Pool {
 public:
  Pool(std::unique_ptr<DeviceMemory> memory, int64_t limit, bool poison)
      : memory_(std::move(memory)), poison_(poison), limit_(limit) {}
  ~Pool() { FreeSegments(std::nullopt); }

  absl::StatusOr<Block*> Allocate(int64_t bytes, std::string_view tag, StreamId stream);
  void Free(Block* block) noexcept;
  int64_t FreeAllBlocks(std::optional<StreamId> stream);

  PoolStats Stats() const;
  void ResetPeaks();
  void SetLimit(int64_t limit);
  int64_t GetLimit() const;
  void ChangeNoGrowth(int delta);
  void ChangeObservers(const std::function<void(std::vector<std::shared_ptr<PoolObserver>>&)>& change);
  std::string DescribeHolders(int max_tags) const;
  absl::Status CheckInvariants() const;
  DeviceMemory& memory() const { return *memory_; }

 private:
  using ObserverList = std::vector<std::shared_ptr<PoolObserver>>;

  // Null if no cached block fits.
  Block* TakeCached(const PoolEvent& request);
  // Allocates from the device. If that fails, returns the cached memory and tries once more.
  absl::StatusOr<Block*> Grow(const PoolEvent& request);
  absl::StatusOr<Block*> TryGrow(const PoolEvent& request);
  absl::StatusOr<void*> RawAllocate(const PoolEvent& request);
  int64_t FreeSegments(std::optional<StreamId> stream);
  // Hands out a block. Requires the lock.
  Block* Serve(Block* block, const PoolEvent& request);
  int64_t HeldBytes() const { return arenas_.used_bytes() + arenas_.free_bytes(); }
  std::string DescribeHoldersLocked(int max_tags) const;
  absl::Status OutOfMemory(const PoolEvent& request, const absl::Status& cause) const;

  void Notify(void (PoolObserver::*call)(const PoolEvent&) noexcept, const PoolEvent& event) const {
    if (!observed_.load(std::memory_order_acquire)) return;
    std::shared_ptr<const ObserverList> observers;
    {
      std::lock_guard lock(mutex_);
      observers = observers_;
    }
    for (const auto& observer : *observers) (observer.get()->*call)(event);
  }

  const std::unique_ptr<DeviceMemory> memory_;
  const bool poison_;
  // Held while memory moves from or to the device. Another thread's growth then cannot take memory that a
  // thread has just returned: a request fails only if the memory in use leaves no room. Recursive, because
  // observers of raw calls may use the pool. Locked before mutex_.
  std::recursive_mutex growth_mutex_;
  mutable std::mutex mutex_;
  BlockArenas arenas_;
  int64_t limit_;         // 0 if there is no limit.
  int64_t reserved_ = 0;  // Bytes in transit from or to the device.
  int64_t peak_used_ = 0;
  int64_t peak_total_ = 0;
  int64_t raw_allocations_ = 0;
  int64_t raw_frees_ = 0;
  int no_growth_ = 0;
  std::atomic<bool> observed_ = false;
  std::shared_ptr<const ObserverList> observers_ = std::make_shared<ObserverList>();
};

absl::StatusOr<Block*> Pool::Allocate(int64_t bytes, std::string_view tag, StreamId stream) {
  PoolEvent event{.device = memory_->device(), .stream = stream, .bytes = bytes, .tag = tag};
  constexpr int64_t kUnit = CachingAllocator::kUnit;
  event.rounded_bytes = bytes > kMaxRequest ? bytes : RoundUp(bytes, kUnit);
  Notify(&PoolObserver::BeforeAllocate, event);
  absl::StatusOr<Block*> block = TakeCached(event);
  if (*block == nullptr) block = Grow(event);
  if (block.ok()) {
    event.ptr = (*block)->ptr;
    memory_->MarkAccessible(event.ptr, event.rounded_bytes);
    if (poison_) memory_->Fill(event.ptr, kPoison, event.rounded_bytes);
    memory_->MarkInaccessible(static_cast<char*>(event.ptr) + bytes, event.rounded_bytes - bytes);
  }
  Notify(&PoolObserver::AfterAllocate, event);
  return block;
}

Block* Pool::TakeCached(const PoolEvent& request) {
  std::lock_guard lock(mutex_);
  Block* const block = arenas_.TakeBestFit(request.stream, request.rounded_bytes);
  return block == nullptr ? nullptr : Serve(block, request);
}

absl::StatusOr<Block*> Pool::Grow(const PoolEvent& request) {
  std::lock_guard growing(growth_mutex_);
  absl::StatusOr<Block*> block = TryGrow(request);
  if (!absl::IsResourceExhausted(block.status())) return block;
  FreeAllBlocks(std::nullopt);
  block = TryGrow(request);
  if (absl::IsResourceExhausted(block.status())) return OutOfMemory(request, block.status());
  return block;
}

absl::StatusOr<Block*> Pool::TryGrow(const PoolEvent& request) {
  const int64_t bytes = request.rounded_bytes;
  if (bytes > kMaxRequest) return absl::ResourceExhaustedError("no device has as much");
  // Another thread may have freed a block while this one waited to grow.
  if (Block* block = TakeCached(request)) return block;
  {
    std::lock_guard lock(mutex_);
    if (no_growth_ > 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(FormatBytes(bytes), " for \"", std::string(request.tag), "\" are not cached on ",
                       request.device.ToString(),
                       ", and the pool may not grow now: allocate them before the NoGrowthScope"));
    }
    if (limit_ > 0 && HeldBytes() + reserved_ + bytes > limit_) {
      return absl::ResourceExhaustedError("the limit is reached");
    }
    reserved_ += bytes;
  }
  absl::StatusOr<void*> ptr = RawAllocate(request);
  std::lock_guard lock(mutex_);
  reserved_ -= bytes;
  if (!ptr.ok()) return ptr.status();
  ++raw_allocations_;
  Block* const block = arenas_.AddSegment(request.stream, *ptr, bytes);
  peak_total_ = std::max(peak_total_, HeldBytes());
  return Serve(block, request);
}

absl::StatusOr<void*> Pool::RawAllocate(const PoolEvent& request) {
  PoolEvent event = request;
  Notify(&PoolObserver::BeforeRawAllocate, event);
  absl::StatusOr<void*> ptr = memory_->Allocate(request.rounded_bytes);
  if (ptr.ok()) event.ptr = *ptr;
  Notify(&PoolObserver::AfterRawAllocate, event);
  return ptr;
}

Block* Pool::Serve(Block* block, const PoolEvent& request) {
  block->asked_bytes = request.bytes;
  block->tag.assign(request.tag);
  peak_used_ = std::max(peak_used_, arenas_.used_bytes());
  return block;
}

void Pool::Free(Block* block) noexcept {
  PoolEvent event{memory_->device(), block->arena->stream, block->asked_bytes,
                  block->bytes,      block->ptr,           block->tag};
  Notify(&PoolObserver::BeforeFree, event);
  if (poison_) {
    memory_->MarkAccessible(block->ptr, block->bytes);
    memory_->Fill(block->ptr, kPoison, block->bytes);
  }
  memory_->MarkInaccessible(block->ptr, block->bytes);
  std::string tag;
  {
    std::lock_guard lock(mutex_);
    tag = std::move(block->tag);  // Under the lock: another thread may be listing the holders.
    arenas_.Release(block);
  }
  event.tag = tag;
  Notify(&PoolObserver::AfterFree, event);
}

int64_t Pool::FreeAllBlocks(std::optional<StreamId> stream) {
  {
    std::lock_guard lock(mutex_);
    if (no_growth_ > 0) return 0;
  }
  return FreeSegments(stream);
}

int64_t Pool::FreeSegments(std::optional<StreamId> stream) {
  std::lock_guard shrinking(growth_mutex_);
  std::vector<Segment> segments;
  {
    std::lock_guard lock(mutex_);
    segments = arenas_.TakeFreeSegments(stream);
    raw_frees_ += static_cast<int64_t>(segments.size());
    // Counts against the limit until the device has the memory.
    for (const Segment& segment : segments) reserved_ += segment.bytes;
  }
  int64_t bytes = 0;
  for (const Segment& segment : segments) {
    const PoolEvent event{memory_->device(), segment.stream, segment.bytes, segment.bytes, segment.ptr, {}};
    Notify(&PoolObserver::BeforeRawFree, event);
    memory_->Free(segment.ptr, segment.bytes);
    Notify(&PoolObserver::AfterRawFree, event);
    bytes += segment.bytes;
  }
  std::lock_guard lock(mutex_);
  reserved_ -= bytes;
  return bytes;
}

PoolStats Pool::Stats() const {
  std::lock_guard lock(mutex_);
  return {.used_bytes = arenas_.used_bytes(),
          .free_bytes = arenas_.free_bytes(),
          .total_bytes = HeldBytes(),
          .peak_used_bytes = peak_used_,
          .peak_total_bytes = peak_total_,
          .free_blocks = arenas_.free_blocks(),
          .raw_allocations = raw_allocations_,
          .raw_frees = raw_frees_};
}

void Pool::ResetPeaks() {
  std::lock_guard lock(mutex_);
  peak_used_ = arenas_.used_bytes();
  peak_total_ = HeldBytes();
}

void Pool::SetLimit(int64_t limit) {
  std::lock_guard lock(mutex_);
  limit_ = limit;
}

int64_t Pool::GetLimit() const {
  std::lock_guard lock(mutex_);
  return limit_;
}

void Pool::ChangeNoGrowth(int delta) {
  std::lock_guard lock(mutex_);
  no_growth_ += delta;
}

void Pool::ChangeObservers(const std::function<void(ObserverList&)>& change) {
  std::lock_guard lock(mutex_);
  ObserverList list = *observers_;
  change(list);
  observed_.store(!list.empty(), std::memory_order_release);
  observers_ = std::make_shared<ObserverList>(std::move(list));
}

std::string Pool::DescribeHolders(int max_tags) const {
  std::lock_guard lock(mutex_);
  return DescribeHoldersLocked(max_tags);
}

std::string Pool::DescribeHoldersLocked(int max_tags) const {
  struct Share {
    std::string_view tag;
    int64_t bytes = 0;
    int64_t count = 0;
  };
  std::unordered_map<std::string_view, Share> by_tag;
  for (const Block* block = arenas_.first_used(); block != nullptr; block = block->used_next) {
    Share& share = by_tag[block->tag];
    share.tag = block->tag;
    share.bytes += block->bytes;
    ++share.count;
  }
  std::vector<Share> shares;
  for (const auto& [tag, share] : by_tag) shares.push_back(share);
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.tag < b.tag;
  });
  std::string text;
  int64_t rest = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (static_cast<int64_t>(i) >= max_tags) {
      rest += shares[i].bytes;
      continue;
    }
    absl::StrAppend(&text, "\n  ", FormatBytes(shares[i].bytes), " in ", shares[i].count, ": ",
                    shares[i].tag.empty() ? std::string("(no tag)") : std::string(shares[i].tag));
  }
  if (rest > 0) {
    absl::StrAppend(&text, "\n  ", FormatBytes(rest), ": ", shares.size() - std::max(max_tags, 0),
                    " more tags");
  }
  return text;
}

absl::Status Pool::OutOfMemory(const PoolEvent& request, const absl::Status& cause) const {
  const int64_t device_free = memory_->FreeBytes();
  const int64_t device_total = memory_->TotalBytes();
  std::lock_guard lock(mutex_);
  std::string text =
      absl::StrCat("out of memory on ", request.device.ToString(), ": ", FormatBytes(request.rounded_bytes),
                   " asked for \"", std::string(request.tag), "\"; used ", FormatBytes(arenas_.used_bytes()),
                   ", cached ", FormatBytes(arenas_.free_bytes()), ", limit ");
  if (limit_ > 0) {
    absl::StrAppend(&text, FormatBytes(limit_), " (SetLimit or ", MemoryLimitVariable(request.device.kind()),
                    ")");
  } else {
    absl::StrAppend(&text, "none");
  }
  absl::StrAppend(&text, "; the device has ", FormatBytes(device_free), " free of ",
                  FormatBytes(device_total), "; ", std::string(cause.message()));
  if (const int64_t split = arenas_.SplitFreeBytes(); split > 0) {
    absl::StrAppend(&text, "; ", FormatBytes(split),
                    " are cached in pieces between allocations in use and cannot be given back");
  }
  const std::string holders = DescribeHoldersLocked(10);
  absl::StrAppend(&text, "; held by:", holders.empty() ? " nobody" : holders);
  return absl::ResourceExhaustedError(text);
}

absl::Status Pool::CheckInvariants() const {
  std::lock_guard lock(mutex_);
  if (peak_used_ < arenas_.used_bytes() || peak_total_ < HeldBytes() || peak_used_ > peak_total_) {
    return absl::InternalError(absl::StrCat("peaks ", peak_used_, " used and ", peak_total_,
                                            " in all contradict ", arenas_.used_bytes(), " used and ",
                                            HeldBytes(), " in all"));
  }
  return arenas_.CheckInvariants();
}

}  // namespace internal_allocator

Allocation::Allocation(std::shared_ptr<internal_allocator::Pool> pool, internal_allocator::Block* block,
                       int64_t bytes)
    : pool_(std::move(pool)), block_(block), ptr_(block->ptr), bytes_(bytes) {}

Allocation::Allocation(Allocation&& other) noexcept
    : pool_(std::move(other.pool_)),
      block_(std::exchange(other.block_, nullptr)),
      ptr_(std::exchange(other.ptr_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Allocation& Allocation::operator=(Allocation&& other) noexcept {
  if (this != &other) {
    Reset();
    pool_ = std::move(other.pool_);
    block_ = std::exchange(other.block_, nullptr);
    ptr_ = std::exchange(other.ptr_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

int64_t Allocation::rounded_bytes() const { return block_ == nullptr ? 0 : block_->bytes; }
std::string_view Allocation::tag() const { return block_ == nullptr ? std::string_view() : block_->tag; }

void Allocation::Reset() noexcept {
  if (block_ != nullptr) pool_->Free(std::exchange(block_, nullptr));
  pool_.reset();
  ptr_ = nullptr;
  bytes_ = 0;
}

NoGrowthScope::NoGrowthScope(std::shared_ptr<internal_allocator::Pool> pool) : pool_(std::move(pool)) {
  pool_->ChangeNoGrowth(1);
}

NoGrowthScope::~NoGrowthScope() {
  if (pool_ != nullptr) pool_->ChangeNoGrowth(-1);
}

absl::StatusOr<std::unique_ptr<CachingAllocator>> CachingAllocator::Create(
    std::unique_ptr<DeviceMemory> memory) {
  return Create(std::move(memory), Options());
}

absl::StatusOr<std::unique_ptr<CachingAllocator>> CachingAllocator::Create(
    std::unique_ptr<DeviceMemory> memory, const Options& options) {
  if (memory == nullptr)
    return absl::InvalidArgumentError("a caching allocator needs a DeviceMemory, not null");
  if (memory->alignment() % kUnit != 0) {
    return absl::InvalidArgumentError(absl::StrCat("memory of ", memory->device().ToString(),
                                                   " is aligned to ", memory->alignment(),
                                                   " bytes: a multiple of ", kUnit, " is needed"));
  }
  MemoryLimit limit;
  if (options.limit.has_value()) {
    limit = *options.limit;
  } else {
    SINTER_ASSIGN_OR_RETURN(limit, MemoryLimitFromEnvironment(memory->device().kind()));
  }
  SINTER_ASSIGN_OR_RETURN(const int64_t bytes, limit.Resolve(memory->TotalBytes()));
  return std::unique_ptr<CachingAllocator>(new CachingAllocator(
      std::make_shared<internal_allocator::Pool>(std::move(memory), bytes, options.poison)));
}

absl::StatusOr<Allocation> CachingAllocator::Allocate(int64_t bytes, std::string_view tag, StreamId stream) {
  if (bytes < 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot allocate ", bytes, " bytes for \"",
                                                   std::string(tag), "\": the size is negative"));
  }
  if (bytes == 0) return Allocation();
  SINTER_ASSIGN_OR_RETURN(internal_allocator::Block * block, pool_->Allocate(bytes, tag, stream));
  return Allocation(pool_, block, bytes);
}

int64_t CachingAllocator::FreeAllBlocks(std::optional<StreamId> stream) {
  return pool_->FreeAllBlocks(stream);
}
PoolStats CachingAllocator::Stats() const { return pool_->Stats(); }
void CachingAllocator::ResetPeaks() { pool_->ResetPeaks(); }
int64_t CachingAllocator::GetLimit() const { return pool_->GetLimit(); }

absl::Status CachingAllocator::SetLimit(const MemoryLimit& limit) {
  SINTER_ASSIGN_OR_RETURN(const int64_t bytes, limit.Resolve(memory().TotalBytes()));
  pool_->SetLimit(bytes);
  return absl::OkStatus();
}

NoGrowthScope CachingAllocator::ForbidGrowth() { return NoGrowthScope(pool_); }

void CachingAllocator::AddObserver(std::shared_ptr<PoolObserver> observer) {
  pool_->ChangeObservers([&](auto& list) { list.push_back(std::move(observer)); });
}

void CachingAllocator::RemoveObserver(const PoolObserver* observer) {
  pool_->ChangeObservers(
      [&](auto& list) { std::erase_if(list, [&](const auto& entry) { return entry.get() == observer; }); });
}

std::string CachingAllocator::DescribeHolders(int max_tags) const { return pool_->DescribeHolders(max_tags); }
absl::Status CachingAllocator::CheckInvariants() const { return pool_->CheckInvariants(); }
DeviceMemory& CachingAllocator::memory() const { return pool_->memory(); }

}  // namespace sinter
