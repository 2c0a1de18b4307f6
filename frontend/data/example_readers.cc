#include "sinter/frontend/data/example_readers.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

// Returns the result of `call`. An exception becomes an error: no other thread could catch it.
template <typename Call>
auto WithoutExceptions(const char* what, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& exception) {
    return absl::InternalError(absl::StrCat(what, " threw: ", exception.what()));
  } catch (...) {
    return absl::InternalError(absl::StrCat(what, " threw something that is no std::exception"));
  }
}

absl::Status InFront(const std::string& text, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(text, ": ", status.message()));
}

absl::Status CheckJoined(const std::vector<HostTensor>& tensors, size_t names, int64_t rows,
                         const char* what) {
  if (names != 0 && tensors.size() != names) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " gave ", tensors.size(), " tensors, but there are ", names, " names"));
  }
  for (const HostTensor& tensor : tensors) {
    if (tensor.rank() > 0 && tensor.shape()[0] == rows) continue;
    return absl::InvalidArgumentError(absl::StrCat(what, " gave ", tensor.ToString(), " for a batch of ",
                                                   rows, " rows, which must be the first size"));
  }
  return absl::OkStatus();
}

}  // namespace

ExampleReaders::ExampleReaders(Dataset set, LoaderOptions options)
    : set_(std::move(set)), options_(std::move(options)), names_(set_.names()) {
  for (int i = 0; i < options_.workers; ++i) threads_.emplace_back([this] { Work(); });
}

ExampleReaders::~ExampleReaders() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  threads_.clear();
}

void ExampleReaders::Push(std::shared_ptr<PendingBatch> batch) {
  if (options_.workers == 0) return;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(batch));
  }
  work_.notify_all();
}

void ExampleReaders::Clear() {
  const std::lock_guard lock(mutex_);
  queue_.clear();
}

absl::StatusOr<Batch> ExampleReaders::Take(PendingBatch& batch, double* waited_seconds) {
  const auto begin = std::chrono::steady_clock::now();
  if (options_.workers == 0 && !batch.is_ready) Read(batch, 0, batch.examples.size());
  {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return batch.is_ready; });
  }
  *waited_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!batch.batch.ok()) return batch.batch.status();
  return std::move(batch.batch);
}

void ExampleReaders::Work() {
  while (true) {
    std::shared_ptr<PendingBatch> batch;
    size_t begin = 0, end = 0;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      batch = queue_.front();
      const size_t count = batch->examples.size();
      // Small enough that no thread waits long for another one, large enough that the lock is seldom taken.
      const size_t piece = std::max<size_t>(1, count / (4 * static_cast<size_t>(options_.workers)));
      begin = batch->given_out;
      end = batch->given_out = std::min(count, begin + piece);
      if (end == count) queue_.pop_front();
    }
    Read(*batch, begin, end);
  }
}

absl::StatusOr<Example> ExampleReaders::ReadOne(const BatchPlan::Item& item) const {
  return WithoutExceptions("the set", [&] {
    SplitMix bits(item.seed);
    return set_.Get(item.example, bits);
  });
}

void ExampleReaders::Read(PendingBatch& batch, size_t begin, size_t end) {
  size_t failed = SIZE_MAX;
  absl::Status error;
  for (size_t row = begin; row < end && failed == SIZE_MAX; ++row) {
    absl::StatusOr<Example> example = ReadOne(batch.plan.items[row]);
    if (example.ok()) {
      batch.examples[row] = *std::move(example);
    } else {
      failed = row;
      error = InFront(absl::StrCat("example ", batch.plan.items[row].example, ", for row ", row, " of batch ",
                                   batch.plan.batch, " of epoch ", batch.plan.epoch),
                      example.status());
    }
  }
  {
    const std::lock_guard lock(mutex_);
    if (failed < batch.failed_row) {
      batch.failed_row = failed;
      batch.error = std::move(error);
    }
    batch.finished += end - begin;
    if (batch.finished < batch.examples.size()) return;
  }
  // All other threads are done with this batch.
  absl::StatusOr<Batch> joined = WithoutExceptions("the collate or a batch map", [&] { return Join(batch); });
  {
    const std::lock_guard lock(mutex_);
    batch.batch = std::move(joined);
    batch.is_ready = true;
  }
  ready_.notify_all();
}

absl::StatusOr<Batch> ExampleReaders::Join(PendingBatch& pending) const {
  if (!pending.error.ok()) return pending.error;
  const BatchPlan& plan = pending.plan;
  const std::string place = absl::StrCat("batch ", plan.batch, " of epoch ", plan.epoch);
  const Rows rows = {pending.examples, names_, plan.rows, options_.memory};
  absl::StatusOr<std::vector<HostTensor>> tensors = options_.collate.join(rows);
  if (!tensors.ok()) return InFront(place, tensors.status());
  const size_t names = options_.collate.names ? options_.collate.names(names_).size() : names_.size();
  SINTER_RETURN_IF_ERROR(CheckJoined(*tensors, names, plan.rows, "the collate"));
  pending.examples.clear();
  if (plan.num_examples == 0) {  // The example was read for its shape.
    for (HostTensor& tensor : *tensors) {
      SINTER_ASSIGN_OR_RETURN(HostTensor zeros, rows.Empty(tensor.dtype(), tensor.shape()));
      std::memset(zeros.mutable_data(), 0, static_cast<size_t>(zeros.num_bytes()));
      tensor = std::move(zeros);
    }
  }
  SplitMix bits(plan.seed);
  for (const BatchMap& map : options_.batch_maps) {
    tensors = map(*std::move(tensors), plan.num_examples, bits);
    if (!tensors.ok()) return InFront(place, tensors.status());
    SINTER_RETURN_IF_ERROR(CheckJoined(*tensors, names, plan.rows, "a batch map"));
  }
  Batch batch;
  batch.tensors = *std::move(tensors);
  SINTER_ASSIGN_OR_RETURN(batch.weights, rows.Empty(DType::kF32, {plan.rows}));
  SINTER_ASSIGN_OR_RETURN(const std::span<float> weights, batch.weights.MutableSpan<float>());
  std::ranges::fill(weights, 0.0f);
  std::ranges::fill(weights.first(static_cast<size_t>(plan.num_examples)), 1.0f);
  batch.rows = plan.rows;
  batch.num_examples = plan.num_examples;
  batch.epoch = plan.epoch;
  batch.index = plan.batch;
  batch.ends_epoch = plan.ends_epoch;
  return batch;
}

}  // namespace sinter::data
