#include "sinter/runtime/world/message_world.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/waited_time.h"
#include "sinter/runtime/world/exchange_patience.h"

namespace sinter {
namespace {

using Time = MessageTransport::Time;

// For this long a rank polls without a pause; then it sleeps between polls and leaves the core to others.
constexpr std::chrono::microseconds kBusyTime(50);
constexpr std::chrono::microseconds kNap(20);
// Time for the others to learn the cause of a failure, and for messages of a departed rank to arrive.
constexpr std::chrono::milliseconds kGrace(1000);
// The same after SIGTERM, because mpirun sends SIGKILL a second later. Also the time to wait for another
// rank's reason.
constexpr std::chrono::milliseconds kShortGrace(300);
constexpr std::chrono::milliseconds kLookInterval(20);

int64_t SecondsOf(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

// While an instance lives, SIGTERM only sets a flag.
class Waiting {
 public:
  explicit Waiting(MessageTransport& transport) : transport_(transport) { transport_.BeginWaiting(); }
  ~Waiting() { transport_.EndWaiting(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  MessageTransport& transport_;
};

}  // namespace

MessageWorld::MessageWorld(MessageTransport* transport, std::chrono::milliseconds patience)
    : transport_(*transport), patience_(patience), stamps_(static_cast<size_t>(transport->size())) {}

absl::Status MessageWorld::Check() {
  if (!broken_.ok()) return broken_;
  const std::optional<std::string> failure = transport_.liveness().failure();
  if (!failure.has_value()) return absl::OkStatus();
  Report(*failure);
  return absl::UnavailableError(*failure);
}

void MessageWorld::Report(std::string_view failure) {
  if (has_reported_) return;
  has_reported_ = true;
  std::cerr << absl::StrCat("sinter: rank ", rank(), " cannot go on: ", std::string(failure), "\n");
}

void MessageWorld::Abort(std::string_view reason) {
  if (!broken_.ok()) return;
  const std::string text = absl::StrCat("rank ", rank(), " has given up (", std::string(reason), ")");
  transport_.liveness().Say(Liveness::State::kBroken, text);
  // Another rank's reason may have come first. All ranks report the first one.
  broken_ = absl::UnavailableError(transport_.liveness().failure().value_or(text));
}

// Stops all use of the transport: a pending transfer must not touch freed memory. Peers get the cause and add
// the operation in which they were waiting.
void MessageWorld::Break(const absl::Status& cause, const Operation& operation) {
  const std::string text(cause.message());
  transport_.liveness().Say(Liveness::State::kBroken, text);
  const std::string first = transport_.liveness().failure().value_or(text);
  const std::string failure = absl::StrCat(first, " in ", std::string(operation.name));
  Report(failure);  // First: the rest may take a second.
  may_still_write_ = !transport_.GiveUp(kGrace);
  has_given_up_ = true;
  broken_ = absl::UnavailableError(failure);
}

void MessageWorld::ListMessages(std::span<const Transfer> transfers, const Operation& operation) {
  messages_.clear();
  for (PeerStamps& stamps : stamps_) {
    stamps.sends = stamps.receives = false;
    stamps.sent.bytes = stamps.expected.bytes = 0;
  }
  const CallStamp stamp = CallStamp::Of(operation);
  for (const Transfer& transfer : transfers) {
    PeerStamps& peer = stamps_[static_cast<size_t>(transfer.peer)];
    bool& is_listed = transfer.is_send ? peer.sends : peer.receives;
    CallStamp& own = transfer.is_send ? peer.sent : peer.expected;
    if (!is_listed) {
      is_listed = true;
      own = stamp;
      messages_.push_back({.peer = transfer.peer,
                           .data = transfer.is_send ? &peer.sent : &peer.received,
                           .bytes = sizeof(CallStamp),
                           .is_send = transfer.is_send,
                           .kind = MessageTransport::Kind::kStamp});
    }
    own.bytes += transfer.bytes;
  }
  for (const Transfer& transfer : transfers) {
    if (transfer.bytes == 0) continue;
    messages_.push_back({.peer = transfer.peer,
                         .data = transfer.data,
                         .bytes = transfer.bytes,
                         .is_send = transfer.is_send,
                         .tag = operation.tag});
  }
  is_done_.assign(messages_.size(), false);
  missing_since_.reset();
}

absl::Status MessageWorld::Finish(const MessageTransport::Done& done) {
  const MessageTransport::Message& message = messages_[done.message];
  if (!done.status.ok()) {
    return absl::UnavailableError(absl::StrCat(message.is_send ? "sending to" : "receiving from", " rank ",
                                               message.peer, " fails (", done.status.message(), ")"));
  }
  is_done_[done.message] = true;
  if (message.is_send) return absl::OkStatus();
  if (message.kind == MessageTransport::Kind::kStamp) {
    const PeerStamps& peer = stamps_[static_cast<size_t>(message.peer)];
    const std::string difference = peer.received.DifferenceFrom(peer.expected, message.peer, rank());
    return difference.empty() ? absl::OkStatus() : absl::UnavailableError(difference);
  }
  if (done.bytes == message.bytes) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("rank ", message.peer, " sends ", done.bytes,
                                             " bytes where rank ", rank(), " expects ", message.bytes,
                                             " (all ranks must run the same functions in the same order)"));
}

absl::Status MessageWorld::FindFailure() {
  if (transport_.IsToldToEnd()) return FindReasonToEnd();
  const Liveness& liveness = transport_.liveness();
  if (const std::optional<std::string> failure = liveness.failure(); failure.has_value()) {
    return absl::UnavailableError(*failure);
  }
  for (size_t i = 0; i < messages_.size(); ++i) {
    if (is_done_[i] || !liveness.HasLeft(messages_[i].peer)) continue;
    // Messages that the rank sent before it left may still be on their way: the notice that it leaves travels
    // separately.
    if (!missing_since_.has_value()) missing_since_ = transport_.Now();
    if (transport_.Now() - *missing_since_ < kGrace) break;
    return absl::UnavailableError(absl::StrCat("rank ", messages_[i].peer, " has left, and is missing"));
  }
  return absl::OkStatus();
}

// Returns the reason for a SIGTERM: a rank that has ended, or the reason that others report in time.
absl::Status MessageWorld::FindReasonToEnd() {
  const Time start = transport_.Now();
  std::optional<std::string> failure;
  while (!failure.has_value() && transport_.Now() - start < kShortGrace) {
    transport_.LookForEnded();
    failure = transport_.liveness().failure();
    transport_.Pause(kLookInterval);
  }
  return absl::UnavailableError(
      failure.has_value() ? *failure : absl::StrCat("rank ", rank(), " is told to end (SIGTERM)"));
}

absl::Status MessageWorld::OutOfPatience(std::chrono::milliseconds patience) const {
  return absl::UnavailableError(
      absl::StrCat("rank ", transport_.rank(), " has waited for ", SecondsOf(patience), " s (",
                   transport_.liveness().DescribePlaces(), "; ", kExchangePatienceVariable, " allows more)"));
}

absl::Status MessageWorld::ExchangeAll(std::chrono::milliseconds patience) {
  const Waiting waiting(transport_);
  SINTER_RETURN_IF_ERROR(transport_.Begin(messages_));
  const Time start = transport_.Now();
  Time looked = start;
  WaitedTime waited(start);
  for (size_t left = messages_.size(); left > 0;) {
    done_.clear();
    SINTER_RETURN_IF_ERROR(transport_.Poll(done_));
    // Stamps first: a wrong stamp explains the error better than the wrong data that follows it.
    for (const auto kind : {MessageTransport::Kind::kStamp, MessageTransport::Kind::kData}) {
      for (const MessageTransport::Done& done : done_) {
        if (messages_[done.message].kind == kind) SINTER_RETURN_IF_ERROR(Finish(done));
      }
    }
    left -= done_.size();
    if (!done_.empty()) continue;
    const Time now = transport_.Now();
    if (now - looked > kLookInterval || transport_.IsToldToEnd()) {
      SINTER_RETURN_IF_ERROR(FindFailure());
      if (waited.At(now) > patience) return OutOfPatience(patience);
      looked = now;
    }
    transport_.Pause(now - start < kBusyTime ? std::chrono::microseconds(0) : kNap);
  }
  return absl::OkStatus();
}

absl::Status MessageWorld::Exchange(std::span<const Transfer> transfers, const Operation& operation) {
  if (!broken_.ok()) return broken_;
  ListMessages(transfers, operation);
  if (messages_.empty()) return absl::OkStatus();
  transport_.liveness().SayPlace(operation.name, /*is_waiting=*/true);
  const auto patience = operation.patience.count() > 0 ? std::min(patience_, operation.patience) : patience_;
  if (const absl::Status status = ExchangeAll(patience); !status.ok()) Break(status, operation);
  transport_.liveness().SayPlace(operation.name, /*is_waiting=*/false);
  return broken_;
}

absl::Status MessageWorld::Leave() {
  Liveness& liveness = transport_.liveness();
  if (broken_.ok()) liveness.Say(Liveness::State::kLeaving, "");
  // The others may still compute. The wait has no limit while they live, but a rank that hangs gets a name.
  WaitedTime waited(transport_.Now());
  bool has_said = false;
  while (broken_.ok() && !liveness.HaveAllLeft()) {
    if (!has_said && waited.At(transport_.Now()) > patience_) {
      has_said = true;
      std::cerr << absl::StrCat("sinter: rank ", rank(), " has waited for ", SecondsOf(patience_), " s (",
                                liveness.DescribePlaces(), "), and continues to wait\n");
    }
    if (const std::optional<std::string> failure = liveness.failure(); failure.has_value()) {
      broken_ = absl::UnavailableError(*failure);
    }
    transport_.Pause(kLookInterval);
  }
  if (!broken_.ok()) transport_.Pause(transport_.IsToldToEnd() ? kShortGrace : kGrace);
  if (!has_given_up_) may_still_write_ = !transport_.GiveUp(kGrace);
  has_given_up_ = true;
  return broken_;
}

}  // namespace sinter
