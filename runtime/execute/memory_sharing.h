// The things that sessions which share one plan's memory have in common (Session::Share): the code, the variables and the constants,
// which nobody writes while there are several. The last of them frees it.
//
//   auto sharing = std::make_shared<Sharing>();       // By the session that takes the memory and gives the variables values.
//   SharingMember member(sharing);                    // One a session, which counts it.
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
  std::vector<std::byte*> variables;  // As Memory::variables.
  std::vector<std::byte*> constants;  // Of each device, as DevicePlaces::constants.
  // Read with acquire: what a session has read that is gone comes before what the one that is left writes.
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
