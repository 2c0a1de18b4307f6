// NumPy's .npy format: one tensor a file.
//
//   SINTER_RETURN_IF_ERROR(SaveNpy("x.npy", tensor));
//   SINTER_ASSIGN_OR_RETURN(HostTensor x, LoadNpy("x.npy"));
//
// Written: version 1.0, C order, little-endian, data from a multiple of 64
// bytes on, through AtomicFile. Read: versions 1 to 3, C and Fortran order (transposed while reading),
// little-endian.
//
//   dtype   f64   f32   bf16                       f16   i64   i32   i8    u8    i1
//   descr   '<f8' '<f4' [('bfloat16', '<u2')]      '<f2' '<i8' '<i4' '|i1' '|u1' '|b1'
//
// NumPy has no bf16. A record of one field says what the raw bits are and loads in plain NumPy:
// `a['bfloat16']` are the bits as uint16, `a['bfloat16'].view(ml_dtypes.bfloat16)` the values. '<V2', which
// NumPy writes for arrays of ml_dtypes.bfloat16, is read too.
//
// Errors: DataLoss for damaged bytes, Unimplemented for what our element types cannot hold (the message names
// the astype() that helps), and those of runtime/formats/file.h. Memory is only taken once the file's size agrees
// with the header, from the process's allocator: ResourceExhausted where it has no room. A header has 64 KiB at most,
// some hundred times what the largest shape takes.
#ifndef SINTER_RUNTIME_FORMATS_NPY_H_
#define SINTER_RUNTIME_FORMATS_NPY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

absl::Status SaveNpy(const std::string& path, const HostTensor& tensor);
absl::StatusOr<HostTensor> LoadNpy(const std::string& path);

// Everything in front of the data of a .npy file: magic, version, header, padding.
std::string NpyPreamble(const HostTensor& tensor);

// Reads a .npy file of `size` bytes from a source that fills the spans it is given, in order. `name` is what
// errors call it.
using ByteSource = std::function<absl::Status(std::span<std::byte> out)>;
absl::StatusOr<HostTensor> ReadNpy(const ByteSource& source, uint64_t size, const std::string& name);

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_NPY_H_
