// The library calls of emulated GPUs: matmuls, convolutions and attention as plain loops in f64, and kernels
// of the catalogue by that of CPUs.
//
//   SINTER_ASSIGN_OR_RETURN(LibraryCall call, MakeEmulatedLibraryCall(step));
//   call(buffers);                                 // The step's inputs, then outputs.
//
// Each result of loops is computed in f64 from the operands as they are stored, and rounded once to its own
// type. So results are at least as exact as a GPU library's in any math mode. The formulas are those of
// runtime/plan/plan.fbs.
#ifndef SINTER_TESTS_RUNTIME_EMULATED_LIBRARY_STEPS_H_
#define SINTER_TESTS_RUNTIME_EMULATED_LIBRARY_STEPS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"

namespace sinter {

using LibraryCall = std::function<void(const std::vector<void*>& buffers)>;

// Unimplemented: a form of the step that no GPU library computes either: integers, the layout of CPUs.
absl::StatusOr<LibraryCall> MakeEmulatedLibraryCall(const fb::Step& step);

// By kind of step.
LibraryCall EmulatedMatmul(const fb::MatmulStep& table);
LibraryCall EmulatedConv(const fb::ConvStep& table);
LibraryCall EmulatedAttention(const fb::AttentionStep& table);
// A kernel of the catalogue that a library computes on GPUs (GpuLibraryComputes in
// runtime/plan/gpu_limits.h).
LibraryCall EmulatedCatalogCall(const fb::CatalogStep& table);

// The first `count` elements at `from`, which are floats of the type.
std::vector<double> LoadFloats(fb::DType dtype, const void* from, int64_t count);
// Rounds the values to the type, and stores them.
void StoreFloats(fb::DType dtype, const std::vector<double>& values, void* to);

double Activate(fb::Activation activation, double x);
// The derivative of the activation at x.
double ActivationSlope(fb::Activation activation, double x);

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_EMULATED_LIBRARY_STEPS_H_
