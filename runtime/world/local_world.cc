#include "sinter/runtime/world/local_world.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/rank_places.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/world/call_stamp.h"

namespace sinter {

struct LocalWorld::Shared {
  struct Message {
    const void* data;
    size_t bytes;
    CallStamp stamp;
    size_t* unsent;  // The sender's count of messages that no rank has received. Guarded by the lock.
  };
  // Messages from one rank to another, in order. Those before `next` are received.
  struct Lane {
    std::vector<Message> messages;
    size_t next = 0;
  };

  Shared(int count, std::chrono::milliseconds patience)
      : size(count),
        patience(patience),
        lanes(static_cast<size_t>(count) * static_cast<size_t>(count)),
        places(static_cast<size_t>(count)) {}

  Lane& LaneOf(int from, int to) { return lanes[static_cast<size_t>(from * size + to)]; }
  // Requires the lock.
  void Break(const std::string& reason) {
    if (broken.ok()) broken = absl::UnavailableError(reason);
    changed.notify_all();
  }
  // Requires the lock. Removes a call's messages that no rank has received: the caller may reuse their memory
  // after the call.
  void TakeBack(int from, const size_t* unsent) {
    for (int to = 0; to < size; ++to) {
      Lane& lane = LaneOf(from, to);
      const auto untaken = lane.messages.begin() + static_cast<std::ptrdiff_t>(lane.next);
      lane.messages.erase(std::remove_if(untaken, lane.messages.end(),
                                         [&](const Message& message) { return message.unsent == unsent; }),
                          lane.messages.end());
    }
  }

  const int size;
  const std::chrono::milliseconds patience;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Lane> lanes;
  RankPlaces places;
  absl::Status broken;
};

class LocalWorld::Rank : public World {
 public:
  Rank(Shared* shared, int rank) : shared_(*shared), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return shared_.size; }

  absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) override {
    std::unique_lock<std::mutex> lock(shared_.mutex);
    if (!shared_.broken.ok()) return shared_.broken;
    size_t unsent = 0;
    shared_.places.Set(static_cast<size_t>(rank_), operation.name, /*is_waiting=*/true);
    const absl::Status status = ExchangeAll(lock, transfers, operation, unsent);
    shared_.places.Set(static_cast<size_t>(rank_), operation.name, /*is_waiting=*/false);
    if (unsent > 0) shared_.TakeBack(rank_, &unsent);
    return status;
  }

  absl::Status Check() override {
    const std::lock_guard<std::mutex> lock(shared_.mutex);
    return shared_.broken;
  }

  void Abort(std::string_view reason) override {
    const std::lock_guard<std::mutex> lock(shared_.mutex);
    shared_.Break(absl::StrCat("rank ", rank_, " has given up: ", std::string(reason)));
  }

 private:
  // `unsent`: number of this call's messages that no rank has received.
  absl::Status ExchangeAll(std::unique_lock<std::mutex>& lock, std::span<const Transfer> transfers,
                           const Operation& operation, size_t& unsent) {
    const CallStamp stamp = CallStamp::Of(operation);
    for (const Transfer& transfer : transfers) {
      if (!transfer.is_send) continue;
      ++unsent;
      shared_.LaneOf(rank_, transfer.peer)
          .messages.push_back({transfer.data, transfer.bytes, stamp, &unsent});
    }
    shared_.changed.notify_all();
    for (const Transfer& transfer : transfers) {
      if (!transfer.is_send) SINTER_RETURN_IF_ERROR(Receive(lock, transfer, operation, stamp));
    }
    return WaitUntil(lock, [&] { return unsent == 0; }, nullptr, operation);
  }

  absl::Status Receive(std::unique_lock<std::mutex>& lock, const Transfer& transfer,
                       const Operation& operation, const CallStamp& own) {
    Shared::Lane& lane = shared_.LaneOf(transfer.peer, rank_);
    SINTER_RETURN_IF_ERROR(
        WaitUntil(lock, [&] { return lane.next < lane.messages.size(); }, &transfer, operation));
    const Shared::Message& message = lane.messages[lane.next];
    CallStamp sent = message.stamp, expected = own;
    sent.bytes = message.bytes;
    expected.bytes = transfer.bytes;
    if (const std::string difference = sent.DifferenceFrom(expected, transfer.peer, rank_);
        !difference.empty()) {
      shared_.Break(absl::StrCat(difference, " in ", std::string(operation.name)));
      return shared_.broken;
    }
    if (message.bytes > 0) std::memcpy(transfer.data, message.data, message.bytes);
    --*message.unsent;
    if (++lane.next == lane.messages.size()) {
      lane.messages.clear();
      lane.next = 0;
    }
    shared_.changed.notify_all();
    return absl::OkStatus();
  }

  // `from`: the transfer that the call waits for; null: the call waits for the receivers of its own messages.
  template <typename Condition>
  absl::Status WaitUntil(std::unique_lock<std::mutex>& lock, Condition condition, const Transfer* from,
                         const Operation& operation) {
    const auto patience =
        operation.patience.count() > 0 ? std::min(shared_.patience, operation.patience) : shared_.patience;
    shared_.changed.wait_for(lock, patience, [&] { return condition() || !shared_.broken.ok(); });
    // A completed transfer counts, even if another rank has given up since.
    if (condition()) return absl::OkStatus();
    if (!shared_.broken.ok()) return shared_.broken;
    const std::string who = from == nullptr ? "a rank that is sent to" : absl::StrCat("rank ", from->peer);
    shared_.Break(absl::StrCat(who, " does not answer in ", std::string(operation.name), " (",
                               shared_.places.Describe(), ")"));
    return shared_.broken;
  }

  Shared& shared_;
  const int rank_;
};

LocalWorld::LocalWorld(int size, std::chrono::milliseconds patience)
    : shared_(std::make_unique<Shared>(size, patience)) {
  SINTER_CHECK(size >= 1) << "a world of " << size;
  for (int rank = 0; rank < size; ++rank) ranks_.push_back(std::make_unique<Rank>(shared_.get(), rank));
}

LocalWorld::~LocalWorld() = default;

}  // namespace sinter
