// Waits and copies between the devices of a session, whatever their back ends.
//
//   SINTER_RETURN_IF_ERROR(LetWait(reader, owner));
//   SINTER_RETURN_IF_ERROR(CopyBetween(owner, from, reader, to, bytes, staging));
//
// Devices of one back end, and devices and main memory, do so by themselves (DeviceRuntime::WaitFor,
// CopyFrom). Devices of two back ends know nothing of each other: the calling thread waits for the one, and
// copies go through main memory.
#ifndef SINTER_RUNTIME_EXECUTE_DEVICE_EXCHANGE_H_
#define SINTER_RUNTIME_EXECUTE_DEVICE_EXCHANGE_H_

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "sinter/runtime/device/device_runtime.h"

namespace sinter::internal_session {

// Bytes of main memory that copies of `bytes` between the two devices need; 0 if they need none.
size_t ExchangeStagingBytes(const DeviceRuntime& a, const DeviceRuntime& b, size_t bytes);

// Makes later work of `waiter` wait for all earlier work of `other`.
absl::Status LetWait(DeviceRuntime& waiter, DeviceRuntime& other);

// Copies in the order of both devices' work. `staging` has ExchangeStagingBytes bytes and is free on return.
absl::Status CopyBetween(DeviceRuntime& source, const void* from, DeviceRuntime& target, void* to,
                         size_t bytes, std::span<std::byte> staging);

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_DEVICE_EXCHANGE_H_
