// The text of prelude.inc, which every user-defined kernel starts with.
//
//   std::string text = std::string(ElementwisePrelude()) + kernel;
//
// Contract: constant data without dependencies. kernels/CMakeLists.txt generates it. On GPUs it follows
// CudaText("prelude").
#ifndef SINTER_KERNELS_ELEMENTWISE_EMBEDDED_PRELUDE_H_
#define SINTER_KERNELS_ELEMENTWISE_EMBEDDED_PRELUDE_H_

#include <string_view>

namespace sinter::kernels {

std::string_view ElementwisePrelude();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_ELEMENTWISE_EMBEDDED_PRELUDE_H_
