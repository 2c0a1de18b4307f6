// Reads the IDX files of MNIST: one tensor a file, plain or gzip-compressed.
// The bytes, not the name, decide whether a file is compressed.
//
//   SINTER_ASSIGN_OR_RETURN(HostTensor images, ReadIdxImages("t10k-images-idx3-ubyte.gz"));   // u8 [n, h, w]
//   SINTER_ASSIGN_OR_RETURN(HostTensor labels, ReadIdxLabels("t10k-labels-idx1-ubyte.gz"));   // u8 [n]
//
// Layout: two zero bytes, the element type, the rank, each size as big-endian u32, then the elements,
// big-endian and row-major. Element types: u8, i8, i16, i32, f32, f64. i16 is widened to i32; the other types
// stay.
//
// Errors: DataLoss for a malformed file (wrong magic, truncated, trailing bytes, sizes that the file cannot
// hold), InvalidArgument for a rank above HostTensor's or for the wrong kind of file, and the errors of
// runtime/formats/file.h. A tensor is allocated only if the file is large enough for the sizes in its header.
#ifndef SINTER_FRONTEND_DATA_IDX_H_
#define SINTER_FRONTEND_DATA_IDX_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

absl::StatusOr<HostTensor> ReadIdx(const std::string& path);

// Like ReadIdx, but the tensor must be u8 of rank 3 (images) or rank 1 (labels); else InvalidArgument.
absl::StatusOr<HostTensor> ReadIdxImages(const std::string& path);
absl::StatusOr<HostTensor> ReadIdxLabels(const std::string& path);

// Parses a file that is already in memory. Errors name it `name`.
absl::StatusOr<HostTensor> ParseIdx(std::span<const std::byte> bytes, const std::string& name);

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_IDX_H_
