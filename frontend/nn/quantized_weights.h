// Weights of few bits in trained modules, for inference.
//
//   nn::Module net = nn::QuantizeWeights(nn::Sequential{...}, {.bits = 4, .group = 128});
//   ...                                            // A function with it, its plan, and a session.
//   for (const auto& [name, weight] : trained) {   // "0.weight" [in, out], as the float module has it.
//     SINTER_RETURN_IF_ERROR(nn::WriteQuantized(session, name, weight));
//   }
//
// All nn::Linear of the module and of those below it, such as those of attention and transformers, keep their
// weight in 8 or 4 bits instead: the states "weight_values" and "weight_scales", which frontend/quantization
// describes, and start as zeros and ones. Biases and other layers stay as they are. Functions read a half or
// a quarter of the bytes that they read in bf16.
#ifndef SINTER_FRONTEND_NN_QUANTIZED_WEIGHTS_H_
#define SINTER_FRONTEND_NN_QUANTIZED_WEIGHTS_H_

#include <string_view>

#include "sinter/frontend/nn/module.h"
#include "sinter/frontend/quantization/quantization.h"
#include "sinter/runtime/session/session.h"

namespace sinter::nn {

namespace internal_quantized_weights {
// x [rows, in] times a layer's weight in few bits, whose states are made at the first use. Not ok if that
// failed. For Sinter's own sources.
Tensor MultiplyStored(ParameterMaker& maker, const StoredWeights& stored, const Tensor& x, int64_t out);
}  // namespace internal_quantized_weights

struct QuantizeWeightsOptions {
  int bits = 8;                  // 8 or 4.
  int64_t group = 0;             // As in WeightQuantization.
  bool quantize_inputs = false;  // Rows of inputs are quantised too (Int8MatMul): 8 bits, without groups.
};
// Returns the module. An error after the module's first use.
template <typename M>
M QuantizeWeights(M module, const QuantizeWeightsOptions& options = {}, Where where = Where::current()) {
  module.layer()->StoreWeights({{options.bits, options.group}, options.quantize_inputs}, where);
  return module;
}

// Quantises the weight [in, out] of an nn::Linear (f32, bf16 or f16) and writes it to the session's variables
// `name`_values and `name`_scales, whose type and shape say how. `name` is that of the weight: "0.weight".
// NotFound if the session has no such variables; InvalidArgument for another shape, and as QuantizeWeights.
absl::Status WriteQuantized(Session& session, std::string_view name, const HostTensor& weight);

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_QUANTIZED_WEIGHTS_H_
