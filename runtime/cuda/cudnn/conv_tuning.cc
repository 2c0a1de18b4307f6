#include "sinter/runtime/cuda/cudnn/conv_tuning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/cuda/context/fastest_choice.h"
#include "sinter/runtime/cuda/context/trial_operands.h"
#include "sinter/runtime/cuda/cudnn/cudnn_plans.h"
#include "sinter/runtime/cuda/cudnn/cudnn_session.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/device/session_tuning.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/load_times.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/memory/caching_allocator.h"

namespace sinter {
namespace {

constexpr size_t kEngines = 8;
constexpr int64_t kOperandAlignment = 512;
// An idle GPU takes tens of milliseconds to reach its full clock rate.
constexpr double kClocksSeconds = 0.03;

// Runs one convolution on random operands to time engines.
class ConvTrial {
 public:
  ConvTrial(CudaContext& context, const ConvShape& shape, const ConvEpilogue& epilogue, size_t workspace)
      : context_(context), dtype_(shape.dtype) {
    const int64_t size = SizeOf(static_cast<DType>(dtype_));
    const int64_t elements[] = {shape.first().elements(), shape.second().elements(),
                                epilogue.bias ? shape.y.sizes[1] : 0, shape.result().elements()};
    for (int i = 0; i < 4; ++i) bytes_[i] = elements[i] * size;
    bytes_[4] = static_cast<int64_t>(workspace);
  }
  // The freed memory may be reused on any stream, so the GPU's work must be complete.
  ~ConvTrial() { (void)cudaStreamSynchronize(context_.stream()); }
  ConvTrial(const ConvTrial&) = delete;
  ConvTrial& operator=(const ConvTrial&) = delete;

  int64_t Bytes() const {
    int64_t bytes = 0;
    for (int64_t part : bytes_) bytes += RoundUp(part, kOperandAlignment);
    return bytes;
  }

  // Allocates and fills the operands. ResourceExhausted if the GPU has too little memory.
  absl::Status Prepare() {
    SINTER_ASSIGN_OR_RETURN(memory_,
                            context_.allocator().Allocate(Bytes(), "operands to measure a convolution with"));
    auto* next = static_cast<std::byte*>(memory_.ptr());
    const std::vector<std::byte> block = RandomBlock(dtype_);
    for (int i = 0; i < 5; ++i) {
      parts_[i] = next;
      next += RoundUp(bytes_[i], kOperandAlignment);
      if (i < 3) SINTER_RETURN_IF_ERROR(Repeat(context_, block, parts_[i], bytes_[i]));
    }
    SINTER_ASSIGN_OR_RETURN(begin_, MakeCudaEvent(/*with_time=*/true));
    SINTER_ASSIGN_OR_RETURN(end_, MakeCudaEvent(/*with_time=*/true));
    return absl::OkStatus();
  }

  // Returns the seconds of one launch, averaged over `launches` launches in a row.
  absl::StatusOr<double> Seconds(CudnnPlan& plan, int launches) {
    const cudaStream_t stream = context_.stream();
    // Short launches are queued after an extra launch, so that the GPU does not wait for the CPU between the
    // events.
    if (launches > 1) SINTER_RETURN_IF_ERROR(Launch(plan));
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(begin_.get(), stream), "record an event"));
    for (int i = 0; i < launches; ++i) SINTER_RETURN_IF_ERROR(Launch(plan));
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(end_.get(), stream), "record an event"));
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventSynchronize(end_.get()), "time a convolution"));
    float milliseconds = 0;
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "read a time"));
    return milliseconds * 1e-3 / launches;
  }

  absl::Status WarmUp(CudnnPlan& plan) {
    for (double left = kClocksSeconds; left > 0;) {
      SINTER_ASSIGN_OR_RETURN(const double seconds, Seconds(plan, /*launches=*/8));
      left -= std::max(seconds, 1e-6) * 8;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Launch(CudnnPlan& plan) {
    if (bytes_[2] == 0)
      return plan.Execute({{kFirst, parts_[0]}, {kSecond, parts_[1]}, {kResult, parts_[3]}}, parts_[4]);
    return plan.Execute({{kFirst, parts_[0]}, {kSecond, parts_[1]}, {kBias, parts_[2]}, {kResult, parts_[3]}},
                        parts_[4]);
  }

  CudaContext& context_;
  fb::DType dtype_;
  // In order: first, second, bias, result, workspace.
  std::array<int64_t, 5> bytes_ = {};
  std::array<std::byte*, 5> parts_ = {};
  Allocation memory_;
  CudaEvent begin_, end_;
};

// The measurements of this process. Measuring also holds the mutex: two simultaneous measurements would
// disturb each other.
struct KnownConvs {
  std::mutex mutex;
  std::map<TuningKey, TunedAlgorithm> measured;
};

KnownConvs& KnownConvolutions() {
  static KnownConvs& known = *new KnownConvs;
  return known;
}

AlgorithmConfig ConfigOf(const CudnnEngine& engine) {
  return {.id = static_cast<int32_t>(engine.number), .ordinal = static_cast<uint16_t>(engine.ordinal)};
}

// Chooses an engine for one convolution and reports the choice to the session.
class ConvChoice {
 public:
  using Made = absl::StatusOr<std::unique_ptr<CudnnPlan>>;

  ConvChoice(CudaContext& context, const CudnnHandle& cudnn, const ConvShape& shape,
             const ConvEpilogue& epilogue, SessionTuning& tuning)
      : context_(context),
        cudnn_(cudnn),
        shape_(shape),
        epilogue_(epilogue),
        tuning_(tuning),
        key_(ConvolutionKeyOf(context.info(), cudnn.functions->GetVersion(), shape, epilogue)) {}

  Made Make() {
    SINTER_ASSIGN_OR_RETURN(const TuningMode mode, tuning_.Mode());
    SINTER_ASSIGN_OR_RETURN(std::string why_not, tuning_.WhyNoEngines());
    const std::lock_guard lock(KnownConvolutions().mutex);
    if (const TunedAlgorithm* const stored = tuning_.Find(key_, mode); stored != nullptr) {
      Made plan = Named(*stored, ChoiceSource::kFile);
      if (plan.ok() || !absl::IsUnimplemented(plan.status())) return plan;
      WarnOf(plan.status());
    }
    if (!why_not.empty()) return First(std::move(why_not));
    auto& measured = KnownConvolutions().measured;
    const auto known = measured.find(key_);
    // A session measures each convolution at most once.
    if (known != measured.end() && (!tuning_.again() || tuning_.Has(key_))) {
      return Named(known->second, ChoiceSource::kProcess);
    }
    return Measure();
  }

 private:
  Made First(std::string reason) {
    tuning_.Add({.key = key_, .source = ChoiceSource::kFirstChoice, .reason = std::move(reason)});
    return context_.cudnn()->plans().Convolution(cudnn_, shape_, epilogue_);
  }

  Made Named(const TunedAlgorithm& tuned, ChoiceSource source) {
    const CudnnEngine engine = {.number = tuned.algorithm.id, .ordinal = tuned.algorithm.ordinal};
    Made plan = context_.cudnn()->plans().Convolution(cudnn_, shape_, epilogue_, engine);
    if (plan.ok()) Report(tuned, source);
    return plan;
  }

  void Report(const TunedAlgorithm& tuned, ChoiceSource source) {
    tuning_.Add({.key = key_,
                 .source = source,
                 .first_us = tuned.first_us,
                 .chosen_us = tuned.chosen_us,
                 .any_bits = tuned.any_bits},
                source == ChoiceSource::kFile ? nullptr : &tuned);
  }

  void WarnOf(const absl::Status& status) {
    if (tuning_.Has(key_)) return;
    tuning_.Warn(absl::FailedPreconditionError(
        absl::StrCat("an engine that the tuning file ", tuning_.report().file, " names is not taken: ",
                     std::string(status.message()), "; make the file anew with `sinter tune --again`")));
  }

  Made Measure() {
    const LoadTimes::Scope time = LoadTimes::Time(context_.load_times(), "measure convolutions");
    SINTER_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<CudnnPlan>> plans,
                            MakeConvolutionPlans(cudnn_, shape_, epilogue_, RulesOf(shape_), kEngines));
    if (plans.size() == 1) return First("cuDNN names one engine");
    size_t workspace = 0;
    for (const auto& plan : plans) workspace = std::max(workspace, plan->workspace_bytes());
    ConvTrial trial(context_, shape_, epilogue_, workspace);
    constexpr char kNoRoom[] = "the GPU has no room for operands to measure with";
    if (trial.Bytes() > context_.allocator().memory().FreeBytes() / 2) return First(kNoRoom);
    const CudaDeviceScope on(context_.index());
    const absl::StatusOr<Fastest> fastest = FindFastest(trial, plans);
    // A memory limit may leave less than FreeBytes reports.
    if (absl::IsResourceExhausted(fastest.status())) return First(kNoRoom);
    SINTER_RETURN_IF_ERROR(fastest.status());
    std::unique_ptr<CudnnPlan>& chosen = plans[fastest->index];
    const TunedAlgorithm tuned = {.algorithm = ConfigOf(chosen->engine()),
                                  .first_us = TunedMicroseconds(fastest->first_seconds),
                                  .chosen_us = TunedMicroseconds(fastest->seconds),
                                  .any_bits = true};
    KnownConvolutions().measured[key_] = tuned;
    Report(tuned, ChoiceSource::kMeasured);
    return std::move(chosen);
  }

  absl::StatusOr<Fastest> FindFastest(ConvTrial& trial,
                                      const std::vector<std::unique_ptr<CudnnPlan>>& plans) {
    SINTER_RETURN_IF_ERROR(trial.Prepare());
    SINTER_RETURN_IF_ERROR(trial.WarmUp(*plans[0]));
    return ChooseFastest(
        {.count = plans.size(),
         .same_bits = [](size_t) -> absl::StatusOr<bool> { return true; },
         .seconds = [&](size_t i, int launches) { return trial.Seconds(*plans[i], launches); }});
  }

  CudaContext& context_;
  const CudnnHandle& cudnn_;
  const ConvShape& shape_;
  const ConvEpilogue& epilogue_;
  SessionTuning& tuning_;
  TuningKey key_;
};

}  // namespace

TuningKey ConvolutionKeyOf(const CudaDeviceInfo& device, size_t cudnn_version, const ConvShape& shape,
                           const ConvEpilogue& epilogue) {
  std::string text = absl::StrCat(
      "convolution ", shape.ToString(), ", strides ", absl::StrJoin(shape.strides, ","), ", dilations ",
      absl::StrJoin(shape.dilations, ","), ", padding ", absl::StrJoin(shape.padding_before, ","), " and ",
      absl::StrJoin(shape.padding_after, ","));
  if (shape.weights != PackedTensor(shape.weights.sizes, /*channels_last=*/false))
    text += ", weights channels last";
  if (epilogue.bias) text += ", bias";
  if (epilogue.relu) text += ", relu";
  return {.device = absl::StrCat(device.name, ", ", device.Architecture(), ", ", device.multiprocessors,
                                 " multiprocessors"),
          .library = absl::StrCat("cuDNN ", cudnn_version),
          .problem = std::move(text)};
}

absl::StatusOr<std::unique_ptr<CudnnPlan>> ChooseConvolutionPlan(CudaContext& context,
                                                                 const CudnnHandle& cudnn,
                                                                 const ConvShape& shape,
                                                                 const ConvEpilogue& epilogue) {
  SessionTuning none;
  SessionTuning& tuning = context.tuning() == nullptr ? none : *context.tuning();
  return ConvChoice(context, cudnn, shape, epilogue, tuning).Make();
}

}  // namespace sinter
