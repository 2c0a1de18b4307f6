#include "sinter/tools/predict/predicted_memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/plan/all_steps.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/sum_shares.h"
#include "sinter/tools/plan_text.h"

namespace sinter::tools {
namespace {

// Allocators hand out multiples of this (SessionMemory::predicted).
constexpr uint64_t kBlock = 512;
// Alignment of the copies of inputs on a device.
constexpr uint64_t kInputAlignment = 256;

uint64_t Rounded(uint64_t bytes) { return RoundUp(bytes, kBlock); }

// Bytes of the copies of the inputs that the function reads on the device. Only the bytes between the first
// and the last one that is read are copied.
uint64_t InputBytes(const fb::Function& function, uint32_t device) {
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> hulls;  // By input.
  for (const fb::Step* step : OrEmpty(function.steps())) {
    for (const uint32_t buffer : OrEmpty(step->inputs())) {
      const fb::Buffer& b = *function.buffers()->Get(buffer);
      if (b.space() != fb::Space::Input || b.device() != device || b.bytes() == 0) continue;
      auto [hull, is_new] = hulls.try_emplace(b.index(), b.offset(), b.offset() + b.bytes());
      hull->second.first = std::min(hull->second.first, b.offset());
      hull->second.second = std::max(hull->second.second, b.offset() + b.bytes());
    }
  }
  uint64_t bytes = 0;
  for (const auto& [input, hull] : hulls) {
    bytes += RoundUp(hull.first % kInputAlignment + hull.second - hull.first, kInputAlignment);
  }
  return bytes;
}

// cuDNN keeps the scores of a part of the batch for the gradient of attention: as many whole examples as stay
// below this (runtime/cuda/steps/attention_step.cc).
constexpr uint64_t kMostScoreBytes = uint64_t{256} << 20;

uint64_t ScoreBytes(const fb::AttentionStep& step) {
  const auto size = [](int64_t n) { return static_cast<uint64_t>(n); };
  const uint64_t example = 2 * size(step.heads()) * size(step.queries()) * size(step.keys());
  uint64_t examples = std::min(size(step.batch()), std::max<uint64_t>(1, kMostScoreBytes / example));
  while (size(step.batch()) % examples != 0) --examples;
  return std::min(kMostScoreBytes, examples * example);
}

// True if cuBLASLt or cuDNN computes the step on a GPU.
bool IsOfLibrary(const fb::Step& step) {
  return step.body_as_MatmulStep() != nullptr || step.body_as_ConvStep() != nullptr ||
         step.body_as_AttentionStep() != nullptr;
}

bool ReadsConstants(const fb::Function& function, uint32_t device) {
  return std::ranges::any_of(OrEmpty(function.buffers()), [&](const fb::Buffer* b) {
    return b->space() == fb::Space::Constant && b->device() == device;
  });
}

}  // namespace

std::vector<PredictedMemory> PredictMemory(const fb::Plan& plan, double library_bytes,
                                           const MeasuredSteps* measured) {
  std::vector<PredictedMemory> devices(NumDevices(plan));
  for (uint32_t d = 0; d < devices.size(); ++d) {
    PredictedMemory& memory = devices[d];
    memory.device = DeviceOf(plan, d);
    const bool is_host = memory.device.is_host();
    bool reads_constants = false, has_library = false;
    for (const fb::Function* function : OrEmpty(plan.functions())) {
      memory.arena = std::max(memory.arena, Rounded(ArenaBytes(*function, d)));
      if (!is_host) memory.inputs = std::max(memory.inputs, Rounded(InputBytes(*function, d)));
      reads_constants = reads_constants || ReadsConstants(*function, d);
    }
    // Also the steps of loops' bodies.
    ForEachStep(plan, [&](const fb::Step& step) {
      if (step.device() != d) return;
      memory.workspaces = std::max(memory.workspaces, step.workspace_bytes());
      has_library = has_library || (!is_host && IsOfLibrary(step));
      const fb::AttentionStep* const attention = step.body_as_AttentionStep();
      if (attention != nullptr && attention->backward()) {
        memory.libraries = std::max(memory.libraries, ScoreBytes(*attention));
      }
    });
    if (!is_host && reads_constants) memory.constants = Rounded(OrEmpty(plan.constants()).size());
    if (!is_host) memory.exchanges = Rounded(ShareWorkspaceBytes(plan, d));
    if (has_library) memory.libraries = std::max(memory.libraries, static_cast<uint64_t>(library_bytes));
    if (measured != nullptr && !is_host && measured->library_bytes.contains(d)) {
      memory.libraries = Rounded(measured->library_bytes.at(d));
      memory.is_estimated = false;
    }
  }
  for (const fb::Variable* variable : OrEmpty(plan.variables())) {
    devices[variable->device()].variables += Rounded(variable->bytes());
  }
  return devices;
}

}  // namespace sinter::tools
