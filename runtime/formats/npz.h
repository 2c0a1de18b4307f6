// NumPy's .npz format: named tensors in a zip archive of .npy files (runtime/formats/npy.h says which element types).
//
//   std::vector<NamedTensor> tensors = ...;
//   SINTER_RETURN_IF_ERROR(SaveNpz("weights.npz", tensors));
//   SINTER_ASSIGN_OR_RETURN(std::vector<NamedTensor> loaded, LoadNpz("weights.npz"));
//
// Like numpy.savez, or numpy.savez_compressed with `compress`. Written whole or not at all; the same tensors
// give the same bytes. Reading verifies sizes and checksums, and takes the file's bytes and the tensors, the latter from
// the process's allocator. A small file may hold large tensors: deflate makes zeros a thousandth. Of files that strangers
// send, say how much they may hold:
//
//   LoadNpz("upload.npz", {.max_bytes = int64_t{1} << 30})
//
// Errors: InvalidArgument for an empty or repeated name, DataLoss for damaged bytes, and those of
// runtime/formats/npy.h, runtime/formats/zip_archive.h and runtime/formats/file.h.
#ifndef SINTER_RUNTIME_FORMATS_NPZ_H_
#define SINTER_RUNTIME_FORMATS_NPZ_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/tensor/named_tensor.h"

namespace sinter {

struct NpzOptions {
  bool compress = false;  // Deflate every member that becomes smaller.
};

absl::Status SaveNpz(const std::string& path, std::span<const NamedTensor> tensors,
                     const NpzOptions& options = {});

struct NpzLimits {
  // The most bytes of all members together, inflated.
  int64_t max_bytes = INT64_MAX;
  // The most that a member may inflate to, as a multiple of its compressed bytes. 1040 is more than deflate can do.
  int64_t max_ratio = 1040;
};

// All tensors, in the archive's order. ResourceExhausted: more than the limits, or than there is memory for.
absl::StatusOr<std::vector<NamedTensor>> LoadNpz(const std::string& path, const NpzLimits& limits = {});

// The same for an archive that is in memory already; `name` is what errors call it.
absl::StatusOr<std::vector<NamedTensor>> ParseNpz(std::span<const std::byte> bytes, const std::string& name,
                                                  const NpzLimits& limits = {});

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_NPZ_H_
