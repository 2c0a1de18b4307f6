// Tuning files: which algorithm of cuBLASLt is quickest for which product, on which GPU.
//
//   SINTER_ASSIGN_OR_RETURN(TuningTable table, LoadTuning("model.plan.tuning"));
//   SINTER_RETURN_IF_ERROR(SaveTuning("model.plan.tuning", measured));      // Adds to what is there by then.
//
// A file is JSON, a line for each product, in the order of their keys:
//
//   {"format": "sinter tuning", "version": 2, "sha256": "83c0...", "products": [
//   {"device": "NVIDIA H200, sm_90, 132 multiprocessors", "library": "cuBLASLt 13.1.0",
//    "product": "bf16 Ieee 1x32768x768x768 (batch, m, n, k), aligned to 16",
//    "algorithm": {"id": 66, "tile": 20, "stages": 36, "split_k": 1, "reduction": 0, "swizzle": 0, "custom": 1,
//                  "inner_shape": 0, "cluster_shape": 5, "ordinal": 0},
//    "first_us": 71.5, "chosen_us": 66.25, "bits": "same"}
//   ]}
//
// One file may serve several plans, GPUs and versions: what does not fit is left alone. Its bytes are untrusted: everything
// is checked, and cuBLASLt checks an algorithm once more before it is used. "sha256" is the hash of the whole text, taken with
// its own 64 digits as '0': a file of which a bit is another is an error. Files of version 1 have none, and are read.
#ifndef SINTER_RUNTIME_DEVICE_TUNING_FILE_H_
#define SINTER_RUNTIME_DEVICE_TUNING_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/device/tuning.h"

namespace sinter {

// What names an algorithm: the attributes CUBLASLT_ALGO_CONFIG_*, and which of cuBLASLt's proposals with these it is.
struct AlgorithmConfig {
  int32_t id = 0;
  uint32_t tile = 0, stages = 0;
  int32_t split_k = 1;
  uint32_t reduction = 0, swizzle = 0, custom = 0;
  uint16_t inner_shape = 0, cluster_shape = 0;
  uint16_t ordinal = 0;  // 0: the first of them, mostly the only one.

  bool operator==(const AlgorithmConfig&) const = default;
};

struct TunedProduct {
  AlgorithmConfig algorithm;
  // Of one launch, in microseconds: cuBLASLt's first choice, and this algorithm.
  double first_us = 0, chosen_us = 0;
  bool any_bits = false;

  bool operator==(const TunedProduct&) const = default;
};

using TuningTable = std::map<ProductKey, TunedProduct>;

// `name` is for messages. DataLoss: no tuning file, cut short or altered. FailedPrecondition: of another version.
// ResourceExhausted: no memory for what it says.
absl::StatusOr<TuningTable> ParseTuning(std::string_view text, const std::string& name);
// A text of version 2, which ParseTuning reads: equal tables, equal text.
std::string TuningText(const TuningTable& table);

// NotFound: there is no such file; else the errors of ParseTuning and of runtime/formats/file.h.
absl::StatusOr<TuningTable> LoadTuning(const std::string& path);
// Adds the products to those that the file has, in place of those with the same key, and replaces the file as a whole. Others
// that do so at the same time, in this or in other processes, lose nothing: they wait for each other by a lock of the folder.
// Whoever can open the folder can take that lock; after 5 seconds it is not waited for any longer, so that a process that keeps
// it, for whatever reason, keeps nobody from writing. A file that cannot be read is an error, and stays as it is.
// ResourceExhausted: more products than ParseTuning would read.
absl::Status SaveTuning(const std::string& path, const TuningTable& products);

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_TUNING_FILE_H_
