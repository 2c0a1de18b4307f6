// Clips gradients in hand by the norm of all of them together, for updates by more than one optimiser.
//
//   std::vector<Tensor> g = Gradients(loss, {b.Read(weight), b.Read(bias)});
//   g = optim::ClipByGlobalNorm(g, 1.0);
//   optim::Muon{}.Apply({weight}, {g[0]});
//   optim::AdamW{}.Apply({bias}, {g[1]});
//
// The hook ClipNorm (hooks.h) does the same for the gradients of one optimiser.
#ifndef SINTER_FRONTEND_OPTIM_GLOBAL_NORM_H_
#define SINTER_FRONTEND_OPTIM_GLOBAL_NORM_H_

#include <vector>

#include "sinter/frontend/graph/tensor.h"

namespace sinter::optim {

// The root of the sum of all squares of some tensors of floats, of rank 0: f64 if one of them is f64, else
// f32. Takes at least one.
Tensor GlobalNorm(const std::vector<Tensor>& gradients, Where where = Where::current());

// The gradients, in their order and types, times min(1, most / norm), where norm is their global norm
// (Pascanu et al., arXiv 1211.5063). `most` is a number above 0 or a float tensor of rank 0.
std::vector<Tensor> ClipByGlobalNorm(const std::vector<Tensor>& gradients, const Operand& most,
                                     Where where = Where::current());

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_GLOBAL_NORM_H_
