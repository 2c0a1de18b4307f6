// State that the sessions of one plan share (Session::Share): code, variables and constants.
// No session writes the variables while there are several. The last session frees the state.
//
//   auto sharing = std::make_shared<Sharing>();       // By the session that allocates and initializes it.
//   SharingMember member(sharing);                    // One per session; counts the session.
#ifndef SINTER_RUNTIME_EXECUTE_MEMORY_SHARING_H_
#define SINTER_RUNTIME_EXECUTE_MEMORY_SHARING_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "sinter/runtime/host/loaded_code.h"
#include "sinter/runtime/memory/caching_allocator.h"

namespace sinter::internal_session {

struct Sharing {
  LoadedCode code;
  std::vector<Allocation> allocations;
  std::vector<std::byte*> variables;  // Same layout as SessionBuffers::variables.
  std::vector<std::byte*> constants;  // DeviceBuffers::constants of each device.
  // Number of sessions. Read with acquire: reads by a destroyed session happen before writes by the remaining
  // one.
  std::atomic<int> sessions = 0;
};

class SharingMember {
 public:
  explicit SharingMember(std::shared_ptr<Sharing> sharing) : sharing_(std::move(sharing)) {
    sharing_->sessions.fetch_add(1, std::memory_order_relaxed);
  }
  ~SharingMember() { sharing_->sessions.fetch_sub(1, std::memory_order_release); }
  SharingMember(const SharingMember&) = delete;
  SharingMember& operator=(const SharingMember&) = delete;

  Sharing& operator*() const { return *sharing_; }
  Sharing* operator->() const { return sharing_.get(); }
  const std::shared_ptr<Sharing>& get() const { return sharing_; }

 private:
  std::shared_ptr<Sharing> sharing_;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_MEMORY_SHARING_H_
