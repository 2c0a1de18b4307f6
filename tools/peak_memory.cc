#include "sinter/tools/peak_memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sinter/tools/plan_text.h"

namespace sinter::tools {

namespace {

// The last value written to bytes [begin, end) of the arena. The map's key is `begin`.
struct Owned {
  uint64_t end;
  size_t value;
};

class Arena {
 public:
  Arena(const fb::Function& function, uint32_t device) : function_(function), device_(device) {}

  void Write(uint32_t buffer, uint32_t step) {
    const fb::Buffer& b = *function_.buffers()->Get(buffer);
    if (b.space() != fb::Space::Arena || b.device() != device_ || b.bytes() == 0) return;
    CutAt(b.offset());
    CutAt(b.offset() + b.bytes());
    owners_.erase(owners_.lower_bound(b.offset()), owners_.lower_bound(b.offset() + b.bytes()));
    owners_[b.offset()] = {b.offset() + b.bytes(), values_.size()};
    values_.push_back({buffer, b.bytes(), step, step});
  }

  void Read(uint32_t buffer, uint32_t step) {
    const fb::Buffer& b = *function_.buffers()->Get(buffer);
    if (b.space() != fb::Space::Arena || b.device() != device_) return;
    for (auto& [begin, owned] : owners_) {
      if (begin < b.offset() + b.bytes() && b.offset() < owned.end) values_[owned.value].last_step = step;
    }
  }

  const std::vector<LiveValue>& values() const { return values_; }

 private:
  void CutAt(uint64_t at) {
    auto next = owners_.upper_bound(at);
    if (next == owners_.begin()) return;
    auto& [begin, owned] = *std::prev(next);
    if (begin == at || owned.end <= at) return;
    owners_[at] = owned;
    owned.end = at;
  }

  const fb::Function& function_;
  const uint32_t device_;
  std::vector<LiveValue> values_;
  std::map<uint64_t, Owned> owners_;
};

uint64_t UnionBytes(std::vector<std::pair<uint64_t, uint64_t>> ranges) {
  std::ranges::sort(ranges);
  uint64_t total = 0, reached = 0;
  for (auto [begin, end] : ranges) {
    begin = std::max(begin, reached);
    if (end > begin) total += end - begin;
    reached = std::max(reached, end);
  }
  return total;
}

}  // namespace

std::vector<LiveValue> FindLiveValues(const fb::Function& function, uint32_t device) {
  Arena arena(function, device);
  const uint32_t steps = OrEmpty(function.steps()).size();
  for (uint32_t i = 0; i < steps; ++i) {
    for (uint32_t buffer : OrEmpty(function.steps()->Get(i)->inputs())) arena.Read(buffer, i);
    for (uint32_t buffer : OrEmpty(function.steps()->Get(i)->outputs())) arena.Write(buffer, i);
  }
  for (const fb::Port* port : OrEmpty(function.outputs())) arena.Read(port->buffer(), steps);
  return arena.values();
}

PeakMemory FindPeakMemory(const fb::Function& function, uint32_t device) {
  const std::vector<LiveValue> values = FindLiveValues(function, device);
  const uint32_t steps = OrEmpty(function.steps()).size();
  PeakMemory peak;
  for (uint32_t i = 0; i < steps; ++i) {
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    const fb::Step& step = *function.steps()->Get(i);
    const uint64_t workspace = step.device() == device ? step.workspace_bytes() : 0;
    ranges.emplace_back(step.workspace_offset(), step.workspace_offset() + workspace);
    std::vector<LiveValue> alive;
    for (const LiveValue& value : values) {
      if (i < value.first_step || value.last_step < i) continue;
      const fb::Buffer& buffer = *function.buffers()->Get(value.buffer);
      ranges.emplace_back(buffer.offset(), buffer.offset() + buffer.bytes());
      alive.push_back(value);
    }
    uint64_t live = UnionBytes(std::move(ranges));
    if (live <= peak.live_bytes) continue;
    peak = {i, live, workspace, std::move(alive)};
  }
  std::ranges::stable_sort(peak.alive,
                           [](const LiveValue& a, const LiveValue& b) { return a.bytes > b.bytes; });
  return peak;
}

}  // namespace sinter::tools
