#include "sinter/frontend/data/batches.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/tensor/tensor_bytes.h"

namespace sinter {
namespace {

// Separates the transforms' random streams from those of shuffling.
constexpr uint64_t kTransformStream = uint64_t{1} << 63;

constexpr const char* kLastNames[] = {"keep", "drop", "pad"};

absl::Status CheckTensors(const std::vector<HostTensor>& tensors) {
  if (tensors.empty()) return absl::InvalidArgumentError("batches need at least one tensor");
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].rank() == 0) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", i, " is a scalar, ", tensors[i].ToString(),
                                                     ": batches are cut along a first size"));
    }
    if (tensors[i].shape()[0] != tensors[0].shape()[0]) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensors 0 and ", i, " have different numbers of examples: ", tensors[0].ToString(),
                       " and ", tensors[i].ToString()));
    }
  }
  if (tensors[0].shape()[0] == 0) {
    return absl::InvalidArgumentError(absl::StrCat("there are no examples in ", tensors[0].ToString()));
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status CheckSame(const char* what, const T& saved, const T& here) {
  if (saved == here) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("cannot resume: the saved ", what, " is ", saved,
                                                 ", here it is ", here, "; batches would differ"));
}

}  // namespace

std::string BatchState::ToText() const {
  return absl::StrCat("epoch=", epoch, " batch=", batch, " seed=", seed, " num_examples=", num_examples,
                      " batch_size=", batch_size, " shuffle=", static_cast<int>(shuffle),
                      " last=", static_cast<int>(last));
}

absl::StatusOr<BatchState> BatchState::Parse(std::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(absl::string_view(text.data(), text.size()), ' ');
  BatchState state;
  int64_t shuffle = 0;
  int64_t last = 0;
  size_t used = 0;
  const auto read = [&](absl::string_view key, auto* value) {
    absl::string_view part = used < parts.size() ? absl::string_view(parts[used]) : "";
    ++used;
    return absl::ConsumePrefix(&part, key) && absl::ConsumePrefix(&part, "=") &&
           absl::SimpleAtoi(part, value);
  };
  const bool ok = read("epoch", &state.epoch) && read("batch", &state.batch) && read("seed", &state.seed) &&
                  read("num_examples", &state.num_examples) && read("batch_size", &state.batch_size) &&
                  read("shuffle", &shuffle) && read("last", &last) && used == parts.size() &&
                  (shuffle == 0 || shuffle == 1) && last >= 0 && last <= static_cast<int>(LastBatch::kPad);
  if (!ok) {
    return absl::InvalidArgumentError(absl::StrCat("no state of a batch iterator: '", std::string(text),
                                                   "'; it looks like '", BatchState().ToText(), "'"));
  }
  state.shuffle = shuffle == 1;
  state.last = static_cast<LastBatch>(last);
  return state;
}

absl::StatusOr<BatchIterator> BatchIterator::Create(std::vector<HostTensor> tensors, BatchOptions options) {
  SINTER_RETURN_IF_ERROR(CheckTensors(tensors));
  if (options.batch_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_size is ", options.batch_size, ", it must be at least 1"));
  }
  if (options.max_epochs < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_epochs is ", options.max_epochs, ", it must be at least 0 (0: no end)"));
  }
  if (!options.transforms.empty() && options.transforms.size() != tensors.size()) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", options.transforms.size(),
                                                   " transforms for ", tensors.size(),
                                                   " tensors; give one for each, or none"));
  }
  BatchIterator batches;
  batches.num_examples_ = tensors[0].shape()[0];
  const bool partial = options.last != LastBatch::kDrop && batches.num_examples_ % options.batch_size != 0;
  batches.batches_per_epoch_ = batches.num_examples_ / options.batch_size + (partial ? 1 : 0);
  if (batches.batches_per_epoch_ == 0) {
    return absl::InvalidArgumentError(absl::StrCat("LastBatch::kDrop leaves no batch: there are ",
                                                   batches.num_examples_, " examples for a batch_size of ",
                                                   options.batch_size));
  }
  batches.tensors_ = std::move(tensors);
  batches.options_ = std::move(options);
  return batches;
}

// Fisher-Yates shuffle, from the end.
void BatchIterator::OrderEpoch() {
  if (!options_.shuffle || ordered_epoch_ == epoch_) return;
  order_.resize(num_examples_);
  std::iota(order_.begin(), order_.end(), int64_t{0});
  SplitMix bits(options_.seed, static_cast<uint64_t>(epoch_));
  for (int64_t i = num_examples_ - 1; i > 0; --i) std::swap(order_[i], order_[bits.Below(i + 1)]);
  ordered_epoch_ = epoch_;
}

absl::StatusOr<HostTensor> BatchIterator::Gather(const HostTensor& source, int64_t first, int64_t count,
                                                 int64_t rows) const {
  std::vector<int64_t> shape = source.shape();
  shape[0] = rows;
  SINTER_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Empty(source.dtype(), std::move(shape)));
  const size_t row_bytes = source.num_bytes() / num_examples_;
  if (row_bytes == 0) return out;
  const std::byte* from = BytesOf(source).data();
  std::byte* to = MutableBytesOf(out).data();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t example = options_.shuffle ? order_[first + i] : first + i;
    std::memcpy(to + i * row_bytes, from + example * row_bytes, row_bytes);
  }
  std::memset(to + count * row_bytes, 0, (rows - count) * row_bytes);
  return out;
}

absl::Status BatchIterator::Transform(size_t which, HostTensor* rows) const {
  if (options_.transforms.empty() || !options_.transforms[which]) return absl::OkStatus();
  const int64_t count = rows->shape()[0];
  // A separate stream for each tensor of each batch, if an epoch has fewer than 2^24 batches.
  const uint64_t stream =
      (static_cast<uint64_t>(epoch_) << 32) + (static_cast<uint64_t>(batch_) << 8) + which;
  SplitMix bits(options_.seed, kTransformStream | stream);
  SINTER_ASSIGN_OR_RETURN(*rows, options_.transforms[which](std::move(*rows), bits));
  if (rows->rank() > 0 && rows->shape()[0] == count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the transform of tensor ", which, " made ", rows->ToString(), " of ", count, " rows"));
}

absl::StatusOr<Batch> BatchIterator::Next() {
  if (options_.max_epochs > 0 && epoch_ >= options_.max_epochs) {
    return absl::OutOfRangeError(absl::StrCat("no more batches after ", options_.max_epochs, " epochs"));
  }
  OrderEpoch();
  Batch batch;
  const int64_t first = batch_ * options_.batch_size;
  batch.num_examples = std::min(options_.batch_size, num_examples_ - first);
  batch.rows = options_.last == LastBatch::kPad ? options_.batch_size : batch.num_examples;
  batch.epoch = epoch_;
  batch.index = batch_;
  batch.ends_epoch = batch_ + 1 == batches_per_epoch_;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(HostTensor rows, Gather(tensors_[i], first, batch.num_examples, batch.rows));
    SINTER_RETURN_IF_ERROR(Transform(i, &rows));
    batch.tensors.push_back(std::move(rows));
  }
  SINTER_ASSIGN_OR_RETURN(batch.weights, HostTensor::Zeros(DType::kF32, {batch.rows}));
  SINTER_ASSIGN_OR_RETURN(const std::span<float> weights, batch.weights.MutableSpan<float>());
  std::ranges::fill(weights.first(batch.num_examples), 1.0f);
  epoch_ += batch.ends_epoch ? 1 : 0;
  batch_ = batch.ends_epoch ? 0 : batch_ + 1;
  batch.state_after = state();
  return batch;
}

BatchState BatchIterator::state() const {
  return {.epoch = epoch_,
          .batch = batch_,
          .seed = options_.seed,
          .num_examples = num_examples_,
          .batch_size = options_.batch_size,
          .shuffle = options_.shuffle,
          .last = options_.last};
}

absl::Status BatchIterator::Restore(const BatchState& saved) {
  SINTER_RETURN_IF_ERROR(CheckSame("number of examples", saved.num_examples, num_examples_));
  SINTER_RETURN_IF_ERROR(CheckSame("batch_size", saved.batch_size, options_.batch_size));
  SINTER_RETURN_IF_ERROR(CheckSame("seed", saved.seed, options_.seed));
  SINTER_RETURN_IF_ERROR(CheckSame("shuffle", int{saved.shuffle}, int{options_.shuffle}));
  SINTER_RETURN_IF_ERROR(CheckSame<std::string>("last batch rule", kLastNames[static_cast<int>(saved.last)],
                                                kLastNames[static_cast<int>(options_.last)]));
  if (saved.epoch < 0 || saved.batch < 0 || saved.batch >= batches_per_epoch_) {
    return absl::InvalidArgumentError(absl::StrCat("cannot resume: there is no batch ", saved.batch,
                                                   " of epoch ", saved.epoch, "; an epoch has ",
                                                   batches_per_epoch_, " batches"));
  }
  epoch_ = saved.epoch;
  batch_ = saved.batch;
  return absl::OkStatus();
}

}  // namespace sinter
