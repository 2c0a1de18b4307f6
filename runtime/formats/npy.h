// Reads and writes NumPy's .npy format, which holds one tensor per file.
//
//   SINTER_RETURN_IF_ERROR(SaveNpy("x.npy", tensor));
//   SINTER_ASSIGN_OR_RETURN(HostTensor x, LoadNpy("x.npy"));
//
// Writes version 1.0, C order, little-endian, through AtomicFile; the data starts at a multiple of 64 bytes.
// Reads versions 1 to 3, C and Fortran order (transposed while reading), little-endian.
//
//   dtype   f64   f32   bf16                       f16   i64   i32   i8    u8    i1
//   descr   '<f8' '<f4' [('bfloat16', '<u2')]      '<f2' '<i8' '<i4' '|i1' '|u1' '|b1'
//
// NumPy has no bf16. A record with one field names the raw bits and loads in plain NumPy: `a['bfloat16']`
// gives the bits as uint16, `a['bfloat16'].view(ml_dtypes.bfloat16)` gives the values. NumPy writes '<V2' for
// arrays of ml_dtypes.bfloat16; LoadNpy reads that too.
//
// Errors: DataLoss for damaged bytes; Unimplemented for element types that Sinter lacks (the message names
// the astype() that helps); those of runtime/formats/file.h. The tensor is allocated from the process-wide
// allocator after the file's size has been checked against the header: ResourceExhausted if memory is short.
// A header has at most 64 KiB, a few hundred times the size that the largest shape needs.
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

// Returns the bytes of a .npy file before its data: magic, version, header, padding.
std::string NpyPreamble(const HostTensor& tensor);

// Reads a .npy file of `size` bytes. `source` fills each span it is given with the next bytes. Errors call
// the file `name`.
using ByteSource = std::function<absl::Status(std::span<std::byte> out)>;
absl::StatusOr<HostTensor> ReadNpy(const ByteSource& source, uint64_t size, const std::string& name);

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_NPY_H_
