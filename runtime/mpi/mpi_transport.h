// A rank's access to MPI for MessageWorld: messages on one communicator, beats on another.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<MpiTransport> transport, MpiTransport::Create(options));
//   MessageWorld world(transport.get());
//
// Requires an initialized MPI. All ranks make one transport. One mutex guards every MPI call, since the beats
// have their own thread.
#ifndef SINTER_RUNTIME_MPI_MPI_TRANSPORT_H_
#define SINTER_RUNTIME_MPI_MPI_TRANSPORT_H_

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/host/liveness.h"
#include "sinter/runtime/mpi/heartbeat.h"
#include "sinter/runtime/mpi/mpi_world.h"
#include "sinter/runtime/mpi/termination.h"
#include "sinter/runtime/world/message_world.h"

namespace sinter {

class MpiTransport : public MessageTransport {
 public:
  // Unavailable if MPI fails. The other ranks then wait for this one until its process ends.
  static absl::StatusOr<std::unique_ptr<MpiTransport>> Create(const MpiWorldOptions& options);
  // Frees the communicators if Create succeeded.
  ~MpiTransport() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Liveness& liveness() override { return *liveness_; }

  absl::Status Begin(std::span<const Message> messages) override;
  absl::Status Poll(std::vector<Done>& done) override;
  bool GiveUp(std::chrono::milliseconds patience) override;

  Time Now() override { return Liveness::Time::clock::now(); }
  void Pause(std::chrono::microseconds time) override;

  void BeginWaiting() override { waiting_.emplace(); }
  void EndWaiting() override { waiting_.reset(); }
  bool IsToldToEnd() override { return TerminationWatch::IsRequested(); }
  void LookForEnded() override { heart_->LookForEnded(); }

  // Restores the SIGTERM handling from before the transport was made.
  void StopWatchingTermination() { termination_.reset(); }
  // Ends all processes of the job.
  void AbortAll();

 private:
  // A part of a message: MPI counts bytes in int.
  struct Piece {
    size_t message;
    size_t bytes;
  };

  explicit MpiTransport(size_t piece_bytes) : piece_bytes_(piece_bytes) {}
  absl::Status Connect(const MpiWorldOptions& options);
  bool CancelReceives();

  const size_t piece_bytes_;
  bool is_connected_ = false;
  int rank_ = 0, size_ = 1;
  MPI_Comm messages_comm_ = MPI_COMM_NULL, beats_comm_ = MPI_COMM_NULL;
  std::mutex mpi_;
  std::optional<TerminationWatch> termination_;
  std::optional<TerminationWatch::Waiting> waiting_;
  std::optional<Liveness> liveness_;
  std::optional<Heartbeat> heart_;
  // State of the current message list: requests and their pieces; per message, the bytes moved and the number
  // of pieces left.
  std::span<const Message> messages_;
  std::vector<MPI_Request> requests_;
  std::vector<Piece> pieces_;
  std::vector<size_t> moved_, left_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> indices_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_MPI_TRANSPORT_H_
