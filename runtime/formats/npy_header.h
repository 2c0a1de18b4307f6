// Parses and writes the header of a .npy file: the text of a Python dictionary.
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
// The parser treats the text as untrusted and evaluates nothing. runtime/formats/npy.h lists the element
// types.
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

// DataLoss if the text is no such dictionary; Unimplemented for an element type that Sinter lacks. The
// message begins with `name`.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view text, const std::string& name);

// Returns the dictionary of a C-order tensor, without padding.
std::string NpyHeaderText(DType dtype, const std::vector<int64_t>& shape);

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_NPY_HEADER_H_
