// NumPy's .npz format: named tensors in a zip archive of .npy files (runtime/npy.h says which element types).
//
//   std::vector<NamedTensor> tensors = ...;
//   SINTER_RETURN_IF_ERROR(SaveNpz("weights.npz", tensors));
//   SINTER_ASSIGN_OR_RETURN(std::vector<NamedTensor> loaded, LoadNpz("weights.npz"));
//
// Like numpy.savez, or numpy.savez_compressed with `compress`. Written whole or not at all; the same tensors
// give the same bytes. Reading verifies sizes and checksums and takes no more memory than the file's bytes
// justify.
//
// Errors: InvalidArgument for an empty or repeated name, DataLoss for damaged bytes, and those of
// runtime/npy.h, runtime/zip_archive.h and runtime/file.h.
#ifndef SINTER_RUNTIME_NPZ_H_
#define SINTER_RUNTIME_NPZ_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/named_tensor.h"

namespace sinter {

struct NpzOptions {
  bool compress = false;  // Deflate every member that becomes smaller.
};

absl::Status SaveNpz(const std::string& path, std::span<const NamedTensor> tensors,
                     const NpzOptions& options = {});

// All tensors, in the archive's order.
absl::StatusOr<std::vector<NamedTensor>> LoadNpz(const std::string& path);

// The same for an archive that is in memory already; `name` is what errors call it.
absl::StatusOr<std::vector<NamedTensor>> ParseNpz(std::span<const std::byte> bytes, const std::string& name);

}  // namespace sinter

#endif  // SINTER_RUNTIME_NPZ_H_
