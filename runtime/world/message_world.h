// A World over any network that carries messages: how ranks exchange, report failures and leave.
// MpiWorld uses it over MPI; tests use it over a simulated network that loses and delays messages
// (tests/runtime/simulated_ranks.h). runtime/world/world.h describes worlds.
//
//   MessageWorld world(&transport);
//   SINTER_RETURN_IF_ERROR(world.Exchange(transfers, operation));
//   world.Leave();                                 // Waits until the others leave or a failure occurs.
//
// The first message of each exchange to a rank is a CallStamp, which names the sender's current call. If the
// receiver is at another call, the world breaks and the received data is not used.
//
// After a failed exchange the world makes the transport give up all pending messages, and sends no more. It
// also says the error on std::cerr at once: mpirun or another rank may end the process before the program
// prints the error, for instance while it frees the memory of GPUs.
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

// A rank's access to the network, the clock and the system. Used by one thread.
class MessageTransport {
 public:
  using Time = Liveness::Time;

  enum class Kind : uint8_t { kStamp, kData };
  struct Message {
    int peer = 0;
    void* data = nullptr;
    size_t bytes = 0;  // At least 1.
    bool is_send = false;
    Kind kind = Kind::kData;
    uint32_t tag = 0;  // Same meaning as World::Operation::tag.
  };
  // A completed or failed message. The caller may reuse its memory if it completed.
  struct Done {
    size_t message = 0;  // Index into the list given to Begin.
    size_t bytes = 0;    // Bytes received or sent; fewer than expected if the sender sent fewer.
    absl::Status status = absl::OkStatus();  // Only the cause: `MPI_ERR_TRUNCATE: message truncated`.
  };

  virtual ~MessageTransport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Liveness& liveness() = 0;

  // Starts the sends and receives. Messages of one kind and tag between two ranks arrive in the order in
  // which they were started. The list must stay valid until all messages are done or given up. Unavailable if
  // a rank cannot be reached; the error names the rank.
  virtual absl::Status Begin(std::span<const Message> messages) = 0;
  // Appends the messages completed since the last call. Unavailable if the network fails as a whole.
  virtual absl::Status Poll(std::vector<Done>& done) = 0;
  // The last call: cancels pending messages and tells the other ranks the state in liveness(), for at most
  // `patience`. Returns false if memory given to Begin may still be written.
  virtual bool GiveUp(std::chrono::milliseconds patience) = 0;

  virtual Time Now() = 0;
  // Yields the core for at least `time`; 0 yields only to threads that are ready to run.
  virtual void Pause(std::chrono::microseconds time) = 0;

  // Mark the time in which the rank waits for others. Within it SIGTERM only sets the flag IsToldToEnd.
  virtual void BeginWaiting() = 0;
  virtual void EndWaiting() = 0;
  virtual bool IsToldToEnd() = 0;
  // Checks now whether the visible processes (those of this machine) still exist.
  virtual void LookForEnded() = 0;
};

class MessageWorld : public World {
 public:
  // Limit of the time that a rank waits in one exchange. Generous: one rank may write files or evaluate
  // alone.
  static constexpr std::chrono::milliseconds kPatience = std::chrono::hours(1);

  // `transport` must outlive the world. An exchange that takes longer than `patience`, which is above 0,
  // fails; the error says where all ranks are.
  explicit MessageWorld(MessageTransport* transport, std::chrono::milliseconds patience = kPatience);

  int rank() const override { return transport_.rank(); }
  int size() const override { return transport_.size(); }
  absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) override;
  absl::Status Check() override;
  void Abort(std::string_view reason) override;
  bool MayStillWrite() const override { return may_still_write_; }

  // Announces that this rank makes no more exchanges, and waits until all others announce the same or one
  // fails. After `patience` it says on std::cerr where they are, and continues to wait. Returns the world's
  // error, if any. After an error it waits long enough for the others to learn the cause.
  absl::Status Leave();

 private:
  void ListMessages(std::span<const Transfer> transfers, const Operation& operation);
  // These return only the cause of an error, without the operation.
  absl::Status ExchangeAll(std::chrono::milliseconds patience);
  absl::Status Finish(const MessageTransport::Done& done);
  absl::Status FindFailure();
  absl::Status FindReasonToEnd();
  absl::Status OutOfPatience(std::chrono::milliseconds patience) const;
  void Break(const absl::Status& cause, const Operation& operation);
  // Says on std::cerr, once, why this rank cannot go on.
  void Report(std::string_view failure);

  MessageTransport& transport_;
  const std::chrono::milliseconds patience_;
  absl::Status broken_;
  bool has_given_up_ = false;  // True after MessageTransport::GiveUp: no messages follow.
  bool may_still_write_ = false;
  bool has_reported_ = false;
  // State of the current exchange.
  std::vector<MessageTransport::Message> messages_;
  std::vector<bool> is_done_;  // Indexed by message.
  std::vector<MessageTransport::Done> done_;
  struct PeerStamps {
    CallStamp sent, expected, received;
    bool sends = false, receives = false;
  };
  std::vector<PeerStamps> stamps_;                       // Indexed by rank.
  std::optional<MessageTransport::Time> missing_since_;  // When a departed rank's message was first missed.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_MESSAGE_WORLD_H_
