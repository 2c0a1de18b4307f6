// A world over any network that carries messages (runtime/world/world.h): how the ranks exchange, tell each other that something is
// wrong, and end. MpiWorld is one over MPI; a test is one over a network that loses and delays (tests/runtime/simulated_ranks.h).
//
//   MessageWorld world(&transport);
//   SINTER_RETURN_IF_ERROR(world.Exchange(transfers, operation));
//   world.Leave();                                           // Waits for the others to leave, or for something to go wrong.
//
// Ahead of the first message of each exchange to a rank goes a CallStamp, which says what the sender is at: a rank that is at
// something else breaks the world, and what it sent is not used.
//
// A world that is broken asks the transport to give up what is under way, and calls it no more.
#ifndef SINTER_RUNTIME_WORLD_MESSAGE_WORLD_H_
#define SINTER_RUNTIME_WORLD_MESSAGE_WORLD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/host/liveness.h"
#include "sinter/runtime/world/call_stamp.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

// A rank's access to the network, the clock, and the system. Used by one thread.
class MessageTransport {
 public:
  using Time = Liveness::Time;

  enum class Kind : uint8_t { kStamp, kData };
  struct Message {
    int peer = 0;
    void* data = nullptr;
    size_t bytes = 0;  // Not 0.
    bool is_send = false;
    Kind kind = Kind::kData;
    uint32_t tag = 0;  // As World::Operation's.
  };
  // A message whose memory may be used again, or that has failed.
  struct Done {
    size_t message = 0;  // Index into what Begin was given.
    size_t bytes = 0;    // Of it: fewer than were expected, where the sender has sent fewer.
    absl::Status status = absl::OkStatus();  // The cause alone: `MPI_ERR_TRUNCATE: message truncated`.
  };

  virtual ~MessageTransport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Liveness& liveness() = 0;

  // Begins to send and receive. Messages of one kind and tag from one rank to another arrive in the order in which they were
  // begun. The list stays where it is until all are done or given up. Unavailable: a rank cannot be reached; the message says
  // which.
  virtual absl::Status Begin(std::span<const Message> messages) = 0;
  // Appends what was done since the last call. Unavailable: the network fails as a whole.
  virtual absl::Status Poll(std::vector<Done>& done) = 0;
  // For the last time: gives up what is under way, and tells the others within `patience` what liveness() has to say. False:
  // something may still be written to memory that Begin was given.
  virtual bool GiveUp(std::chrono::milliseconds patience) = 0;

  virtual Time Now() = 0;
  // Leaves the core to others for at least so long; 0: if anybody wants it.
  virtual void Pause(std::chrono::microseconds time) = 0;

  // While the rank waits for others: by SIGTERM.
  virtual void BeginWaiting() = 0;
  virtual void EndWaiting() = 0;
  virtual bool IsToldToEnd() = 0;
  // Looks now at the processes that can be seen from here.
  virtual void LookForEnded() = 0;
};

class MessageWorld : public World {
 public:
  // `transport` outlives it.
  explicit MessageWorld(MessageTransport* transport);

  int rank() const override { return transport_.rank(); }
  int size() const override { return transport_.size(); }
  absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) override;
  absl::Status Check() override;
  void Abort(std::string_view reason) override;
  bool MayStillWrite() const override { return may_still_write_; }

  // This rank makes no more exchanges. Waits for the others to say the same, for as long as they live; the error, if there is
  // or comes one. After an error the others have had time to learn why.
  absl::Status Leave();

 private:
  void ListMessages(std::span<const Transfer> transfers, const Operation& operation);
  // Each with the cause alone, without the operation.
  absl::Status ExchangeAll();
  absl::Status Finish(const MessageTransport::Done& done);
  absl::Status FindFailure();
  absl::Status FindReasonToEnd();
  void Break(const absl::Status& cause, const Operation& operation);

  MessageTransport& transport_;
  absl::Status broken_;
  bool has_given_up_ = false;  // The transport is called no more.
  bool may_still_write_ = false;
  // Of the current exchange.
  std::vector<MessageTransport::Message> messages_;
  std::vector<bool> is_done_;  // By message.
  std::vector<MessageTransport::Done> done_;
  struct PeerStamps {
    CallStamp sent, expected, received;
    bool sends = false, receives = false;
  };
  std::vector<PeerStamps> stamps_;                       // By rank.
  std::optional<MessageTransport::Time> missing_since_;  // A message of a rank that has left.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_MESSAGE_WORLD_H_
