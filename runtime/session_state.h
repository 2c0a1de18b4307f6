// What a Session owns, in the order in which it must come and go.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<State> state, State::Load(std::move(plan), options));
#ifndef SINTER_RUNTIME_SESSION_STATE_H_
#define SINTER_RUNTIME_SESSION_STATE_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/caching_allocator.h"
#include "sinter/runtime/executable.h"
#include "sinter/runtime/loaded_code.h"
#include "sinter/runtime/plan.h"
#include "sinter/runtime/session.h"
#include "sinter/runtime/thread_pool.h"

namespace sinter::internal_session {

struct State {
  struct Entry {
    std::unique_ptr<FunctionState> function;
    BoundFunction bound;  // For Session::Run.
  };

  static absl::StatusOr<std::unique_ptr<State>> Load(Plan plan, const SessionOptions& options);

  // NotFound lists what there is.
  absl::StatusOr<Entry*> Find(std::string_view function);
  absl::StatusOr<size_t> FindVariable(std::string_view name) const;
  absl::Status InitializeVariables();

  Plan plan;
  std::unique_ptr<CachingAllocator> own_allocator;
  CachingAllocator* allocator = nullptr;
  std::unique_ptr<ThreadPool> pool;
  LoadedCode code;
  std::vector<VariableInfo> variables;
  std::vector<Allocation> allocations;
  Memory memory;
  std::vector<Entry> functions;
  SessionMemory report;

 private:
  explicit State(Plan plan) : plan(std::move(plan)) {}
  absl::Status UseOptions(const SessionOptions& options);
  absl::Status LoadFunctions();
  absl::Status Allocate();
  absl::StatusOr<std::byte*> Take(size_t bytes, std::string_view tag, int64_t* reported);
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_STATE_H_
