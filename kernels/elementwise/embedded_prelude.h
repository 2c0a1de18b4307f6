// The text that every user-defined kernel begins with: prelude.inc, which says what bodies may use.
//
//   std::string text = std::string(ElementwisePrelude()) + kernel;
//
// Contract: constant data; depends on nothing. Written by kernels/CMakeLists.txt. On GPUs it comes behind CudaPrelude().
#ifndef SINTER_KERNELS_ELEMENTWISE_EMBEDDED_PRELUDE_H_
#define SINTER_KERNELS_ELEMENTWISE_EMBEDDED_PRELUDE_H_

#include <string_view>

namespace sinter::kernels {

std::string_view ElementwisePrelude();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_ELEMENTWISE_EMBEDDED_PRELUDE_H_
