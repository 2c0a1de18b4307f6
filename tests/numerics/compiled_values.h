// Converts values of the reference to runtime tensors and back.
//
//   absl::StatusOr<HostTensor> tensor = ToTensor(value);
#ifndef SINTER_TESTS_NUMERICS_COMPILED_VALUES_H_
#define SINTER_TESTS_NUMERICS_COMPILED_VALUES_H_

#include "absl/status/statusor.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/tests/reference/value.h"

namespace sinter::numerics {

// Both functions copy; tensors hold the storage type.
absl::StatusOr<HostTensor> ToTensor(const reference::Value& value);
reference::Value FromTensor(const HostTensor& tensor);

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_COMPILED_VALUES_H_
