#include "sinter/frontend/data/prefetcher.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sinter {
namespace {

absl::StatusOr<Batch> CallSource(const Prefetcher::Source& source) {
  try {
    return source();
  } catch (const std::exception& exception) {
    return absl::InternalError(absl::StrCat("the source of batches threw: ", exception.what()));
  } catch (...) {
    return absl::InternalError("the source of batches threw something that is no std::exception");
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Prefetcher>> Prefetcher::Create(Source source, int depth) {
  if (depth < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a prefetcher keeps at least 1 batch ready, it was asked for ", depth));
  }
  if (!source) return absl::InvalidArgumentError("a prefetcher needs a source of batches");
  return std::unique_ptr<Prefetcher>(new Prefetcher(std::move(source), static_cast<size_t>(depth)));
}

Prefetcher::Prefetcher(Source source, size_t depth)
    : source_(std::move(source)), depth_(depth), thread_([this] { Fill(); }) {}

Prefetcher::~Prefetcher() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Prefetcher::Fill() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || ready_.size() < depth_; });
      if (stopping_) return;
    }
    absl::StatusOr<Batch> batch = CallSource(source_);
    const bool ended = !batch.ok();
    {
      std::lock_guard lock(mutex_);
      if (ended) {
        error_ = batch.status();
      } else {
        ready_.push_back(*std::move(batch));
      }
    }
    changed_.notify_all();
    if (ended) return;
  }
}

absl::StatusOr<Batch> Prefetcher::Next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || !error_.ok(); });
  if (ready_.empty()) return error_;
  Batch batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

}  // namespace sinter
