#include "sinter/runtime/cuda/cublas/matmul_tuning.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/context/fastest_choice.h"
#include "sinter/runtime/cuda/cublas/matmul_trial.h"
#include "sinter/runtime/device/session_tuning.h"
#include "sinter/runtime/host/build_cache.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/load_times.h"

namespace sinter {
namespace {

using Algorithm = cublasLtMatmulHeuristicResult_t;

constexpr int kCandidates = 32;
// A smaller matmul takes a few microseconds, mostly for the launch.
constexpr double kLeastFlops = 1 << 24;

struct Measured {
  Algorithm algorithm;
  TunedAlgorithm tuned;
};

// The algorithms that this process knows: measured ones (by mode), those that tuning files name, and
// cuBLASLt's first choices. A cuBLASLt query takes milliseconds, and the layers of a model repeat the same
// matmuls.
struct KnownMatmuls {
  // Also held while measuring: two simultaneous measurements would disturb each other.
  std::mutex mutex;
  std::map<std::pair<TuningMode, TuningKey>, Measured> measured;
  std::map<TuningKey, std::pair<AlgorithmConfig, Algorithm>> resolved;
  BuildCache<TuningKey, Algorithm> first;
};

KnownMatmuls& ProcessMatmuls() {
  static KnownMatmuls& known = *new KnownMatmuls;
  return known;
}

// `is_exact`: the bits do not depend on the order of a sum.
absl::StatusOr<Measured> Measure(MatmulTrial& trial, const std::vector<MatmulCandidate>& candidates,
                                 TuningMode mode, bool is_exact) {
  SINTER_RETURN_IF_ERROR(trial.Prepare());
  SINTER_RETURN_IF_ERROR(trial.WarmUp(candidates[0].algorithm));
  std::optional<std::vector<std::byte>> wanted;
  const auto same_bits = [&](size_t i) -> absl::StatusOr<bool> {
    if (mode == TuningMode::kAnyBits || is_exact) return true;
    if (!SplitAlike(candidates[0].config, candidates[i].config)) return false;
    if (!wanted.has_value()) {
      SINTER_ASSIGN_OR_RETURN(wanted, trial.Results(candidates[0].algorithm));
    }
    SINTER_ASSIGN_OR_RETURN(const std::vector<std::byte> results, trial.Results(candidates[i].algorithm));
    return results == *wanted;
  };
  const auto seconds = [&](size_t i, int launches) {
    return trial.Seconds(candidates[i].algorithm, launches);
  };
  SINTER_ASSIGN_OR_RETURN(
      const Fastest fastest,
      ChooseFastest({.count = candidates.size(), .same_bits = same_bits, .seconds = seconds}));
  const MatmulCandidate& chosen = candidates[fastest.index];
  return Measured{chosen.algorithm,
                  {.algorithm = chosen.config,
                   .first_us = TunedMicroseconds(fastest.first_seconds),
                   .chosen_us = TunedMicroseconds(fastest.seconds),
                   .any_bits = mode == TuningMode::kAnyBits}};
}

// Chooses an algorithm for one matmul and reports the choice to the session.
class MatmulChoice {
 public:
  MatmulChoice(CudaContext& context, CublasMatmul& matmul, SessionTuning& tuning, TuningMode mode,
               TuningKey key)
      : context_(context), matmul_(matmul), tuning_(tuning), mode_(mode), key_(std::move(key)) {}

  absl::StatusOr<Algorithm> Make() {
    const std::lock_guard lock(ProcessMatmuls().mutex);
    if (mode_ == TuningMode::kFirstChoice) return First("tuning is off");
    if (matmul_.shape().Flops() < kLeastFlops) return First("it is too small to time");
    if (const TunedAlgorithm* const stored = tuning_.Find(key_, mode_); stored != nullptr) {
      absl::StatusOr<Algorithm> algorithm = Resolve(stored->algorithm);
      if (algorithm.ok()) {
        tuning_.Add(ChoiceOf(ChoiceSource::kFile, *stored));
        return algorithm;
      }
      if (!absl::IsFailedPrecondition(algorithm.status())) return algorithm.status();
      if (!tuning_.Has(key_)) WarnOf(algorithm.status());
    }
    auto& measured = ProcessMatmuls().measured;
    const auto known = measured.find({mode_, key_});
    // A session measures each matmul at most once.
    if (known != measured.end() && (!tuning_.again() || tuning_.Has(key_))) {
      return Take(known->second, ChoiceSource::kProcess);
    }
    return MeasureNow();
  }

 private:
  // Records the time of cuBLASLt queries, apart from measuring.
  LoadTimes::Scope Asking() { return LoadTimes::Time(context_.load_times(), "ask cuBLASLt for algorithms"); }

  absl::StatusOr<std::vector<MatmulCandidate>> Candidates() {
    const LoadTimes::Scope time = Asking();
    return CandidatesOf(matmul_);
  }

  // Returns the algorithm that a tuning file names.
  absl::StatusOr<Algorithm> Resolve(const AlgorithmConfig& config) {
    auto& resolved = ProcessMatmuls().resolved;
    if (const auto found = resolved.find(key_); found != resolved.end() && found->second.first == config) {
      return found->second.second;
    }
    SINTER_ASSIGN_OR_RETURN(const std::vector<MatmulCandidate> candidates, Candidates());
    const auto chosen = std::ranges::find(candidates, config, &MatmulCandidate::config);
    // The algorithm is never built from the file's attributes: cuBLASLt crashes on attributes that it does
    // not know.
    if (chosen == candidates.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("algorithm ", config.id, " for ", matmul_.shape().ToString(),
                       " is none that cuBLASLt proposes with these attributes"));
    }
    resolved[key_] = {config, chosen->algorithm};
    return chosen->algorithm;
  }

  absl::StatusOr<Algorithm> First(std::string reason) {
    const auto ask = [&]() -> absl::StatusOr<Algorithm> {
      const LoadTimes::Scope time = Asking();
      SINTER_ASSIGN_OR_RETURN(const std::vector<Algorithm> algorithms, matmul_.Algorithms(1));
      return algorithms[0];
    };
    SINTER_ASSIGN_OR_RETURN(const Algorithm* first, ProcessMatmuls().first.Get(key_, ask));
    tuning_.Add({.key = key_, .source = ChoiceSource::kFirstChoice, .reason = std::move(reason)});
    return *first;
  }

  TuningChoice ChoiceOf(ChoiceSource source, const TunedAlgorithm& tuned) const {
    return {.key = key_,
            .source = source,
            .first_us = tuned.first_us,
            .chosen_us = tuned.chosen_us,
            .any_bits = tuned.any_bits};
  }

  Algorithm Take(const Measured& measured, ChoiceSource source) {
    tuning_.Add(ChoiceOf(source, measured.tuned), &measured.tuned);
    return measured.algorithm;
  }

  void WarnOf(const absl::Status& status) {
    tuning_.Warn(absl::Status(
        status.code(), absl::StrCat("a matmul is measured although the tuning file ", tuning_.report().file,
                                    " has it: ", std::string(status.message()),
                                    "; make the file anew with `sinter tune --again`")));
  }

  absl::StatusOr<Algorithm> MeasureNow() {
    SINTER_ASSIGN_OR_RETURN(const std::vector<MatmulCandidate> candidates, Candidates());
    if (candidates.size() == 1) return First("cuBLASLt proposes one algorithm");
    MatmulTrial trial(context_, matmul_);
    constexpr char kNoRoom[] = "the GPU has no room for operands to measure with";
    if (trial.Bytes() > context_.allocator().memory().FreeBytes() / 2) return First(kNoRoom);
    // Preparation in parallel would distort the measurement.
    context_.FinishPreparing();
    const LoadTimes::Scope time = LoadTimes::Time(context_.load_times(), "measure matmuls");
    const CudaDeviceScope on(context_.index());
    const bool is_exact = !IsFloat(static_cast<DType>(matmul_.shape().dtype));
    absl::StatusOr<Measured> measured = Measure(trial, candidates, mode_, is_exact);
    // A memory limit may leave less than FreeBytes reports.
    if (absl::IsResourceExhausted(measured.status())) return First(kNoRoom);
    SINTER_RETURN_IF_ERROR(measured.status());
    return Take(ProcessMatmuls().measured[{mode_, key_}] = *measured, ChoiceSource::kMeasured);
  }

  CudaContext& context_;
  CublasMatmul& matmul_;
  SessionTuning& tuning_;
  TuningMode mode_;
  TuningKey key_;
};

}  // namespace

TuningKey TuningKeyOf(const CudaDeviceInfo& device, std::string_view cublaslt_version,
                      const MatmulShape& shape) {
  return {.device = absl::StrCat(device.name, ", ", device.Architecture(), ", ", device.multiprocessors,
                                 " multiprocessors"),
          .library = absl::StrCat("cuBLASLt ", std::string(cublaslt_version)),
          .problem = absl::StrCat(shape.ToString(), ", aligned to ", CublasMatmul::kAlignment)};
}

absl::StatusOr<std::vector<MatmulCandidate>> CandidatesOf(const CublasMatmul& matmul) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<Algorithm> proposed, matmul.Algorithms(kCandidates));
  std::vector<MatmulCandidate> candidates;
  for (const Algorithm& algorithm : proposed) {
    MatmulCandidate candidate = {.algorithm = algorithm, .config = matmul.ConfigOf(algorithm)};
    bool is_new = true;
    for (const MatmulCandidate& before : candidates) {
      AlgorithmConfig attributes = before.config;
      attributes.ordinal = candidate.config.ordinal;
      if (attributes != candidate.config) continue;
      is_new = is_new && std::memcmp(&before.algorithm.algo, &algorithm.algo, sizeof(algorithm.algo)) != 0;
      ++candidate.config.ordinal;
    }
    if (is_new) candidates.push_back(candidate);
  }
  return candidates;
}

bool SplitAlike(const AlgorithmConfig& a, const AlgorithmConfig& b) {
  const int32_t parts = std::max(a.split_k, 1);
  return parts == std::max(b.split_k, 1) && (parts == 1 || a.reduction == b.reduction);
}

absl::StatusOr<Algorithm> ChooseAlgorithm(CudaContext& context, CublasMatmul& matmul) {
  SessionTuning none;
  SessionTuning& tuning = context.tuning() == nullptr ? none : *context.tuning();
  SINTER_ASSIGN_OR_RETURN(const TuningMode mode, tuning.Mode());
  SINTER_ASSIGN_OR_RETURN(const CublasHandle cublas, context.Cublas());
  TuningKey key = TuningKeyOf(context.info(), VersionOf(*cublas.functions), matmul.shape());
  return MatmulChoice(context, matmul, tuning, mode, std::move(key)).Make();
}

}  // namespace sinter
