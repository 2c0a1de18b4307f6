// Which algorithms compute the matrix products and convolutions of GPUs, and the file in which measured choices are kept.
//
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan), {.tuning = {.save = true}}));
//   for (const ProductChoice& choice : session.tuning().products) std::cout << choice.key.product << "\n";
//
// cuBLASLt has many algorithms for a product, and the one that it proposes is not always its quickest. A session takes, for
// each different product of its plan: what the tuning file says; else what this process has measured before; else what it
// measures now, while it is created. The file is that beside the plan ("model.plan.tuning"), unless another is named. The
// command `sinter tune model.plan` writes it; a session does so where it is asked to.
//
// So has cuDNN engines for a convolution. They are in the same file, but the quickest gives other bits, so that only kAnyBits
// measures them; otherwise it is the file's, else the first deterministic one.
//
// Bits: the same plan with the same tuning file gives the same bits in every process, on the same model of GPU with the same
// version of cuBLASLt. Without a file that holds in the modes kFirstChoice and kSameBits.
//
// No tuning file keeps a plan from running. One that cannot be read or written is reported, here and on standard error, and
// the session goes on as if there were none; its bytes stay as they are.
#ifndef SINTER_RUNTIME_DEVICE_TUNING_H_
#define SINTER_RUNTIME_DEVICE_TUNING_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace sinter {

// What SINTER_GPU_TUNE says, in this order: 0, 1 and 2.
enum class TuningMode {
  kFirstChoice,  // cuBLASLt's first choice: the file is not read and nothing is measured.
  kSameBits,     // The quickest of the algorithms that give the bits of the first choice.
  kAnyBits,      // The quickest of all.
};

struct TuningOptions {
  // Empty: what SINTER_GPU_TUNING_FILE says, else the path of the plan with ".tuning" behind it, else none.
  std::string file = {};
  // Adds what is measured to the file, which is made if there is none. Also by SINTER_GPU_TUNE_SAVE=1.
  bool save = false;
  // Measures also what the file and this process know already.
  bool again = false;
  // Empty: what SINTER_GPU_TUNE says, kSameBits if nothing.
  std::optional<TuningMode> mode = std::nullopt;
};

// What a choice is for.
struct ProductKey {
  std::string device;   // "NVIDIA H100 80GB HBM3, sm_90, 132 multiprocessors".
  std::string library;  // "cuBLASLt 13.1.0".
  std::string product;  // "bf16 Ieee 1x8x4x2 (batch, m, n, k), a transposed, aligned to 16".

  auto operator<=>(const ProductKey&) const = default;
};

enum class ChoiceSource {
  kFile,
  kMeasured,     // Now.
  kProcess,      // Measured when an earlier session of this process was created.
  kFirstChoice,  // Not measured: `reason` says why.
};

struct ProductChoice {
  ProductKey key;
  ChoiceSource source = ChoiceSource::kFirstChoice;
  std::string reason = {};
  // Of one launch, in microseconds; 0 where nothing was measured.
  double first_us = 0, chosen_us = 0;
  bool any_bits = false;  // The bits may be others than those of cuBLASLt's first choice.
};

struct TuningReport {
  // That was looked at, or looked for; empty: none.
  std::string file;
  // Why the file is not used or was not written, or a choice in it not taken.
  absl::Status status;
  // Each different product of the plan once, in the order of its steps.
  std::vector<ProductChoice> products;

  int64_t Count(ChoiceSource source) const {
    return std::ranges::count(products, source, &ProductChoice::source);
  }
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_TUNING_H_
