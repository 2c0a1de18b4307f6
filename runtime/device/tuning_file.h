// Tuning files keep the fastest measured algorithm for each matmul or convolution and GPU.
//
//   SINTER_ASSIGN_OR_RETURN(TuningTable table, LoadTuning("model.plan.tuning"));
//   SINTER_RETURN_IF_ERROR(SaveTuning("model.plan.tuning", measured));      // Adds to the file's entries.
//
// A file is JSON with one line per entry, in key order:
//
//   {"format": "sinter tuning", "version": 3, "sha256": "83c0...", "choices": [
//   {"device": "NVIDIA H200, sm_90, 132 multiprocessors", "library": "cuBLASLt 13.1.0",
//    "problem": "bf16 Ieee 1x32768x768x768 (batch, m, n, k), aligned to 16",
//    "algorithm": {"id": 66, "tile": 20, "stages": 36, "split_k": 1, "reduction": 0, "swizzle": 0,
//                  "custom": 1, "inner_shape": 0, "cluster_shape": 5, "ordinal": 0},
//    "first_us": 71.5, "chosen_us": 66.25, "bits": "same"}
//   ]}
//
// One file may serve several plans, GPUs and library versions: readers ignore entries for others. Its bytes
// are untrusted: the parser checks everything, and cuBLASLt checks an algorithm again before its use.
// "sha256" is the hash of the whole text, computed with its own 64 digits as '0', so any changed bit is an
// error. Files of version 1 have no hash and are still read.
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

// Identifies an algorithm: the attributes CUBLASLT_ALGO_CONFIG_*, and its position among cuBLASLt's proposals
// with equal attributes.
struct AlgorithmConfig {
  int32_t id = 0;
  uint32_t tile = 0, stages = 0;
  int32_t split_k = 1;
  uint32_t reduction = 0, swizzle = 0, custom = 0;
  uint16_t inner_shape = 0, cluster_shape = 0;
  uint16_t ordinal = 0;  // 0: the first of them, usually the only one.

  bool operator==(const AlgorithmConfig&) const = default;
};

struct TunedAlgorithm {
  AlgorithmConfig algorithm;
  // Microseconds per launch of cuBLASLt's first choice and of this algorithm.
  double first_us = 0, chosen_us = 0;
  bool any_bits = false;

  bool operator==(const TunedAlgorithm&) const = default;
};

using TuningTable = std::map<TuningKey, TunedAlgorithm>;

// Errors call the file `name`. DataLoss if the text is no tuning file, cut short or altered;
// FailedPrecondition for another version; ResourceExhausted if there is no memory for its contents.
absl::StatusOr<TuningTable> ParseTuning(std::string_view text, const std::string& name);
// Returns a version 2 text for ParseTuning. Equal tables give equal texts.
std::string TuningText(const TuningTable& table);

// NotFound if the file does not exist; otherwise the errors of ParseTuning and runtime/formats/file.h.
absl::StatusOr<TuningTable> LoadTuning(const std::string& path);
// Adds entries to those of the file, replacing entries with equal keys, and replaces the file as a whole.
// Writers in this and other processes wait for each other by a lock on the folder, so no entry is lost. Any
// process that can open the folder can take that lock, so the wait ends after 5 seconds: a process that keeps
// the lock cannot block writers. An unreadable file is an error and stays unchanged. ResourceExhausted if the
// file would have more entries than ParseTuning reads.
absl::Status SaveTuning(const std::string& path, const TuningTable& matmuls);

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_TUNING_FILE_H_
