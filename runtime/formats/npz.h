// Reads and writes NumPy's .npz format: named tensors in a zip archive of .npy files.
// runtime/formats/npy.h lists the element types.
//
//   std::vector<NamedTensor> tensors = ...;
//   SINTER_RETURN_IF_ERROR(SaveNpz("weights.npz", tensors));
//   SINTER_ASSIGN_OR_RETURN(std::vector<NamedTensor> loaded, LoadNpz("weights.npz"));
//
// Matches numpy.savez, or numpy.savez_compressed if `compress` is set. SaveNpz writes the whole file or
// nothing; equal tensors give equal bytes. Reading verifies sizes and checksums. It needs memory for the
// file's bytes and for the tensors, which come from the process-wide allocator. A small file may hold large
// tensors, because deflate shrinks zeros a thousandfold. Limit the size of files from untrusted sources:
//
//   LoadNpz("upload.npz", {.max_bytes = int64_t{1} << 30})
//
// Errors: InvalidArgument for an empty or repeated name; DataLoss for damaged bytes; those of
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
  bool compress = false;  // Deflate each member that shrinks.
};

absl::Status SaveNpz(const std::string& path, std::span<const NamedTensor> tensors,
                     const NpzOptions& options = {});

struct NpzLimits {
  // Largest total size of all inflated members, in bytes.
  int64_t max_bytes = INT64_MAX;
  // Largest ratio of a member's inflated to its compressed bytes. Deflate cannot exceed 1040.
  int64_t max_ratio = 1040;
};

// Returns all tensors in the archive's order. ResourceExhausted if they exceed the limits or the memory.
absl::StatusOr<std::vector<NamedTensor>> LoadNpz(const std::string& path, const NpzLimits& limits = {});

// Like LoadNpz, for an archive in memory. Errors call it `name`.
absl::StatusOr<std::vector<NamedTensor>> ParseNpz(std::span<const std::byte> bytes, const std::string& name,
                                                  const NpzLimits& limits = {});

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_NPZ_H_
