// "emulated:0", "emulated:1", ...: a second GPU back end, for tests. It needs no GPU.
//
//   const DeviceKind kind = RegisterEmulatedDevices();
//   absl::StatusOr<Plan> plan = Compile(graph, {.device = Device::Of(kind, 0)});
//   absl::StatusOr<Session> session = Session::Create(*plan);
//   LatestEmulatedGpu(0).kernel_launches()          // emulated_gpu.h
//
// The compiler treats these devices as CUDA GPUs: it gives them the same kernels, library calls, streams and
// collectives. The kernels are the generated CUDA text, compiled for this machine and run by the emulator of
// blocks and threads (tests/codegen/simt_emulator.h). Library calls are plain loops (library_steps.h). The
// queue of work, captures and collectives are those of the fake GPUs (tests/runtime/fake_gpu.h), so a missing
// wait gives wrong results.
//
// This folder is all that a back end needs besides its rows in four registries, which RegisterEmulatedDevices
// adds. docs/add_a_backend.md explains each. Kernels that are PTX only are an error of Compile.
#ifndef SINTER_TESTS_RUNTIME_EMULATED_EMULATED_DEVICES_H_
#define SINTER_TESTS_RUNTIME_EMULATED_EMULATED_DEVICES_H_

#include <cstdint>

#include "sinter/runtime/memory/device.h"

namespace sinter {

inline constexpr char kEmulatedKind[] = "emulated";
// Devices of the kind: emulated:0 to emulated:3.
inline constexpr int32_t kEmulatedDevices = 4;

// Adds the kind, its back end, its target model and its compiler of device code to this process. Further
// calls return the same kind.
DeviceKind RegisterEmulatedDevices();

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_EMULATED_EMULATED_DEVICES_H_
