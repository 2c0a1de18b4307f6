// A named tensor, the unit of checkpoints.
#ifndef SINTER_RUNTIME_TENSOR_NAMED_TENSOR_H_
#define SINTER_RUNTIME_TENSOR_NAMED_TENSOR_H_

#include <string>

#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_TENSOR_NAMED_TENSOR_H_
