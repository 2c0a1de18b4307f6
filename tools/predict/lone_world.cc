#include "sinter/tools/predict/lone_world.h"

#include <algorithm>
#include <cstring>

namespace sinter::tools {

absl::Status LoneWorld::Exchange(std::span<const Transfer> transfers, const Operation&) {
  // The k-th message that arrives has the bytes of the k-th that leaves, and zeros if that is shorter.
  size_t sent = 0;
  for (const Transfer& transfer : transfers) {
    if (transfer.is_send) continue;
    while (sent < transfers.size() && !transfers[sent].is_send) ++sent;
    const size_t own = sent < transfers.size() ? std::min(transfers[sent].bytes, transfer.bytes) : 0;
    auto* const to = static_cast<std::byte*>(transfer.data);
    if (own > 0) std::memmove(to, transfers[sent].data, own);
    if (transfer.bytes > own) std::memset(to + own, 0, transfer.bytes - own);
    if (sent < transfers.size()) ++sent;
  }
  return absl::OkStatus();
}

}  // namespace sinter::tools
