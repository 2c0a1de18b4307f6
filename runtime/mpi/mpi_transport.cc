#include "sinter/runtime/mpi/mpi_transport.h"

#include <sched.h>

#include <algorithm>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/mpi/mpi_status.h"

namespace sinter {
namespace {

using Clock = std::chrono::steady_clock;

// Stamps have their own tag, so that the stamps of ranks at different calls match each other.
constexpr int kStampTag = 0;
constexpr int kFirstDataTag = 1;
constexpr uint32_t kMpiTags = 32768;  // Every MPI has these.
static_assert(kFirstDataTag + World::kTags <= kMpiTags);

// Longest wait for messages that are arriving when their exchange is given up.
constexpr std::chrono::milliseconds kCancelLimit(500);
constexpr std::chrono::microseconds kNap(200);

int TagOf(const MessageTransport::Message& message) {
  if (message.kind == MessageTransport::Kind::kStamp) return kStampTag;
  SINTER_CHECK(message.tag < World::kTags) << "tag " << message.tag;
  return kFirstDataTag + static_cast<int>(message.tag);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MpiTransport>> MpiTransport::Create(const MpiWorldOptions& options) {
  std::unique_ptr<MpiTransport> made(new MpiTransport(options.piece_bytes));
  SINTER_RETURN_IF_ERROR(made->Connect(options));
  return made;
}

absl::Status MpiTransport::Connect(const MpiWorldOptions& options) {
  for (MPI_Comm* const communicator : {&messages_comm_, &beats_comm_}) {
    SINTER_RETURN_IF_ERROR(
        MpiStatus(MPI_Comm_dup(MPI_COMM_WORLD, communicator), "make a communicator of all ranks"));
    // Make MPI return errors instead of ending the program.
    SINTER_RETURN_IF_ERROR(
        MpiStatus(MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN), "set what errors do"));
  }
  SINTER_RETURN_IF_ERROR(MpiStatus(MPI_Comm_rank(messages_comm_, &rank_), "tell the rank"));
  SINTER_RETURN_IF_ERROR(MpiStatus(MPI_Comm_size(messages_comm_, &size_), "count the ranks"));
  liveness_.emplace(rank_, size_, options.silence, Clock::now());
  heart_.emplace(beats_comm_, &mpi_, &*liveness_);
  SINTER_RETURN_IF_ERROR(heart_->Start(rank_, size_));
  // A single rank waits for no other, and has no heartbeat thread to end the program after SIGTERM.
  if (size_ > 1) termination_.emplace();
  is_connected_ = true;
  return absl::OkStatus();
}

MpiTransport::~MpiTransport() {
  heart_.reset();
  // Other ranks may still be making their communicators. They learn of the failure when this process ends.
  if (!is_connected_) return;
  for (MPI_Comm* const communicator : {&messages_comm_, &beats_comm_}) MPI_Comm_free(communicator);
}

void MpiTransport::AbortAll() { MPI_Abort(messages_comm_, 1); }

void MpiTransport::Pause(std::chrono::microseconds time) {
  if (time.count() == 0) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(time);
  }
}

absl::Status MpiTransport::Begin(std::span<const Message> messages) {
  messages_ = messages;
  requests_.clear();
  pieces_.clear();
  moved_.assign(messages.size(), 0);
  left_.assign(messages.size(), 0);
  const std::lock_guard<std::mutex> lock(mpi_);
  for (size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    for (size_t at = 0; at < message.bytes; at += piece_bytes_) {
      std::byte* const data = static_cast<std::byte*>(message.data) + at;
      const size_t bytes = std::min(piece_bytes_, message.bytes - at);
      const int count = static_cast<int>(bytes), tag = TagOf(message);
      MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
      pieces_.push_back({i, bytes});
      ++left_[i];
      const int code = message.is_send
                           ? MPI_Isend(data, count, MPI_BYTE, message.peer, tag, messages_comm_, &request)
                           : MPI_Irecv(data, count, MPI_BYTE, message.peer, tag, messages_comm_, &request);
      if (code == MPI_SUCCESS) continue;
      // The world reports this error to the other ranks too.
      return absl::UnavailableError(
          absl::StrCat("rank ", rank_, " cannot reach rank ", message.peer, " (", MpiErrorText(code), ")"));
    }
  }
  statuses_.resize(requests_.size());
  indices_.resize(requests_.size());
  return absl::OkStatus();
}

absl::Status MpiTransport::Poll(std::vector<Done>& done) {
  int count = 0;
  const std::lock_guard<std::mutex> lock(mpi_);
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(),
                                statuses_.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
    return MpiStatus(code, absl::StrCat("tell rank ", rank_, " what has arrived"));
  }
  for (int i = 0; i < count; ++i) {
    const Piece& piece = pieces_[static_cast<size_t>(indices_[static_cast<size_t>(i)])];
    MPI_Status& status = statuses_[static_cast<size_t>(i)];
    const size_t message = piece.message;
    if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS) {
      done.push_back({message, moved_[message], absl::UnavailableError(MpiErrorText(status.MPI_ERROR))});
      continue;
    }
    int bytes = static_cast<int>(piece.bytes);
    if (!messages_[message].is_send) {
      SINTER_RETURN_IF_ERROR(MpiStatus(MPI_Get_count(&status, MPI_BYTE, &bytes),
                                       absl::StrCat("count what has arrived at rank ", rank_)));
    }
    moved_[message] += static_cast<size_t>(bytes);
    if (--left_[message] == 0) done.push_back({message, moved_[message]});
  }
  return absl::OkStatus();
}

bool MpiTransport::CancelReceives() {
  const std::lock_guard<std::mutex> lock(mpi_);
  std::vector<MPI_Request> receives;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    if (messages_[pieces_[i].message].is_send) {
      // A send only reads its memory; MPI_Abort ends it.
      MPI_Request_free(&requests_[i]);
    } else {
      MPI_Cancel(&requests_[i]);
      receives.push_back(requests_[i]);
    }
  }
  requests_.clear();
  // A receive that has begun cannot be cancelled. It completes if its sender continues.
  const Clock::time_point limit = Clock::now() + kCancelLimit;
  int are_done = receives.empty() ? 1 : 0;
  while (are_done == 0) {
    if (MPI_Testall(static_cast<int>(receives.size()), receives.data(), &are_done, MPI_STATUSES_IGNORE) !=
        MPI_SUCCESS) {
      are_done = std::ranges::all_of(receives, [](MPI_Request r) { return r == MPI_REQUEST_NULL; }) ? 1 : 0;
    }
    if (are_done == 0 && Clock::now() > limit) return false;
    if (are_done == 0) std::this_thread::sleep_for(kNap);
  }
  return true;
}

bool MpiTransport::GiveUp(std::chrono::milliseconds patience) {
  heart_->Stop(patience);
  const bool has_given_up = CancelReceives();
  // After HandBack a caught SIGTERM takes effect: no thread checks for it any more.
  if (termination_.has_value()) termination_->HandBack();
  return has_given_up;
}

}  // namespace sinter
