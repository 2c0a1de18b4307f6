// Exchanges of tensors among devices, in programs that say themselves what runs where. What DataParallel inserts, it inserts
// by itself.
//
//   Tensor g0 = Gradients(loss0, {w0})[0], g1 = Gradients(loss1, {w1})[0];     // On gpu:0, on gpu:1.
//   std::vector<Tensor> mean = AllReduce({g0, g1}, Combine::kMean);            // The same on gpu:0 and on gpu:1.
//
// The devices of the tensors, in the order given, are the members: at least one, each once, all CPUs or all GPUs. Each
// tensor has a place: by a DeviceScope, by Copy, by its module's, or by what it is computed from. Results are in the same
// order, each on its member's device. Tensors agree in element type, and in shape unless said otherwise. On CPUs elements
// are combined in the order of the members, and all members get the same bits; docs/collectives.md says the rest.
//
// Gradients go back by collectives too: combined by sum or mean, gathered, scattered, sent. Max and min have none.
#ifndef SINTER_FRONTEND_OPS_COLLECTIVES_H_
#define SINTER_FRONTEND_OPS_COLLECTIVES_H_

#include <cstdint>
#include <vector>

#include "sinter/frontend/graph/tensor.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

// How the members' elements become one. A mean of integers rounds towards zero; max and min are NaN if any element is.
enum class Combine { kSum, kMean, kMax, kMin };

// The tensors combined element by element, on all members. Numbers.
std::vector<Tensor> AllReduce(const std::vector<Tensor>& tensors, Combine combine = Combine::kSum,
                              Where where = Where::current());
// The same, on the device of tensors[root] alone.
Tensor Reduce(const std::vector<Tensor>& tensors, Combine combine = Combine::kSum, size_t root = 0,
              Where where = Where::current());
// x on each of the devices, of which one is its own.
std::vector<Tensor> Broadcast(const Tensor& x, const std::vector<Device>& devices,
                              Where where = Where::current());
// The tensors one after the other along dimension 0, in which their sizes may differ, on all members.
std::vector<Tensor> AllGather(const std::vector<Tensor>& tensors, Where where = Where::current());
// The tensors combined element by element, of which each member gets its part along dimension 0: parts that differ by at most
// one, the larger ones first, as those of a batch (data_parallel.h). Numbers.
std::vector<Tensor> ReduceScatter(const std::vector<Tensor>& tensors, Combine combine = Combine::kSum,
                                  Where where = Where::current());
// Each tensor in equal parts along dimension 0, part i for member i: each gets what was for it, in the order of the members.
std::vector<Tensor> AllToAll(const std::vector<Tensor>& tensors, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_COLLECTIVES_H_
