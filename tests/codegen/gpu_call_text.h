// Texts of plan functions with one fused call on gpu:0.
//
//   GpuCallText({"tensor<300x70xf32>"}, {"tensor<70xf32>"}, R"(
//     %r = sinter.sum %a0 [0] : tensor<300x70xf32> -> tensor<70xf32>
//     sinter.yield %r : tensor<70xf32>)")
#ifndef SINTER_TESTS_CODEGEN_GPU_CALL_TEXT_H_
#define SINTER_TESTS_CODEGEN_GPU_CALL_TEXT_H_

#include <string>
#include <vector>

namespace sinter::codegen {

// Returns a plan.function with one call on gpu:0. `body` uses %a0, %a1, ... and ends with sinter.yield. An
// output named "in0" overwrites input 0 in place.
std::string GpuCallText(const std::vector<std::string>& ins, const std::vector<std::string>& outs,
                        const std::string& body);

// Returns a call that adds a tensor and a transposed tensor. The sizes are not multiples of a tile's side.
std::string AddTransposedText(const std::string& dtype);

// Returns the softmax of rows, written over x if `in_place`.
std::string SoftmaxText(const std::string& rows, const std::string& length, const std::string& dtype,
                        bool in_place = false);

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_GPU_CALL_TEXT_H_
