#include "sinter/runtime/cuda/matmul_tuning.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/dtype.h"
#include "sinter/runtime/half.h"

namespace sinter {
namespace {

constexpr int kCandidates = 8, kAllCandidates = 32;
constexpr double kLeastGain = 0.98;
// Less work than this takes a few microseconds, most of them to launch.
constexpr double kLeastFlops = 1 << 24;
constexpr int kSamples = 5;
constexpr double kSampleSeconds = 2e-4;
// Results that are compared, in several rounds with different operands where one has fewer.
constexpr int64_t kComparedElements = 1 << 20;
constexpr int kMaxRounds = 8;
// Operands repeat a block of so many random numbers: an odd number, so that no two rows of a matrix are alike.
constexpr int64_t kBlockElements = (1 << 16) + 1;
// Between the operands of two rounds, in bytes.
constexpr int64_t kRoundOffset = 512;

enum class Tuning { kOff, kSameBits, kAnyBits };

absl::StatusOr<Tuning> WantedTuning() {
  const char* const value = std::getenv("SINTER_GPU_TUNE");
  const std::string text = value == nullptr ? "" : value;
  if (text.empty() || text == "1") return Tuning::kSameBits;
  if (text == "0") return Tuning::kOff;
  if (text == "2") return Tuning::kAnyBits;
  return absl::InvalidArgumentError(absl::StrCat(
      "SINTER_GPU_TUNE is \"", text,
      "\": write 0 to take cuBLASLt's first choice of algorithms, 1 to measure those that give its bits, or "
      "2 to measure all, whose bits may differ from load to load"));
}

// Numbers from -1 to 1 from a linear congruential generator (Knuth's MMIX), the same in every run.
std::vector<std::byte> RandomBlock(fb::DType dtype) {
  const size_t size = static_cast<size_t>(SizeOf(static_cast<DType>(dtype)));
  std::vector<std::byte> block(kBlockElements * size);
  uint64_t state = 1;
  for (int64_t i = 0; i < kBlockElements; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double f64 = std::ldexp(static_cast<double>(state >> 11), -52) - 1;
    const float f32 = static_cast<float>(f64);
    const uint16_t bf16 = BFloat16::FromFloat(f32).bits, f16 = Float16::FromFloat(f32).bits;
    const void* const value = dtype == fb::DType::F64    ? static_cast<const void*>(&f64)
                              : dtype == fb::DType::F32  ? static_cast<const void*>(&f32)
                              : dtype == fb::DType::BF16 ? static_cast<const void*>(&bf16)
                                                         : static_cast<const void*>(&f16);
    std::memcpy(block.data() + static_cast<size_t>(i) * size, value, size);
  }
  return block;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Operands, results and workspace of one product, and what is done with them.
class Trial {
 public:
  Trial(CudaContext& context, CublasMatmul& product) : context_(context), product_(product) {
    const MatmulShape& s = product.shape();
    const int64_t size = SizeOf(static_cast<DType>(s.dtype));
    const int64_t more = kRoundOffset * kMaxRounds;
    a_bytes_ = s.batch * s.m * s.k * size + more;
    b_bytes_ = s.batch * s.k * s.n * size + more;
    bias_bytes_ = s.has_bias ? s.n * size + more : 0;
    result_bytes_ = s.batch * s.m * s.n * size;
  }
  // The memory goes back to all streams.
  ~Trial() { (void)cudaStreamSynchronize(context_.stream()); }

  int64_t Bytes() const {
    return RoundUp(a_bytes_) + RoundUp(b_bytes_) + RoundUp(bias_bytes_) + RoundUp(result_bytes_) +
           static_cast<int64_t>(CublasMatmul::kMaxWorkspace);
  }

  absl::Status Prepare();
  // Of as many results as are compared, in several rounds.
  absl::StatusOr<std::vector<std::byte>> Results(const cublasLtMatmulHeuristicResult_t& algorithm);
  // The median over samples of the time of one launch.
  absl::StatusOr<double> Seconds(const cublasLtMatmulHeuristicResult_t& algorithm);

 private:
  static int64_t RoundUp(int64_t bytes) { return (bytes + 511) / 512 * 512; }
  absl::Status Repeat(const std::vector<std::byte>& block, std::byte* to, int64_t bytes);
  absl::Status Launch(const cublasLtMatmulHeuristicResult_t& algorithm, int round);
  absl::StatusOr<double> TimeLaunches(const cublasLtMatmulHeuristicResult_t& algorithm, int launches);

  CudaContext& context_;
  CublasMatmul& product_;
  int64_t a_bytes_, b_bytes_, bias_bytes_, result_bytes_;
  Allocation memory_;
  std::byte *a_ = nullptr, *b_ = nullptr, *bias_ = nullptr, *result_ = nullptr, *workspace_ = nullptr;
  CudaEvent begin_, end_;
};

absl::Status Trial::Prepare() {
  SINTER_ASSIGN_OR_RETURN(memory_,
                          context_.allocator().Allocate(Bytes(), "operands to measure a matmul with"));
  a_ = static_cast<std::byte*>(memory_.ptr());
  b_ = a_ + RoundUp(a_bytes_);
  bias_ = b_ + RoundUp(b_bytes_);
  result_ = bias_ + RoundUp(bias_bytes_);
  workspace_ = result_ + RoundUp(result_bytes_);
  const std::vector<std::byte> block = RandomBlock(product_.shape().dtype);
  SINTER_RETURN_IF_ERROR(Repeat(block, a_, a_bytes_));
  SINTER_RETURN_IF_ERROR(Repeat(block, b_, b_bytes_));
  SINTER_RETURN_IF_ERROR(Repeat(block, bias_, bias_bytes_));
  SINTER_ASSIGN_OR_RETURN(begin_, MakeCudaEvent(/*with_time=*/true));
  SINTER_ASSIGN_OR_RETURN(end_, MakeCudaEvent(/*with_time=*/true));
  return absl::OkStatus();
}

absl::Status Trial::Repeat(const std::vector<std::byte>& block, std::byte* to, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  int64_t done = std::min(bytes, static_cast<int64_t>(block.size()));
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpyAsync(to, block.data(), static_cast<size_t>(done), cudaMemcpyHostToDevice, context_.stream()),
      "upload"));
  // Each copy doubles what there is; the period stays that of the block.
  while (done < bytes) {
    const int64_t more = std::min(done, bytes - done);
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaMemcpyAsync(to + done, to, static_cast<size_t>(more),
                                                      cudaMemcpyDeviceToDevice, context_.stream()),
                                      "copy"));
    done += more;
  }
  return CudaStatus(cudaStreamSynchronize(context_.stream()), "upload");
}

absl::Status Trial::Launch(const cublasLtMatmulHeuristicResult_t& algorithm, int round) {
  // The first operand moves on by one round's offset, the second by two.
  return product_.Launch(algorithm,
                         {.a = a_ + round * kRoundOffset,
                          .b = b_ + (round * 2 % kMaxRounds) * kRoundOffset,
                          .bias = bias_ + round * kRoundOffset,
                          .result = result_},
                         workspace_);
}

absl::StatusOr<std::vector<std::byte>> Trial::Results(const cublasLtMatmulHeuristicResult_t& algorithm) {
  const int64_t size = SizeOf(static_cast<DType>(product_.shape().dtype));
  const int64_t elements = result_bytes_ / size;
  const int64_t rounds = std::clamp<int64_t>(kComparedElements / elements, 1, kMaxRounds);
  const int64_t compared = std::min(elements, kComparedElements) * size;
  std::vector<std::byte> results(static_cast<size_t>(compared * rounds));
  for (int64_t round = 0; round < rounds; ++round) {
    SINTER_RETURN_IF_ERROR(Launch(algorithm, static_cast<int>(round)));
    // The end of the result: where tiles that are not whole and the last parts of k are.
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaMemcpyAsync(results.data() + round * compared, result_ + result_bytes_ - compared,
                                   static_cast<size_t>(compared), cudaMemcpyDeviceToHost, context_.stream()),
                   "download"));
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(context_.stream()), "try a product"));
  }
  return results;
}

absl::StatusOr<double> Trial::TimeLaunches(const cublasLtMatmulHeuristicResult_t& algorithm, int launches) {
  const cudaStream_t stream = context_.stream();
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(begin_.get(), stream), "record an event"));
  for (int i = 0; i < launches; ++i) SINTER_RETURN_IF_ERROR(Launch(algorithm, 0));
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(end_.get(), stream), "record an event"));
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventSynchronize(end_.get()), "time a product"));
  float milliseconds = 0;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "read a time"));
  return milliseconds * 1e-3 / launches;
}

absl::StatusOr<double> Trial::Seconds(const cublasLtMatmulHeuristicResult_t& algorithm) {
  SINTER_ASSIGN_OR_RETURN(const double once, TimeLaunches(algorithm, 2));
  const int launches = static_cast<int>(std::clamp(kSampleSeconds / std::max(once, 1e-7), 1.0, 50.0));
  std::vector<double> samples;
  for (int i = 0; i < kSamples; ++i) {
    SINTER_ASSIGN_OR_RETURN(const double sample, TimeLaunches(algorithm, launches));
    samples.push_back(sample);
  }
  return Median(std::move(samples));
}

absl::StatusOr<cublasLtMatmulHeuristicResult_t> Measure(
    Trial& trial, const std::vector<cublasLtMatmulHeuristicResult_t>& algorithms, Tuning tuning) {
  SINTER_RETURN_IF_ERROR(trial.Prepare());
  SINTER_ASSIGN_OR_RETURN(const std::vector<std::byte> wanted, trial.Results(algorithms[0]));
  const auto same_bits = [&](size_t i) -> absl::StatusOr<bool> {
    if (tuning == Tuning::kAnyBits) return true;
    SINTER_ASSIGN_OR_RETURN(const std::vector<std::byte> results, trial.Results(algorithms[i]));
    return results == wanted;
  };
  SINTER_ASSIGN_OR_RETURN(const size_t best, ChooseQuickest(algorithms.size(), same_bits, [&](size_t i) {
                            return trial.Seconds(algorithms[i]);
                          }));
  return algorithms[best];
}

}  // namespace

absl::StatusOr<size_t> ChooseQuickest(size_t count,
                                      const std::function<absl::StatusOr<bool>(size_t)>& same_bits,
                                      const std::function<absl::StatusOr<double>(size_t)>& seconds) {
  size_t best = 0;
  SINTER_ASSIGN_OR_RETURN(double best_seconds, seconds(0));
  for (size_t i = 1; i < count; ++i) {
    SINTER_ASSIGN_OR_RETURN(const bool counts, same_bits(i));
    if (!counts) continue;
    SINTER_ASSIGN_OR_RETURN(const double needed, seconds(i));
    if (needed >= kLeastGain * best_seconds) continue;
    best = i;
    best_seconds = needed;
  }
  return best;
}

absl::StatusOr<cublasLtMatmulHeuristicResult_t> ChooseAlgorithm(CudaContext& context, CublasMatmul& product) {
  static std::mutex mutex;
  static std::map<std::string, cublasLtMatmulHeuristicResult_t> chosen;
  SINTER_ASSIGN_OR_RETURN(const Tuning tuning, WantedTuning());
  if (tuning == Tuning::kOff || product.shape().Flops() < kLeastFlops) {
    SINTER_ASSIGN_OR_RETURN(const auto algorithms, product.Algorithms(1));
    return algorithms[0];
  }
  // Held while measuring too: two threads that measure at once would measure each other.
  const std::lock_guard lock(mutex);
  const std::string key = absl::StrCat(static_cast<int>(tuning), " ", context.info().name, " ",
                                       context.info().Architecture(), " ", product.shape().ToString());
  if (const auto known = chosen.find(key); known != chosen.end()) return known->second;
  SINTER_ASSIGN_OR_RETURN(const auto algorithms,
                          product.Algorithms(tuning == Tuning::kAnyBits ? kAllCandidates : kCandidates));
  Trial trial(context, product);
  if (algorithms.size() == 1 || trial.Bytes() > context.allocator().memory().FreeBytes() / 2)
    return algorithms[0];
  const CudaDeviceScope on(context.index());
  absl::StatusOr<cublasLtMatmulHeuristicResult_t> best = Measure(trial, algorithms, tuning);
  // A limit may leave less than the device has.
  if (absl::IsResourceExhausted(best.status())) return algorithms[0];
  SINTER_RETURN_IF_ERROR(best.status());
  return chosen[key] = *best;
}

}  // namespace sinter
