#include "sinter/runtime/cuda/cublas/matmul_trial.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/round_up.h"

namespace sinter {
namespace {

// Number of random results to compare. A smaller result is computed in several rounds, each with other
// operands.
constexpr int64_t kComparedElements = 1 << 20;
constexpr int kMaxRounds = 32;
// Number of pieces that are compared of a larger result: an algorithm may use another order of sums for tiles
// at the end or in the middle.
constexpr int64_t kPieces = 16;
// Seeds of the factors whose terms cancel. With these factors, nearly every element distinguishes two orders
// of sums.
constexpr uint64_t kCancellingSeeds[] = {1, 2};
// Distance in bytes between the operands of two rounds.
constexpr int64_t kRoundOffset = 512;
// An idle GPU takes tens of milliseconds to reach its full clock rate and keeps it for about a second.
constexpr double kFirstWarmUpSeconds = 0.05, kWarmUpSeconds = 0.002;
constexpr std::chrono::seconds kStaysWarm(1);

constexpr int64_t kPartAlignment = 512;

}  // namespace

MatmulTrial::MatmulTrial(CudaContext& context, CublasMatmul& matmul) : context_(context), matmul_(matmul) {
  const MatmulShape& s = matmul.shape();
  const int64_t size = SizeOf(static_cast<DType>(s.dtype));
  const int64_t of_result = SizeOf(static_cast<DType>(s.ResultDType()));
  const int64_t more = kRoundOffset * kMaxRounds, results = s.batch * s.m * s.n * of_result;
  a_.bytes = s.batch * s.m * s.k * size + more;
  b_.bytes = s.batch * s.k * s.n * size + more;
  bias_.bytes = s.has_bias ? s.n * of_result + more : 0;
  addend_.bytes = s.has_addend ? results : 0;
  scale_.bytes = s.has_scale ? SizeOf(DType::kF64) : 0;
  preactivation_.bytes = s.is_gradient ? results : 0;
  const int64_t of_scale = SizeOf(DType::kF32);
  const bool by_row = s.scales == fb::MatmulScales::Rows;
  scale_a_.bytes = s.is_scaled() ? (by_row ? s.m : 1) * of_scale : 0;
  scale_b_.bytes = s.is_scaled() ? (by_row ? s.n : 1) * of_scale : 0;
  result_.bytes = results;
  workspace_.bytes = static_cast<int64_t>(CublasMatmul::kMaxWorkspace);
}

int64_t MatmulTrial::Bytes() {
  int64_t bytes = 0;
  for (const Part* part : Parts()) bytes += RoundUp(part->bytes, kPartAlignment);
  return bytes;
}

absl::Status MatmulTrial::Prepare() {
  SINTER_ASSIGN_OR_RETURN(memory_,
                          context_.allocator().Allocate(Bytes(), "operands to measure a matmul with"));
  std::byte* next = static_cast<std::byte*>(memory_.ptr());
  for (Part* part : Parts()) {
    if (part->bytes > 0) part->ptr = next;
    next += RoundUp(part->bytes, kPartAlignment);
  }
  SINTER_RETURN_IF_ERROR(FillRandom(1));
  SINTER_ASSIGN_OR_RETURN(begin_, MakeCudaEvent(/*with_time=*/true));
  SINTER_ASSIGN_OR_RETURN(end_, MakeCudaEvent(/*with_time=*/true));
  return absl::OkStatus();
}

absl::Status MatmulTrial::FillRandom(uint64_t seed) {
  const MatmulShape& s = matmul_.shape();
  const std::vector<std::byte> of_result = RandomBlock(s.ResultDType(), seed);
  SINTER_RETURN_IF_ERROR(Repeat(context_, RandomBlock(s.dtype, seed), a_.ptr, a_.bytes));
  SINTER_RETURN_IF_ERROR(Repeat(context_, RandomBlock(s.DTypeOfB(), seed), b_.ptr, b_.bytes));
  for (const Part* part : {&scale_a_, &scale_b_}) {
    SINTER_RETURN_IF_ERROR(Repeat(context_, RandomBlock(fb::DType::F32, seed), part->ptr, part->bytes));
  }
  for (const Part* part : {&bias_, &addend_, &preactivation_}) {
    SINTER_RETURN_IF_ERROR(Repeat(context_, of_result, part->ptr, part->bytes));
  }
  const std::vector<std::byte> scale =
      RandomBlock(s.dtype == fb::DType::F64 ? s.dtype : fb::DType::F32, seed);
  return Repeat(context_, scale, scale_.ptr, scale_.bytes);
}

absl::Status MatmulTrial::FillCancelling(uint64_t seed) {
  const MatmulShape& s = matmul_.shape();
  CancellingFactors& factors = cancelling_[seed];
  if (factors.a.empty()) factors = CancellingFactorsOf(s.dtype, s.k, seed);
  if (s.DTypeOfB() != s.dtype) factors.b = CancellingFactorsOf(s.DTypeOfB(), s.k, seed).b;
  FactorLayout layout = {.batch = s.batch, .rows = s.m, .k = s.k, .k_runs = !s.transpose_a};
  layout.size = SizeOf(static_cast<DType>(s.dtype));
  SINTER_RETURN_IF_ERROR(FillRows(context_, factors.a, layout, a_.ptr));
  layout.rows = s.n, layout.k_runs = s.transpose_b;
  SINTER_RETURN_IF_ERROR(FillRows(context_, factors.b, layout, b_.ptr));
  for (const Part* part : {&bias_, &addend_, &preactivation_}) {
    if (part->bytes == 0) continue;
    SINTER_RETURN_IF_ERROR(CudaStatus(
        cudaMemsetAsync(part->ptr, 0, static_cast<size_t>(part->bytes), context_.stream()), "fill memory"));
  }
  return absl::OkStatus();
}

absl::Status MatmulTrial::Launch(const cublasLtMatmulHeuristicResult_t& algorithm, int round) {
  // Each round moves the first operand by one offset and the second by two.
  return matmul_.Launch(algorithm,
                        {.a = a_.ptr + round * kRoundOffset,
                         .b = b_.ptr + (round * 2 % kMaxRounds) * kRoundOffset,
                         .bias = bias_.ptr == nullptr ? nullptr : bias_.ptr + round * kRoundOffset,
                         .addend = addend_.ptr,
                         .scale = scale_.ptr,
                         .preactivation = preactivation_.ptr,
                         .scale_a = scale_a_.ptr,
                         .scale_b = scale_b_.ptr,
                         .result = result_.ptr},
                        workspace_.ptr);
}

absl::Status MatmulTrial::Download(const std::byte* from, int64_t bytes, std::vector<std::byte>& to) {
  const size_t size = static_cast<size_t>(bytes), at = to.size();
  to.resize(at + size);
  return CudaStatus(cudaMemcpyAsync(to.data() + at, from, size, cudaMemcpyDeviceToHost, context_.stream()),
                    "download");
}

absl::Status MatmulTrial::AddResults(const cublasLtMatmulHeuristicResult_t& algorithm, int round,
                                     std::vector<std::byte>& to) {
  SINTER_RETURN_IF_ERROR(Launch(algorithm, round));
  const int64_t size = SizeOf(static_cast<DType>(matmul_.shape().ResultDType()));
  const int64_t elements = result_.bytes / size, piece = kComparedElements / kPieces;
  const int64_t pieces = elements <= kComparedElements ? 1 : kPieces;
  for (int64_t i = 0; i < pieces; ++i) {
    // The first piece starts at the result's start; the last piece ends at its end.
    const int64_t begin = pieces == 1 ? 0 : (elements - piece) / (pieces - 1) * i;
    const int64_t from = i > 0 && i + 1 == pieces ? elements - piece : begin;
    SINTER_RETURN_IF_ERROR(Download(result_.ptr + from * size, (pieces == 1 ? elements : piece) * size, to));
  }
  return CudaStatus(cudaStreamSynchronize(context_.stream()), "try a matmul");
}

absl::StatusOr<std::vector<std::byte>> MatmulTrial::Results(
    const cublasLtMatmulHeuristicResult_t& algorithm) {
  const int64_t elements = result_.bytes / SizeOf(static_cast<DType>(matmul_.shape().ResultDType()));
  const int64_t rounds = std::clamp<int64_t>(kComparedElements / elements, 1, kMaxRounds);
  std::vector<std::byte> results;
  for (int64_t round = 0; round < rounds; ++round) {
    SINTER_RETURN_IF_ERROR(AddResults(algorithm, static_cast<int>(round), results));
  }
  for (const uint64_t seed : kCancellingSeeds) {
    SINTER_RETURN_IF_ERROR(FillCancelling(seed));
    SINTER_RETURN_IF_ERROR(AddResults(algorithm, /*round=*/0, results));
  }
  SINTER_RETURN_IF_ERROR(FillRandom(1));
  return results;
}

absl::StatusOr<double> MatmulTrial::Seconds(const cublasLtMatmulHeuristicResult_t& algorithm, int launches) {
  cudaStream_t stream = context_.stream();
  // Short launches are queued after an extra launch, so that the GPU does not wait for the CPU between the
  // events.
  if (launches > 1) SINTER_RETURN_IF_ERROR(Launch(algorithm, 0));
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(begin_.get(), stream), "record an event"));
  for (int i = 0; i < launches; ++i) SINTER_RETURN_IF_ERROR(Launch(algorithm, 0));
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(end_.get(), stream), "record an event"));
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventSynchronize(end_.get()), "time a matmul"));
  float milliseconds = 0;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "read a time"));
  return milliseconds * 1e-3 / launches;
}

absl::Status MatmulTrial::WarmUp(const cublasLtMatmulHeuristicResult_t& algorithm) {
  using Clock = std::chrono::steady_clock;
  // By GPU. Only one thread at a time measures matmuls.
  static std::map<int, Clock::time_point>& warm_until = *new std::map<int, Clock::time_point>;
  Clock::time_point& until = warm_until[context_.index()];
  double left = Clock::now() < until ? kWarmUpSeconds : kFirstWarmUpSeconds;
  for (int launches = 1; left > 0; launches = std::min(2 * launches, 64)) {
    SINTER_ASSIGN_OR_RETURN(const double seconds, Seconds(algorithm, launches));
    left -= std::max(seconds, 1e-7) * launches;
  }
  until = Clock::now() + kStaysWarm;
  return absl::OkStatus();
}

}  // namespace sinter
