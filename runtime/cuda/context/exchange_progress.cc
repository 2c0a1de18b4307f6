#include "sinter/runtime/cuda/context/exchange_progress.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/world/exchange_patience.h"

namespace sinter {

absl::StatusOr<std::unique_ptr<ExchangeProgress>> ExchangeProgress::Create() {
  std::unique_ptr<ExchangeProgress> made(new ExchangeProgress);
  SINTER_ASSIGN_OR_RETURN(made->memory_, MakePinnedMemory());
  SINTER_ASSIGN_OR_RETURN(void* const marks, made->memory_->Allocate(kBytes));
  made->memory_->Fill(marks, 0, kBytes);
  made->marks_ = static_cast<uint32_t*>(marks);
  return made;
}

ExchangeProgress::~ExchangeProgress() {
  if (marks_ != nullptr) memory_->Free(marks_, kBytes);
}

uint32_t ExchangeProgress::Add(Exchange exchange) {
  exchanges_.push_back(std::move(exchange));
  return static_cast<uint32_t>(exchanges_.size() - 1);
}

absl::Status ExchangeProgress::Begin(uint32_t number, cudaStream_t stream) {
  if (number >= kMost) return absl::OkStatus();
  has_begun_ = true;
  if (marker_ != nullptr) return marker_(marks_ + number, stream);
  return CudaStatus(cudaMemsetAsync(marks_ + number, 1, sizeof(uint32_t), stream),
                    "mark the begin of an exchange");
}

absl::Status ExchangeProgress::End(cudaStream_t stream) {
  if (!std::exchange(has_begun_, false)) return absl::OkStatus();
  return CudaStatus(cudaMemsetAsync(marks_, 0, marked() * sizeof(uint32_t), stream),
                    "mark the end of exchanges");
}

void ExchangeProgress::Clear() {
  has_begun_ = false;
  for (size_t i = 0; i < marked(); ++i) std::atomic_ref(marks_[i]).store(0, std::memory_order_relaxed);
}

absl::Status ExchangeProgress::TooLate(const Exchange& exchange) const {
  return absl::UnavailableError(absl::StrCat(
      exchange.name, " has not ended for ", exchange.patience.count(),
      " ms: another member does not come, or is slower than SessionOptions::exchange_patience or ",
      kExchangePatienceVariable, " allows"));
}

const ExchangeProgress::Exchange* ExchangeProgress::under_way() const {
  const Exchange* latest = nullptr;
  for (size_t i = 0; i < marked(); ++i) {
    if (At(i) != 0 && (latest == nullptr || latest->place < exchanges_[i].place)) {
      latest = &exchanges_[i];
    }
  }
  return latest;
}

// FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/.
uint64_t ExchangeProgress::state() const {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < marked(); ++i) hash = (hash ^ At(i)) * 1099511628211u;
  return hash;
}

absl::Status ExchangeDeadline::Check() {
  const Clock::time_point now = Clock::now();
  const uint64_t state = progress_.state();
  if (!waited_.has_value() || state != state_) {
    state_ = state;
    waited_.emplace(now);
    return absl::OkStatus();
  }
  const auto waited = waited_->At(now);
  const ExchangeProgress::Exchange* const exchange = progress_.under_way();
  if (exchange == nullptr || waited <= exchange->patience) return absl::OkStatus();
  return progress_.TooLate(*exchange);
}

}  // namespace sinter
