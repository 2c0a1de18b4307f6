#include "sinter/tests/runtime/simulated_ranks.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

using Duration = SimulatedRanks::Duration;
using Message = MessageTransport::Message;

constexpr Duration kBeatInterval = std::chrono::milliseconds(100);
constexpr std::chrono::milliseconds kSilence(4000);
// The first two are the values of runtime/mpi/mpi_transport.cc and termination.cc.
constexpr Duration kCancelLimit = std::chrono::milliseconds(500);
constexpr Duration kTerminationGrace = std::chrono::milliseconds(500);
constexpr Duration kMostOversleep = std::chrono::milliseconds(4);
constexpr size_t kEagerBytes = 1024;

SimulatedRanks::Time TimeOf(Duration now) { return SimulatedRanks::Time(now); }

}  // namespace

// One rank: its state, and its messages until send and receive meet and the bytes are moved.
struct SimulatedRanks::Rank {
  // A message on its way, or arrived without a matching receive. Both sides share it.
  struct Sent {
    int from;
    size_t index;                 // Index in the sender's list.
    std::vector<std::byte> copy;  // The bytes of a small message, else empty.
    const void* data;             // The sender's memory, for a large message.
    size_t bytes;
    uint64_t exchange;  // The sender's exchange; if it was given up, `data` is not read.
  };
  struct Wanted {
    size_t index;
    void* data;
    size_t bytes;
    bool is_moving = false;
  };
  // Sender, kind and tag. Messages of a channel are matched in order.
  using Channel = std::tuple<int, MessageTransport::Kind, uint32_t>;

  Rank(SimulatedRanks* simulation, int number);

  int number;
  int fiber = 0;
  bool has_ended = false, is_dead = false, is_asleep = false, has_beats = true;
  bool is_unwound = false;  // The simulation is over: all calls fail immediately.
  bool ends_in_time = false;
  Duration stopped_until = {};
  uint64_t sleep = 0;  // Number of the sleep: the end of an earlier sleep does not wake it.
  bool is_waiting = false, is_told_to_end = false, network_fails = false;
  Liveness liveness;
  std::map<Channel, std::deque<Sent>> arrived;
  std::map<Channel, std::deque<Wanted>> wanted;
  std::map<Channel, Duration> last_arrival;  // Latest arrival per channel: keeps messages in order.
  std::vector<MessageTransport::Done> done;
  uint64_t exchange = 0;
  std::vector<uint64_t> told;  // By rank: number of the newest statement that reached it.
  std::unique_ptr<Transport> transport;
  std::unique_ptr<MessageWorld> world;
};

class SimulatedRanks::Transport : public MessageTransport {
 public:
  Transport(SimulatedRanks* simulation, Rank* rank) : s_(*simulation), rank_(*rank) {}

  int rank() const override { return rank_.number; }
  int size() const override { return s_.options_.ranks; }
  Liveness& liveness() override { return rank_.liveness; }

  absl::Status Begin(std::span<const Message> messages) override {
    if (rank_.is_unwound) return absl::UnavailableError("over");
    if (std::exchange(rank_.network_fails, false)) return absl::UnavailableError("the network fails");
    ++rank_.exchange;
    rank_.done.clear();
    for (size_t i = 0; i < messages.size(); ++i) {
      const Message& message = messages[i];
      if (message.is_send) {
        Send(i, message);
      } else {
        const Rank::Channel channel = {message.peer, message.kind, message.tag};
        rank_.wanted[channel].push_back({i, message.data, message.bytes});
        Match(rank_, channel);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Poll(std::vector<Done>& done) override {
    if (rank_.is_unwound) return absl::UnavailableError("over");
    if (std::exchange(rank_.network_fails, false)) return absl::UnavailableError("the network fails");
    done.insert(done.end(), rank_.done.begin(), rank_.done.end());
    rank_.done.clear();
    return absl::OkStatus();
  }

  bool GiveUp(std::chrono::milliseconds patience) override {
    if (rank_.is_unwound) return true;
    const Duration limit = s_.now_ + patience;
    while (!IsAllTold() && s_.now_ < limit && !rank_.is_unwound)
      s_.Sleep(rank_, std::chrono::milliseconds(20));
    rank_.has_beats = false;
    // Cancels receives that no message matches yet, and waits for those in progress.
    ++rank_.exchange;
    for (auto& [channel, wanted] : rank_.wanted) {
      std::erase_if(wanted, [](const Rank::Wanted& one) { return !one.is_moving; });
    }
    const Duration cancel_limit = s_.now_ + kCancelLimit;
    while (HasMoving() && s_.now_ < cancel_limit && !rank_.is_unwound) {
      s_.Sleep(rank_, std::chrono::milliseconds(1));
    }
    return rank_.is_unwound || !HasMoving();
  }

  Time Now() override { return TimeOf(s_.now_); }
  void Pause(std::chrono::microseconds time) override {
    // A sleep may last longer than requested.
    s_.Sleep(
        rank_,
        time + Duration(1 + static_cast<int64_t>(s_.Random(static_cast<uint64_t>(kMostOversleep.count())))));
  }

  void BeginWaiting() override { rank_.is_waiting = true; }
  void EndWaiting() override { rank_.is_waiting = false; }
  bool IsToldToEnd() override { return rank_.is_told_to_end; }
  void LookForEnded() override {
    for (const std::unique_ptr<Rank>& other : s_.ranks_) {
      const bool is_here = other->number % s_.options_.machines == rank_.number % s_.options_.machines;
      if (other->is_dead && is_here) rank_.liveness.HasEnded(other->number);
    }
  }

  bool HasOutstanding() const {
    return std::ranges::any_of(rank_.wanted, [](const auto& channel) { return !channel.second.empty(); });
  }

 private:
  bool HasMoving() const {
    for (const auto& [channel, wanted] : rank_.wanted) {
      if (std::ranges::any_of(wanted, &Rank::Wanted::is_moving)) return true;
    }
    return false;
  }

  bool IsAllTold() const {
    for (const std::unique_ptr<Rank>& other : s_.ranks_) {
      if (other.get() != &rank_ &&
          rank_.told[static_cast<size_t>(other->number)] != rank_.liveness.said().number)
        return false;
    }
    return true;
  }

  void Send(size_t index, const Message& message) {
    Rank& to = *s_.ranks_[static_cast<size_t>(message.peer)];
    Rank::Sent sent = {rank_.number, index, {}, message.data, message.bytes, rank_.exchange};
    if (message.bytes <= kEagerBytes) {
      const auto* const bytes = static_cast<const std::byte*>(message.data);
      sent.copy.assign(bytes, bytes + message.bytes);
      rank_.done.push_back({index, message.bytes});
    }
    if (s_.IsCut(rank_.number, to.number)) return;
    const Rank::Channel channel = {rank_.number, message.kind, message.tag};
    Duration& last = to.last_arrival[channel];
    last = std::max(last, s_.now_ + s_.Delay());
    s_.At(last, [this, &to, channel, sent] {
      if (s_.IsCut(rank_.number, to.number)) return;
      to.arrived[channel].push_back(sent);
      Match(to, channel);
    });
  }

  // Schedules the transfer of messages that have arrived and are wanted. The transfer takes some time.
  void Match(Rank& to, const Rank::Channel& channel) {
    std::deque<Rank::Sent>& arrived = to.arrived[channel];
    for (Rank::Wanted& wanted : to.wanted[channel]) {
      if (wanted.is_moving) continue;
      if (arrived.empty()) return;
      wanted.is_moving = true;
      s_.At(s_.now_ + Duration(1 + static_cast<int64_t>(s_.Random(300))),
            [this, &to, channel, index = wanted.index, sent = arrived.front()] {
              Move(to, channel, index, sent);
            });
      arrived.pop_front();
    }
  }

  // `index`: the receive that the message was matched with. Other messages of the channel may be moved first.
  void Move(Rank& to, const Rank::Channel& channel, size_t index, const Rank::Sent& sent) {
    Rank& from = *s_.ranks_[static_cast<size_t>(sent.from)];
    const bool is_readable = !sent.copy.empty() || (from.exchange == sent.exchange && !from.is_dead);
    // If the sender is gone, the rest of a large message never comes.
    if (!is_readable || to.is_dead) return;
    std::deque<Rank::Wanted>& wanted = to.wanted[channel];
    const auto found = std::ranges::find(wanted, index, &Rank::Wanted::index);
    const Rank::Wanted first = *found;
    wanted.erase(found);
    const size_t bytes = std::min(first.bytes, sent.bytes);
    if (bytes > 0) std::memcpy(first.data, sent.copy.empty() ? sent.data : sent.copy.data(), bytes);
    const absl::Status status =
        sent.bytes > first.bytes ? absl::UnavailableError("message truncated") : absl::OkStatus();
    to.done.push_back({first.index, bytes, status});
    if (sent.copy.empty()) from.done.push_back({sent.index, sent.bytes});
    for (Rank* const rank : {&to, &from}) s_.Resume(*rank);
  }

  SimulatedRanks& s_;
  Rank& rank_;
};

// Checks that no exchange returns while its messages may still be written.
class SimulatedRanks::CheckedWorld : public World {
 public:
  CheckedWorld(SimulatedRanks* simulation, Rank* rank) : s_(*simulation), rank_(*rank) {}

  int rank() const override { return rank_.number; }
  int size() const override { return s_.options_.ranks; }
  absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) override {
    const absl::Status status = rank_.world->Exchange(transfers, operation);
    if (!rank_.is_unwound && rank_.transport->HasOutstanding() && !rank_.world->MayStillWrite()) {
      ++s_.early_returns_;
    }
    return status;
  }
  absl::Status Check() override { return rank_.world->Check(); }
  void Abort(std::string_view reason) override { rank_.world->Abort(reason); }
  bool MayStillWrite() const override { return rank_.world->MayStillWrite(); }

 private:
  SimulatedRanks& s_;
  Rank& rank_;
};

SimulatedRanks::Rank::Rank(SimulatedRanks* simulation, int number)
    : number(number),
      liveness(number, simulation->options_.ranks, kSilence, TimeOf({})),
      told(static_cast<size_t>(simulation->options_.ranks)),
      transport(std::make_unique<Transport>(simulation, this)),
      world(std::make_unique<MessageWorld>(transport.get(), simulation->options_.patience)) {}

SimulatedRanks* SimulatedRanks::current_ = nullptr;

SimulatedRanks::SimulatedRanks(uint64_t seed, const SimulationOptions& options)
    : options_(options), random_(seed), fibers_(options.ranks, FiberMain) {
  for (int rank = 0; rank < options.ranks; ++rank) ranks_.push_back(std::make_unique<Rank>(this, rank));
}

SimulatedRanks::~SimulatedRanks() = default;

bool SimulatedRanks::has_ended(int rank) const { return ranks_[static_cast<size_t>(rank)]->ends_in_time; }
bool SimulatedRanks::has_died(int rank) const { return ranks_[static_cast<size_t>(rank)]->is_dead; }

// Returns a delay: usually short, sometimes long.
Duration SimulatedRanks::Delay() {
  const uint64_t most = Random(20) == 0 ? 200'000 : 500;
  return Duration(1 + static_cast<int64_t>(Random(most)));
}

bool SimulatedRanks::IsCut(int a, int b) const {
  const int next = (options_.victim + 1) % options_.ranks;
  return is_cut_ && (std::pair(a, b) == std::pair(options_.victim, next) ||
                     std::pair(b, a) == std::pair(options_.victim, next));
}

void SimulatedRanks::FiberMain() {
  while (true) {
    SimulatedRanks& simulation = *current_;
    simulation.RunRank(*simulation.running_);
  }
}

void SimulatedRanks::RunRank(Rank& rank) {
  CheckedWorld world(this, &rank);
  (*program_)(world);
  rank.world->Leave().IgnoreError();
  rank.has_ended = true;
  fibers_.Switch(rank.fiber, codegen::SimtFibers::kCaller);
}

void SimulatedRanks::Compute(World& world, Duration time) {
  Rank& rank = *ranks_[static_cast<size_t>(world.rank())];
  const Duration end = now_ + time;
  while (now_ < end && !rank.is_unwound) Sleep(rank, end - now_);
}

void SimulatedRanks::Sleep(Rank& rank, Duration time) {
  if (rank.is_unwound) return;
  rank.is_asleep = true;
  const uint64_t number = ++rank.sleep;
  At(now_ + time, [this, &rank, number] {
    if (rank.sleep == number) Resume(rank);
  });
  fibers_.Switch(rank.fiber, codegen::SimtFibers::kCaller);
}

void SimulatedRanks::Resume(Rank& rank) {
  if (!rank.is_asleep || rank.is_dead || rank.has_ended) return;
  if (now_ < rank.stopped_until) {
    const uint64_t number = rank.sleep;
    At(rank.stopped_until, [this, &rank, number] {
      if (rank.sleep == number) Resume(rank);
    });
    return;
  }
  rank.is_asleep = false;
  ++rank.sleep;
  running_ = &rank;
  fibers_.Switch(codegen::SimtFibers::kCaller, rank.fiber);
}

void SimulatedRanks::Beat(int number) {
  Rank& rank = *ranks_[static_cast<size_t>(number)];
  if (rank.is_dead || !rank.has_beats) return;
  At(now_ + kBeatInterval, [this, number] { Beat(number); });
  if (now_ < rank.stopped_until) return;
  rank.transport->LookForEnded();
  rank.liveness.Tick(TimeOf(now_));
  const Liveness::Said said = rank.liveness.said();
  for (const std::unique_ptr<Rank>& to : ranks_) {
    if (to.get() == &rank || IsCut(number, to->number)) continue;
    At(now_ + Delay(), [this, &rank, &to = *to, said] { Hear(to, rank, said); });
  }
}

void SimulatedRanks::Hear(Rank& to, Rank& from, const Liveness::Said& said) {
  if (to.is_dead) return;
  // A stopped process reads its messages when it continues.
  if (now_ < to.stopped_until)
    return At(to.stopped_until, [this, &to, &from, said] { Hear(to, from, said); });
  to.liveness.Hear(from.number, said.beat, TimeOf(now_));
  uint64_t& told = from.told[static_cast<size_t>(to.number)];
  told = std::max(told, said.number);
}

void SimulatedRanks::Unwind(Rank& rank) {
  rank.is_unwound = true;
  rank.liveness.Say(Liveness::State::kBroken, "over");
  running_ = &rank;
  while (!rank.has_ended) fibers_.Switch(codegen::SimtFibers::kCaller, rank.fiber);
}

void SimulatedRanks::Inject() {
  Rank& victim = *ranks_[static_cast<size_t>(options_.victim)];
  switch (options_.fault) {
    case SimulatedFault::kNone:
      return;
    case SimulatedFault::kDeath:
      victim.is_dead = !victim.has_ended;
      return;
    case SimulatedFault::kStop:
      victim.stopped_until =
          now_ + std::chrono::seconds(3) + Duration(static_cast<int64_t>(Random(5'000'000)));
      return;
    case SimulatedFault::kUnplugged:
      is_cut_ = true;
      return;
    case SimulatedFault::kTermination:
      victim.is_told_to_end = true;
      // As in TerminationWatch::EndUnlessWaiting.
      At(now_ + kTerminationGrace, [&victim] { victim.is_dead = !victim.has_ended && !victim.is_waiting; });
      return;
    case SimulatedFault::kNetwork:
      victim.network_fails = true;
      return;
    case SimulatedFault::kSlow:
      if (victim.is_asleep) victim.stopped_until = now_ + Duration(static_cast<int64_t>(Random(900'000)));
      return;
  }
}

void SimulatedRanks::Run(const std::function<void(World&)>& program, Duration limit) {
  SINTER_CHECK(current_ == nullptr) << "one simulation at a time";
  current_ = this;
  program_ = &program;
  for (const std::unique_ptr<Rank>& rank : ranks_) {
    rank->fiber = fibers_.Take();
    rank->is_asleep = true;
    At(Duration(static_cast<int64_t>(Random(1000))), [this, &rank = *rank] { Resume(rank); });
    At(Duration(static_cast<int64_t>(Random(100'000))), [this, number = rank->number] { Beat(number); });
  }
  At(options_.at, [this] { Inject(); });
  const auto are_done = [&] {
    return std::ranges::all_of(ranks_, [](const auto& rank) { return rank->has_ended || rank->is_dead; });
  };
  while (!events_.empty() && now_ < limit && !are_done()) {
    auto first = events_.extract(events_.begin());
    now_ = std::max(now_, first.key().first);
    first.mapped()();
  }
  for (const std::unique_ptr<Rank>& rank : ranks_) rank->ends_in_time = rank->has_ended;
  for (const std::unique_ptr<Rank>& rank : ranks_) {
    if (!rank->has_ended) Unwind(*rank);
  }
  current_ = nullptr;
}

}  // namespace sinter
