#include "sinter/runtime/world/world.h"

#include <cstring>
#include <vector>

namespace sinter {

absl::Status World::AllGather(std::span<const std::byte> own, std::span<std::byte> all,
                              const Operation& operation) {
  std::vector<Transfer> transfers;
  for (int peer = 0; peer < size(); ++peer) {
    std::byte* const place = all.data() + static_cast<size_t>(peer) * own.size();
    if (peer == rank()) {
      if (!own.empty()) std::memcpy(place, own.data(), own.size());
      continue;
    }
    transfers.push_back(
        {.peer = peer, .data = const_cast<std::byte*>(own.data()), .bytes = own.size(), .is_send = true});
    transfers.push_back({.peer = peer, .data = place, .bytes = own.size(), .is_send = false});
  }
  return Exchange(transfers, operation);
}

}  // namespace sinter
