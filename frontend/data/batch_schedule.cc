#include "sinter/frontend/data/batch_schedule.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

// Separate the random numbers of examples and batches from those of orders, which are SplitMix(seed, epoch).
constexpr uint64_t kExampleStream = uint64_t{1} << 62, kBatchStream = uint64_t{1} << 61;

constexpr const char* kLastRules[] = {"keep", "drop", "pad"};

uint64_t SeedOf(uint64_t seed, uint64_t kind, int64_t epoch, int64_t number) {
  return SplitMix(SplitMix(seed, kind | static_cast<uint64_t>(epoch)).Next(), static_cast<uint64_t>(number))
      .Next();
}

absl::Status CheckAtLeast(const char* what, int64_t given, int64_t least) {
  if (given >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " is ", given, ", it must be at least ", least));
}

absl::Status CheckNumbers(int64_t set_size, const LoaderOptions& options) {
  if (set_size < 1) return absl::InvalidArgumentError("the set of a loader has no examples");
  SINTER_RETURN_IF_ERROR(CheckAtLeast("batch", options.batch, 1));
  SINTER_RETURN_IF_ERROR(CheckAtLeast("workers", options.workers, 0));
  SINTER_RETURN_IF_ERROR(CheckAtLeast("ahead", options.ahead, 0));
  SINTER_RETURN_IF_ERROR(CheckAtLeast("max_epochs", options.max_epochs, 0));
  if (!options.order.indices) return absl::InvalidArgumentError("the order of a loader has no function");
  if (options.order.name.empty() || options.order.name.find(' ') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name of an order is '", options.order.name,
                     "'; it is part of positions and needs a word without spaces"));
  }
  if (!options.collate.join) return absl::InvalidArgumentError("the collate of a loader has no function");
  const RankRows& rows = options.rows;
  if (rows.ranks < 1 || rows.rank < 0 || rows.rank >= rows.ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no rank ", rows.rank, " of ", rows.ranks, " ranks"));
  }
  if (options.batch % rows.ranks == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a batch of ", options.batch,
                                                 " rows does not divide evenly among ", rows.ranks,
                                                 " ranks; the option batch counts the rows of all ranks"));
}

absl::Status CannotResume(const char* what, std::string_view saved, std::string_view here) {
  return absl::InvalidArgumentError(absl::StrCat("cannot resume: the saved ", what, " is ",
                                                 std::string(saved), ", here it is ", std::string(here),
                                                 "; batches would differ"));
}

}  // namespace

absl::StatusOr<BatchSchedule> BatchSchedule::Create(int64_t set_size, const LoaderOptions& options) {
  SINTER_RETURN_IF_ERROR(CheckNumbers(set_size, options));
  BatchSchedule schedule;
  schedule.order_ = options.order;
  schedule.batch_ = options.batch;
  schedule.last_ = options.last;
  schedule.seed_ = options.seed;
  schedule.ranks_ = options.rows;
  schedule.set_size_ = set_size;
  SINTER_RETURN_IF_ERROR(schedule.OrderEpoch(0));
  const int64_t examples = schedule.num_examples_;
  const bool partial = options.last != LastBatch::kDrop && examples % options.batch != 0;
  schedule.batches_per_epoch_ = examples / options.batch + (partial ? 1 : 0);
  SINTER_RETURN_IF_ERROR(schedule.CheckBatches());
  return schedule;
}

absl::Status BatchSchedule::CheckBatches() const {
  if (batches_per_epoch_ == 0) {
    return absl::InvalidArgumentError(absl::StrCat("LastBatch::kDrop leaves no batch: there are ",
                                                   num_examples_, " examples for a batch of ", batch_));
  }
  const int64_t rest = num_examples_ % batch_;
  if (last_ != LastBatch::kKeep || rest % ranks_.ranks == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the last batch of an epoch has ", rest,
                                                 " rows, which do not divide evenly among ", ranks_.ranks,
                                                 " ranks; use LastBatch::kPad or kDrop"));
}

absl::Status BatchSchedule::OrderEpoch(int64_t epoch) {
  if (ordered_epoch_ == epoch) return absl::OkStatus();
  SINTER_ASSIGN_OR_RETURN(std::vector<int64_t> indices, order_.indices(seed_, epoch, set_size_));
  const auto count = static_cast<int64_t>(indices.size());
  if (count == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the order '", order_.name, "' has no index in epoch ", epoch));
  }
  if (num_examples_ != 0 && count != num_examples_) {
    return absl::InvalidArgumentError(absl::StrCat("the order '", order_.name, "' has ", num_examples_,
                                                   " indices in epoch 0, and ", count, " in epoch ", epoch,
                                                   "; all epochs need equally many"));
  }
  std::vector<bool> seen(static_cast<size_t>(set_size_), false);
  std::unordered_map<int64_t, uint32_t> repeated;
  std::vector<uint32_t> draws;
  for (size_t at = 0; at < indices.size(); ++at) {
    const int64_t i = indices[at];
    if (i < 0 || i >= set_size_) {
      return absl::InvalidArgumentError(absl::StrCat("the order '", order_.name, "' has the index ", i,
                                                     " in epoch ", epoch, ", but the set has ", set_size_,
                                                     " examples"));
    }
    if (!seen[static_cast<size_t>(i)]) {
      seen[static_cast<size_t>(i)] = true;
      continue;
    }
    if (draws.empty()) draws.resize(indices.size(), 0);
    draws[at] = ++repeated[i];
  }
  num_examples_ = count;
  indices_ = std::move(indices);
  draws_ = std::move(draws);
  ordered_epoch_ = epoch;
  return absl::OkStatus();
}

absl::StatusOr<BatchPlan> BatchSchedule::At(int64_t epoch, int64_t batch) {
  SINTER_RETURN_IF_ERROR(OrderEpoch(epoch));
  const int64_t first = batch * batch_, count = std::min(batch_, num_examples_ - first);
  BatchPlan plan;
  plan.epoch = epoch;
  plan.batch = batch;
  plan.ends_epoch = batch + 1 == batches_per_epoch_;
  plan.seed = SeedOf(seed_, kBatchStream, epoch, batch);
  plan.rows = (last_ == LastBatch::kPad ? batch_ : count) / ranks_.ranks;
  const int64_t begin = std::min(ranks_.rank * plan.rows, count);
  plan.num_examples = std::min(begin + plan.rows, count) - begin;
  // A rank without an example reads the batch's first one, for its shape.
  const int64_t from = plan.num_examples > 0 ? first + begin : first;
  for (int64_t at = from; at < from + std::max<int64_t>(plan.num_examples, 1); ++at) {
    const int64_t example = indices_[static_cast<size_t>(at)];
    uint64_t seed = SeedOf(seed_, kExampleStream, epoch, example);
    if (!draws_.empty() && draws_[static_cast<size_t>(at)] > 0) {
      seed = SplitMix(seed, draws_[static_cast<size_t>(at)]).Next();
    }
    plan.items.push_back({example, seed});
  }
  return plan;
}

std::string BatchSchedule::Save(int64_t epoch, int64_t batch) const {
  return absl::StrCat("epoch=", epoch, " batch=", batch, " seed=", seed_, " num_examples=", num_examples_,
                      " batch_size=", batch_, " order=", order_.name,
                      " last=", kLastRules[static_cast<int>(last_)]);
}

absl::StatusOr<BatchSchedule::Position> BatchSchedule::Load(std::string_view text) const {
  const std::string here = Save(0, 0);
  const auto parse = [](const std::string& line) {
    std::vector<std::pair<std::string, std::string>> fields;
    for (const std::string& part : std::vector<std::string>(absl::StrSplit(line, ' '))) {
      const size_t at = part.find('=');
      fields.emplace_back(part.substr(0, at), at == std::string::npos ? "" : part.substr(at + 1));
    }
    return fields;
  };
  const auto saved = parse(std::string(text)), own = parse(here);
  const bool same_keys = std::ranges::equal(
      saved, own, {}, [](const auto& field) { return field.first; },
      [](const auto& field) { return field.first; });
  Position position;
  if (!same_keys || !absl::SimpleAtoi(saved[0].second, &position.epoch) ||
      !absl::SimpleAtoi(saved[1].second, &position.batch)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no position of a loader: '", std::string(text), "'; it looks like '", here, "'"));
  }
  constexpr const char* kWhat[] = {"",           "",      "seed",           "number of examples",
                                   "batch size", "order", "last batch rule"};
  for (size_t i = 2; i < own.size(); ++i) {
    if (saved[i].second != own[i].second) return CannotResume(kWhat[i], saved[i].second, own[i].second);
  }
  if (position.epoch < 0 || position.batch < 0 || position.batch >= batches_per_epoch_) {
    return absl::InvalidArgumentError(absl::StrCat("cannot resume: there is no batch ", position.batch,
                                                   " of epoch ", position.epoch, "; an epoch has ",
                                                   batches_per_epoch_, " batches"));
  }
  return position;
}

}  // namespace sinter::data
