#include "sinter/tests/codegen/simt_block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/gpu_limits.h"
#include "sinter/tests/codegen/simt_fibers.h"

namespace sinter::codegen {

namespace {

constexpr int kWarp = 32;
SimtBlock* running = nullptr;

void FiberMain() {
  for (;;) running->RunThreads();
}

// A thread that never waits passes its stack to the next thread.
SimtFibers& Fibers() {
  static auto* fibers = new SimtFibers(kMaxGpuBlock, FiberMain);
  return *fibers;
}

SimtIndex indices[4];

// Returns a lane's result of a shuffle. `given` has the values of the lanes in `taking_part`; `width` lanes
// are a group.
uint64_t Exchanged(SimtShuffle kind, int lane, int argument, int width, const uint64_t* given,
                   uint32_t taking_part) {
  const int first = lane / width * width;
  switch (kind) {
    case SimtShuffle::kXor:
      return given[(lane ^ argument) % kWarp];
    case SimtShuffle::kIndex:
      return given[first + argument % width];
    case SimtShuffle::kUp:
      return given[lane - argument < first ? lane : lane - argument];
    case SimtShuffle::kMatch: {
      uint64_t same = 0;
      for (int other = 0; other < kWarp; ++other) {
        const bool is_same = (taking_part >> other & 1) != 0 && given[other] == given[lane];
        same |= uint64_t{is_same} << other;
      }
      return same;
    }
    case SimtShuffle::kSync:
      break;
  }
  return 0;
}

std::string_view NameOf(SimtShuffle kind) {
  constexpr std::string_view kNames[] = {"a shuffle by xor", "a shuffle by index", "a shuffle up", "a match",
                                         "the warp's barrier"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace

const SimtIndex* SimtIndices() { return indices; }

SimtBlock& SimtBlock::Running() { return *running; }

// Memory ----------------------------------------------------------------------------------------------------

namespace {

// Returns a guard byte. It varies with the position, so that copied poison or shifted bytes are detected.
std::byte GuardAt(int64_t place) { return static_cast<std::byte>(0x35 + 41 * place); }

}  // namespace

SimtBuffer::SimtBuffer(int64_t bytes, int64_t offset)
    : memory_(bytes + 2 * kSimtGuardBytes + 512, kSimtPoison), bytes_(bytes) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(memory_.data()) + kSimtGuardBytes;
  begin_ = memory_.data() + kSimtGuardBytes + (256 - first % 256) % 256 + offset % 256;
  for (int64_t i = 0; i < kSimtGuardBytes; ++i) {
    for (int64_t place : {-1 - i, bytes_ + i}) begin_[place] = GuardAt(place);
  }
}

void SimtBuffer::Poison() { std::fill_n(begin_, bytes_, kSimtPoison); }

bool SimtBuffer::FindChangedGuard(int64_t& at) const {
  for (int64_t i = 0; i < kSimtGuardBytes; ++i) {
    for (int64_t place : {-1 - i, bytes_ + i}) {
      if (begin_[place] == GuardAt(place)) continue;
      at = place;
      return true;
    }
  }
  return false;
}

size_t SimtBlock::AddRegion(std::string name, const std::byte* begin, int64_t bytes) {
  regions_.push_back({std::move(name), begin, bytes});
  return regions_.size() - 1;
}

std::string SimtBlock::Near(const void* at) const {
  const auto address = reinterpret_cast<intptr_t>(at);
  const Region* nearest = nullptr;
  int64_t distance = INT64_MAX;
  for (const Region& region : regions_) {
    const int64_t from = address - reinterpret_cast<intptr_t>(region.begin);
    const int64_t away = from < 0 ? -from : std::max<int64_t>(0, from - region.bytes);
    if (away < distance) nearest = &region, distance = away;
  }
  if (!nearest) return "where there is no buffer";
  return absl::StrCat("at byte ", address - reinterpret_cast<intptr_t>(nearest->begin), " of ", nearest->name,
                      ", which has ", nearest->bytes);
}

void SimtBlock::Read(const void* from, uint32_t bytes) {
  if (reinterpret_cast<uintptr_t>(from) % bytes != 0) Misaligned(from, bytes);
  auto holds = [&](const Region& region) {
    const std::byte* p = static_cast<const std::byte*>(from);
    return p >= region.begin && p + bytes <= region.begin + region.bytes;
  };
  if (last_region_ >= regions_.size() || !holds(regions_[last_region_])) {
    auto found = std::find_if(regions_.begin(), regions_.end(), holds);
    if (found == regions_.end()) {
      message_ = absl::StrCat("reads ", bytes, " bytes ", Near(from));
      Fail(absl::StatusCode::kOutOfRange);
    }
    last_region_ = found - regions_.begin();
  }
  regions_[last_region_].loaded = true;
}

void SimtBlock::Misaligned(const void* at, uint32_t bytes) {
  message_ = absl::StrCat("accesses ", bytes, " bytes at once ", Near(at), ": the address is no multiple of ",
                          bytes);
  Fail(absl::StatusCode::kInvalidArgument);
}

char* SimtBlock::Shared(uint32_t slot, uint32_t bytes) {
  std::unique_ptr<SimtBuffer>& array = shared_[slot];
  if (!array) {
    shared_bytes_ += (bytes + 15) / 16 * 16;
    if (shared_bytes_ > kGpuSharedBytesWithoutAsking) {
      message_ = absl::StrCat("shares ", shared_bytes_, " bytes with its block, which has ",
                              kGpuSharedBytesWithoutAsking);
      Fail(absl::StatusCode::kInvalidArgument);
    }
    array = std::make_unique<SimtBuffer>(bytes);
  }
  return reinterpret_cast<char*>(array->data());
}

absl::Status SimtBlock::CheckShared() const {
  for (const auto& [slot, array] : shared_) {
    int64_t at = 0;
    if (!array->FindChangedGuard(at)) continue;
    return absl::OutOfRangeError(absl::StrCat("kernel ", kernel_, ", block ", indices[1].x, ": byte ", at,
                                              " of shared array ", slot, " is written, which has ",
                                              array->bytes()));
  }
  return absl::OkStatus();
}

// Threads ---------------------------------------------------------------------------------------------------

SimtBlock::SimtBlock(std::string kernel, SimtEntry entry, uint32_t number, int threads, ThreadOrder order)
    : kernel_(std::move(kernel)),
      entry_(entry),
      number_(number),
      order_(order),
      threads_(threads),
      warps_((threads + kWarp - 1) / kWarp),
      ready_((threads + 63) / 64) {
  SINTER_CHECK(running == nullptr) << "another block runs in this process";
  running = this;
}

SimtBlock::~SimtBlock() { running = nullptr; }

absl::Status SimtBlock::Run(uint32_t block, uint32_t grid, void* const* buffers) {
  buffers_ = buffers;
  indices[1].x = block;
  indices[2].x = threads_.size();
  indices[3].x = grid;
  for (auto& [slot, array] : shared_) array->Poison();
  live_ = static_cast<int>(threads_.size());
  at_barrier_ = 0;
  for (int t = 0; t < live_; ++t) {
    threads_[t] = Thread();
    warps_[t / kWarp].live |= uint32_t{1} << t % kWarp;
    MakeReady(t);
  }
  Continue(SimtFibers::kCaller, false);
  if (error_.ok() && live_ > 0) {
    error_ = absl::FailedPreconditionError(
        absl::StrCat("kernel ", kernel_, ", block ", block, ": nothing can go on: ", DescribeAll()));
  }
  if (!error_.ok()) {
    Fibers().Forget();
    return error_;
  }
  return CheckShared();
}

void SimtBlock::MakeReady(int thread) {
  threads_[thread].state = State::kReady;
  const int place =
      order_ == ThreadOrder::kAscending ? thread : static_cast<int>(threads_.size()) - 1 - thread;
  ready_[place / 64] |= uint64_t{1} << (place % 64);
}

int SimtBlock::TakeReady() {
  for (size_t word = 0; word < ready_.size(); ++word) {
    if (ready_[word] == 0) continue;
    const int place = static_cast<int>(64 * word) + std::countr_zero(ready_[word]);
    ready_[word] &= ready_[word] - 1;
    return order_ == ThreadOrder::kAscending ? place : static_cast<int>(threads_.size()) - 1 - place;
  }
  return -1;
}

void SimtBlock::Continue(int fiber, bool fiber_is_free) {
  const int thread = TakeReady();
  int next = SimtFibers::kCaller;
  if (thread >= 0) {
    current_ = thread;
    indices[0].x = thread;
    int& own = threads_[thread].fiber;
    if (own < 0) own = fiber_is_free ? fiber : Fibers().Take();
    next = own;
  }
  if (next == fiber) return;
  if (fiber_is_free) Fibers().Free(fiber);
  Fibers().Switch(fiber, next);
}

void SimtBlock::RunThreads() {
  const int fiber = threads_[current_].fiber;
  entry_(nullptr, nullptr, number_, buffers_);
  EndThread();
  Continue(fiber, true);
}

void SimtBlock::EndThread() {
  threads_[current_].state = State::kEnded;
  --live_;
  const int number = current_ / kWarp;
  Warp& warp = warps_[number];
  warp.live &= ~(uint32_t{1} << current_ % kWarp);
  // Other lanes may wait only for this one.
  for (int lane = 0; warp.at_shuffle != 0 && lane < kWarp; ++lane) {
    if ((warp.at_shuffle >> lane & 1) != 0) TryShuffle(number, threads_[number * kWarp + lane].mask);
  }
}

void SimtBlock::Barrier() {
  threads_[current_].state = State::kBarrier;
  if (++at_barrier_ == static_cast<int>(threads_.size())) {
    at_barrier_ = 0;
    for (size_t t = 0; t < threads_.size(); ++t) MakeReady(static_cast<int>(t));
  }
  Continue(threads_[current_].fiber, false);
}

uint64_t SimtBlock::Shuffle(SimtShuffle kind, uint32_t mask, uint64_t bits, int argument, int width) {
  const int thread = current_;
  if ((mask >> (thread % kWarp) & 1) == 0) {
    message_ = absl::StrFormat("shuffles by the mask 0x%08x, which is without it", mask);
    Fail(absl::StatusCode::kFailedPrecondition);
  }
  Thread& own = threads_[thread];
  own.state = State::kShuffle;
  own.kind = kind;
  own.mask = mask;
  own.bits = bits;
  own.argument = argument;
  own.width = width;
  warps_[thread / kWarp].at_shuffle |= uint32_t{1} << thread % kWarp;
  TryShuffle(thread / kWarp, mask);
  Continue(own.fiber, false);
  return own.bits;
}

void SimtBlock::TryShuffle(int number, uint32_t mask) {
  Warp& warp = warps_[number];
  const uint32_t taking_part = mask & warp.live;
  if ((taking_part & ~warp.at_shuffle) != 0) return;
  Thread* lanes = &threads_[number * kWarp];
  const SimtShuffle kind = lanes[std::countr_zero(taking_part)].kind;
  uint64_t given[kWarp];
  std::fill(std::begin(given), std::end(given), 0xcbcbcbcbcbcbcbcb);
  for (uint32_t left = taking_part; left != 0; left &= left - 1) {
    const Thread& thread = lanes[std::countr_zero(left)];
    if (thread.mask != mask || thread.kind != kind) return;
    given[std::countr_zero(left)] = thread.bits;
  }
  for (uint32_t left = taking_part; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    Thread& thread = lanes[lane];
    thread.bits = Exchanged(kind, lane, thread.argument, thread.width, given, taking_part);
    MakeReady(number * kWarp + lane);
  }
  warp.at_shuffle &= ~taking_part;
}

// Errors ----------------------------------------------------------------------------------------------------

// Nothing returns to this stack, so no destructor runs. Therefore the message, which owns memory, is a
// member.
void SimtBlock::Fail(absl::StatusCode code) {
  error_ = absl::Status(
      code, absl::StrCat("kernel ", kernel_, ", block ", indices[1].x, ", thread ", current_, " ", message_));
  Fibers().Switch(threads_[current_].fiber, SimtFibers::kCaller);
  __builtin_unreachable();
}

std::string SimtBlock::Describe(const Thread& thread) const {
  switch (thread.state) {
    case State::kReady:
      return "can go on";
    case State::kBarrier:
      return "at the barrier";
    case State::kShuffle:
      return absl::StrFormat("at %s, mask 0x%08x", NameOf(thread.kind), thread.mask);
    case State::kEnded:
      return "ended";
  }
  return "";
}

std::string SimtBlock::DescribeAll() const {
  std::string text;
  for (size_t first = 0; first < threads_.size();) {
    const std::string what = Describe(threads_[first]);
    size_t end = first;
    while (end < threads_.size() && Describe(threads_[end]) == what) ++end;
    absl::StrAppend(&text, text.empty() ? "" : "; ", "threads ", first, " to ", end - 1, " ", what);
    first = end;
  }
  return text;
}

}  // namespace sinter::codegen
