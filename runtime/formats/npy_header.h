// The header of a .npy file: a Python dictionary as text, such as
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
// Parsed as untrusted text, without evaluating anything. See runtime/formats/npy.h for the element types.
#ifndef SINTER_RUNTIME_FORMATS_NPY_HEADER_H_
#define SINTER_RUNTIME_FORMATS_NPY_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/host/dtype.h"

namespace sinter {

struct NpyHeader {
  DType dtype = DType::kF32;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// DataLoss for text that is no such dictionary, Unimplemented for an element type that we do not have; the
// message begins with `name`.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view text, const std::string& name);

// The dictionary of a C-ordered tensor, without padding.
std::string NpyHeaderText(DType dtype, const std::vector<int64_t>& shape);

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_NPY_HEADER_H_
