// Collectives between devices, for programs that place their own ops on devices.
// A program that uses DataParallel does not call these: the compiler inserts its collectives.
//
//   Tensor g0 = Gradients(loss0, {w0})[0], g1 = Gradients(loss1, {w1})[0];   // On gpu:0, on gpu:1.
//   std::vector<Tensor> mean = AllReduce({g0, g1}, ReduceOp::kMean);          // The same value on both.
//
// The devices of the tensors, in the order given, are the members of the collective. There is at least one
// member. The devices are distinct, and either all CPUs or all GPUs. The graph must place each tensor: by a
// DeviceScope, by Copy, by its module's device, or by the operands that it is computed from. Results come in
// the order of the members, each on its member's device. The tensors have one element type, and one shape
// unless a function says otherwise. On CPUs, elements are combined in the order of the members, and all
// members get the same bits. See docs/collectives.md.
//
// Gradients use collectives too: for a sum or mean, a gather, a scatter, a shift or a send. kMax and kMin
// have no gradient.
#ifndef SINTER_FRONTEND_OPS_COLLECTIVES_H_
#define SINTER_FRONTEND_OPS_COLLECTIVES_H_

#include <cstdint>
#include <vector>

#include "sinter/frontend/graph/tensor.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

// How the members' elements are combined. A mean of integers rounds towards zero. kMax and kMin give NaN if
// any element is NaN.
enum class ReduceOp { kSum, kMean, kMax, kMin };

// Combines the tensors element by element; every member gets the result. Takes numbers, not i1.
std::vector<Tensor> AllReduce(const std::vector<Tensor>& tensors, ReduceOp combine = ReduceOp::kSum,
                              Where where = Where::current());
// Like AllReduce, but only the device of tensors[root] gets the result.
Tensor Reduce(const std::vector<Tensor>& tensors, ReduceOp combine = ReduceOp::kSum, size_t root = 0,
              Where where = Where::current());
// Copies x to each of `devices`, which must include x's own device.
std::vector<Tensor> Broadcast(const Tensor& x, const std::vector<Device>& devices,
                              Where where = Where::current());
// Concatenates the tensors along dimension 0, where their sizes may differ; every member gets the result.
// Takes rank 1 or more.
std::vector<Tensor> AllGather(const std::vector<Tensor>& tensors, Where where = Where::current());
// Combines the tensors element by element; each member gets its part along dimension 0. The sizes of the
// parts differ by at most one, larger parts first, as for the parts of a batch (data_parallel.h). Takes
// numbers, not i1, of rank 1 or more.
std::vector<Tensor> ReduceScatter(const std::vector<Tensor>& tensors, ReduceOp combine = ReduceOp::kSum,
                                  Where where = Where::current());
// Cuts each tensor into equal parts along dimension 0 and sends part i to member i. Each member gets its
// parts in the order of the members. The number of members must divide dimension 0.
std::vector<Tensor> AllToAll(const std::vector<Tensor>& tensors, Where where = Where::current());
// Sends each tensor to the member that is `by` places further in the ring of members: result i is tensor
// (i - by) mod n of n. Negative `by` sends backwards. Stages of a pipeline and blocks of attention travel so.
std::vector<Tensor> RingShift(const std::vector<Tensor>& tensors, int64_t by = 1,
                              Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_COLLECTIVES_H_
