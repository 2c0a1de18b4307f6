// The IDX format of the MNIST files: one tensor a file, plain or gzip-compressed (told apart by the bytes,
// not by the name).
//
//   SINTER_ASSIGN_OR_RETURN(HostTensor images, ReadIdxImages("t10k-images-idx3-ubyte.gz"));   // u8 [n, h, w]
//   SINTER_ASSIGN_OR_RETURN(HostTensor labels, ReadIdxLabels("t10k-labels-idx1-ubyte.gz"));   // u8 [n]
//
// Layout: two zero bytes, the element type, the rank, each size as big-endian u32, the elements, big-endian
// and row-major. Element types: u8, i8, i16, i32, f32, f64; i16 is widened to i32, every other type is kept.
//
// Errors: DataLoss for what the format forbids (wrong magic, cut short, bytes left over, sizes that the file
// cannot hold), InvalidArgument for a rank above HostTensor's or for the wrong kind of file, and those of
// runtime/formats/file.h. Memory is taken only when the file's bytes can justify what its header declares.
#ifndef SINTER_FRONTEND_DATA_IDX_H_
#define SINTER_FRONTEND_DATA_IDX_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

absl::StatusOr<HostTensor> ReadIdx(const std::string& path);

// The same, and it must be u8 of rank 3 or of rank 1.
absl::StatusOr<HostTensor> ReadIdxImages(const std::string& path);
absl::StatusOr<HostTensor> ReadIdxLabels(const std::string& path);

// A file that is in memory already; `name` is what errors call it.
absl::StatusOr<HostTensor> ParseIdx(std::span<const std::byte> bytes, const std::string& name);

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_IDX_H_
