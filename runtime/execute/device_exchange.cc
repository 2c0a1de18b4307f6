#include "sinter/runtime/execute/device_exchange.h"

#include <algorithm>

#include "sinter/runtime/host/status.h"

namespace sinter::internal_session {
namespace {

// Large enough that the cost of a transfer's start does not matter.
constexpr size_t kMaxExchangeStaging = size_t{8} << 20;

bool KnowEachOther(const DeviceRuntime& a, const DeviceRuntime& b) {
  return a.is_host_memory() || b.is_host_memory() || &a.backend() == &b.backend();
}

}  // namespace

size_t ExchangeStagingBytes(const DeviceRuntime& a, const DeviceRuntime& b, size_t bytes) {
  return KnowEachOther(a, b) ? 0 : std::min(bytes, kMaxExchangeStaging);
}

absl::Status LetWait(DeviceRuntime& waiter, DeviceRuntime& other) {
  return KnowEachOther(waiter, other) ? waiter.WaitFor(other) : other.Synchronize();
}

absl::Status CopyBetween(DeviceRuntime& source, const void* from, DeviceRuntime& target, void* to,
                         size_t bytes, std::span<std::byte> staging) {
  if (bytes == 0) return absl::OkStatus();
  if (KnowEachOther(source, target)) return target.CopyFrom(source, to, from, bytes);
  SINTER_CHECK(!staging.empty()) << "a copy between back ends has no staging";
  for (size_t done = 0; done < bytes;) {
    const size_t piece = std::min(bytes - done, staging.size());
    // Upload returns when the staging may change.
    SINTER_RETURN_IF_ERROR(
        source.Download(staging.data(), static_cast<const std::byte*>(from) + done, piece));
    SINTER_RETURN_IF_ERROR(target.Upload(static_cast<std::byte*>(to) + done, staging.data(), piece));
    done += piece;
  }
  return absl::OkStatus();
}

}  // namespace sinter::internal_session
