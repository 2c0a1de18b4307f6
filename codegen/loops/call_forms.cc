#include "sinter/codegen/loops/call_forms.h"

#include <array>

#include "sinter/codegen/places/buffer_region.h"

namespace sinter::codegen {
namespace {

constexpr int64_t kMostAlignment = 64;  // The most that BufferRegion::IsAligned answers for.

// Returns the largest power of two that the place is known to begin at a multiple of.
int64_t AlignmentOf(const BufferRegion& place) {
  int64_t alignment = kMostAlignment;
  while (alignment > 1 && !place.IsAligned(alignment)) alignment /= 2;
  return alignment;
}

// Appends the kinds of memory, the alignments, and each pair of overlapping places with their distance.
void AppendPlaces(llvm::ArrayRef<BufferRegion> places, llvm::SmallVectorImpl<uint64_t>& form) {
  for (const BufferRegion& place : places) {
    form.push_back(static_cast<uint64_t>(place.space));
    form.push_back(AlignmentOf(place));
  }
  llvm::SmallVector<unsigned> order;
  for (unsigned i = 0; i < places.size(); ++i) {
    if (places[i].bytes > 0) order.push_back(i);
  }
  llvm::stable_sort(order, [&](unsigned a, unsigned b) { return StartOf(places[a]) < StartOf(places[b]); });
  llvm::SmallVector<std::array<uint64_t, 3>> pairs;
  for (size_t i = 0; i < order.size(); ++i) {
    const BufferRegion& first = places[order[i]];
    for (size_t j = i + 1; j < order.size() && Overlaps(first, places[order[j]]); ++j) {
      const int64_t distance = places[order[j]].offset - first.offset;
      pairs.push_back({order[i], order[j], static_cast<uint64_t>(distance)});
    }
  }
  // The order of the places' addresses is not part of the form.
  llvm::sort(pairs);
  form.push_back(pairs.size());
  for (const auto& pair : pairs) form.append(pair.begin(), pair.end());
}

}  // namespace

unsigned CallForms::NumberOf(plan_ir::CallOp call) {
  llvm::SmallVector<uint64_t> form;
  ops_.append(call.getBody().front(), form);
  form.push_back(call.getIns().size());
  for (mlir::Value buffer : call->getOperands())
    form.push_back(reinterpret_cast<uintptr_t>(buffer.getType().getAsOpaquePointer()));
  llvm::SmallVector<BufferRegion> places = RegionsOf(call.getIns());
  places.append(RegionsOf(call.getOuts()));
  AppendPlaces(places, form);
  return numbers_.try_emplace(std::vector<uint64_t>(form.begin(), form.end()), numbers_.size()).first->second;
}

}  // namespace sinter::codegen
