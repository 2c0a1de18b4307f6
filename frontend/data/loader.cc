#include "sinter/frontend/data/loader.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/batch_schedule.h"
#include "sinter/frontend/data/example_readers.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {

struct Loader::State {
  State(Dataset data, LoaderOptions loader_options, BatchSchedule batch_schedule)
      : set(std::move(data)),
        options(std::move(loader_options)),
        names(options.collate.names ? options.collate.names(set.names()) : set.names()),
        schedule(std::move(batch_schedule)) {}

  const Dataset set;
  const LoaderOptions options;
  const std::vector<std::string> names;  // Names of the tensors of batches.
  BatchSchedule schedule;
  // The batch that Next returns next.
  int64_t epoch = 0;
  int64_t batch = 0;
  // The first batch that is not pushed.
  int64_t push_epoch = 0;
  int64_t push_batch = 0;
  std::deque<std::shared_ptr<PendingBatch>> pending;  // Pushed, in order.
  absl::Status push_error;                            // Error of the batch behind `pending`.
  absl::Status error;                                 // Error of the batch that Next returns next.
  double waited_seconds = 0;
  int64_t batches_read = 0;
  std::unique_ptr<ExampleReaders> readers;  // Null until the first batch.

  bool IsOver(int64_t at_epoch) const { return options.max_epochs > 0 && at_epoch >= options.max_epochs; }
  void Advance(int64_t* at_epoch, int64_t* at_batch) const {
    *at_batch = (*at_batch + 1) % schedule.batches_per_epoch();
    if (*at_batch == 0) ++*at_epoch;
  }

  // Pushes until `count` batches are pending, or no more can be.
  void PushTo(size_t count) {
    while (pending.size() < count && push_error.ok() && !IsOver(push_epoch)) {
      absl::StatusOr<BatchPlan> plan = schedule.At(push_epoch, push_batch);
      if (!plan.ok()) {
        push_error = plan.status();
        return;
      }
      pending.push_back(std::make_shared<PendingBatch>(*std::move(plan)));
      readers->Push(pending.back());
      Advance(&push_epoch, &push_batch);
    }
  }

  void MoveTo(const BatchSchedule::Position& position) {
    if (readers != nullptr) readers->Clear();
    pending.clear();
    push_error = error = absl::OkStatus();
    push_epoch = epoch = position.epoch;
    push_batch = batch = position.batch;
  }
};

Loader::Loader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Loader::Loader(Loader&& other) noexcept = default;
Loader& Loader::operator=(Loader&& other) noexcept = default;
Loader::~Loader() = default;

absl::StatusOr<Loader> Loader::Create(Dataset set, LoaderOptions options) {
  SINTER_ASSIGN_OR_RETURN(BatchSchedule schedule, BatchSchedule::Create(set.size(), options));
  return Loader(std::make_unique<State>(std::move(set), std::move(options), std::move(schedule)));
}

absl::StatusOr<Batch> Loader::Next() {
  State& s = *state_;
  if (s.IsOver(s.epoch)) {
    return absl::OutOfRangeError(absl::StrCat("no more batches after ", s.options.max_epochs, " epochs"));
  }
  if (!s.error.ok()) return s.error;
  if (s.readers == nullptr) s.readers = std::make_unique<ExampleReaders>(s.set, s.options);
  const size_t ahead = s.options.workers == 0 ? 0 : static_cast<size_t>(s.options.ahead);
  s.PushTo(ahead + 1);
  if (s.pending.empty()) return s.error = s.push_error;
  absl::StatusOr<Batch> batch = s.readers->Take(*s.pending.front(), &s.waited_seconds);
  if (!batch.ok()) return s.error = batch.status();
  s.pending.pop_front();
  s.PushTo(ahead);
  s.Advance(&s.epoch, &s.batch);
  ++s.batches_read;
  batch->state_after = {.epoch = s.epoch,
                        .batch = s.batch,
                        .seed = s.options.seed,
                        .num_examples = s.schedule.num_examples(),
                        .batch_size = s.options.batch,
                        .shuffle = s.options.order.name != "sequential",
                        .last = s.options.last};
  return batch;
}

absl::Status Loader::Epoch(const std::function<absl::Status(const Batch& batch)>& body) {
  if (state_->IsOver(state_->epoch)) return absl::OkStatus();
  while (true) {
    SINTER_ASSIGN_OR_RETURN(const Batch batch, Next());
    SINTER_RETURN_IF_ERROR(body(batch));
    if (batch.ends_epoch) return absl::OkStatus();
  }
}

absl::Status Loader::Steps(int64_t count, const std::function<absl::Status(const Batch& batch)>& body) {
  for (int64_t i = 0; i < count; ++i) {
    SINTER_ASSIGN_OR_RETURN(const Batch batch, Next());
    SINTER_RETURN_IF_ERROR(body(batch));
  }
  return absl::OkStatus();
}

std::vector<Argument> Loader::Inputs(const Batch& batch, std::string_view weights) const {
  std::vector<Argument> inputs;
  const size_t count = std::min(batch.tensors.size(), state_->names.size());
  for (size_t i = 0; i < count; ++i) inputs.emplace_back(state_->names[i], batch.tensors[i]);
  if (!weights.empty()) inputs.emplace_back(weights, batch.weights);
  return inputs;
}

std::vector<std::string> Loader::names() const { return state_->names; }

int64_t Loader::batches_per_epoch() const { return state_->schedule.batches_per_epoch(); }
int64_t Loader::num_examples() const { return state_->schedule.num_examples(); }

std::string Loader::Save() const { return state_->schedule.Save(state_->epoch, state_->batch); }

absl::Status Loader::Load(std::string_view position) {
  SINTER_ASSIGN_OR_RETURN(const BatchSchedule::Position at, state_->schedule.Load(position));
  state_->MoveTo(at);
  return absl::OkStatus();
}

double Loader::waited_seconds() const { return state_->waited_seconds; }
int64_t Loader::batches_read() const { return state_->batches_read; }

}  // namespace sinter::data
