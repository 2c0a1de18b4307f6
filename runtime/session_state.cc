#include "sinter/runtime/session_state.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/device_memory.h"
#include "sinter/runtime/initializer.h"
#include "sinter/runtime/status.h"

namespace sinter::internal_session {
namespace {

// Where pieces of no bytes are said to be.
alignas(64) std::byte nowhere[64];

// Threads write to neighbouring pieces: two cache lines apart, because some CPUs fetch pairs.
constexpr size_t kScratchAlignment = 128;

template <typename F>
void ForEachStep(const fb::Plan& plan, F&& f) {
  if (plan.functions() == nullptr) return;
  for (const fb::Function* function : *plan.functions()) {
    if (function->steps() == nullptr) continue;
    for (const fb::Step* step : *function->steps()) f(*step);
  }
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t best = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = std::exchange(row[j], best);
    }
  }
  return row[b.size()];
}

}  // namespace

absl::StatusOr<std::unique_ptr<State>> State::Load(Plan plan, const SessionOptions& options) {
  SINTER_RETURN_IF_ERROR(plan.CheckTarget());
  std::unique_ptr<State> state(new State(std::move(plan)));
  SINTER_RETURN_IF_ERROR(state->UseOptions(options));
  if (const auto* bytes = state->plan.table().shared_object(); bytes != nullptr && bytes->size() > 0) {
    SINTER_ASSIGN_OR_RETURN(state->code,
                            LoadedCode::Load(std::as_bytes(std::span(bytes->data(), bytes->size()))));
  }
  state->variables = state->plan.Variables();
  SINTER_RETURN_IF_ERROR(state->LoadFunctions());
  SINTER_RETURN_IF_ERROR(state->Allocate());
  SINTER_RETURN_IF_ERROR(state->InitializeVariables());
  return state;
}

absl::Status State::UseOptions(const SessionOptions& options) {
  if (options.threads < 0 || options.threads > ThreadPool::kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat("a session cannot have ", options.threads,
                                                   " threads: 1 to ", ThreadPool::kMaxThreads,
                                                   ", or 0 for one on each core"));
  }
  if (options.threads > 0) {
    pool = std::make_unique<ThreadPool>(options.threads);
  } else {
    SINTER_ASSIGN_OR_RETURN(ThreadPool made, ThreadPool::Create());
    pool = std::make_unique<ThreadPool>(made);
  }
  memory.poison = options.poison;
  allocator = options.allocator;
  if (allocator != nullptr) {
    if (!options.memory_limit.has_value()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "memory_limit is for the session's own allocator: set the limit of the given allocator instead");
  }
  SINTER_ASSIGN_OR_RETURN(own_allocator, CachingAllocator::Create(std::make_unique<HostMemory>(),
                                                                  {.limit = options.memory_limit}));
  allocator = own_allocator.get();
  return absl::OkStatus();
}

absl::Status State::LoadFunctions() {
  const fb::Plan& table = plan.table();
  StepContext context = {.pool = pool.get(), .shared_object = code.handle()};
  ForEachStep(table, [&](const fb::Step& step) {
    if (const fb::KernelStep* kernel = step.body_as_KernelStep(); kernel != nullptr) {
      context.scratch_stride = std::max<size_t>(context.scratch_stride, kernel->scratch_bytes());
    }
  });
  context.scratch_stride =
      (context.scratch_stride + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  report.thread_scratch = static_cast<int64_t>(context.scratch_stride) * pool->threads();
  // oneDNN plans for the threads that it sees when a primitive is made.
  pool->BindCallingThread();
  for (size_t i = 0; table.functions() != nullptr && i < table.functions()->size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(std::unique_ptr<FunctionState> function,
                            FunctionState::Load(table, *table.functions()->Get(i), context));
    BoundFunction bound(function.get());
    functions.push_back({std::move(function), std::move(bound)});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::byte*> State::Take(size_t bytes, std::string_view tag, int64_t* reported) {
  *reported += static_cast<int64_t>(bytes);
  if (bytes == 0) return nowhere;
  report.predicted += (static_cast<int64_t>(bytes) + CachingAllocator::kUnit - 1) / CachingAllocator::kUnit *
                      CachingAllocator::kUnit;
  SINTER_ASSIGN_OR_RETURN(Allocation allocation, allocator->Allocate(static_cast<int64_t>(bytes), tag));
  allocations.push_back(std::move(allocation));
  return static_cast<std::byte*>(allocations.back().ptr());
}

absl::Status State::Allocate() {
  const int64_t used_before = allocator->UsedBytes();
  for (const VariableInfo& variable : variables) {
    const size_t bytes = static_cast<size_t>(variable.bytes);
    SINTER_ASSIGN_OR_RETURN(std::byte * data, Take(bytes, "variable " + variable.name, &report.variables));
    memory.variables.push_back(data);
    memory.variable_bytes.push_back(bytes);
  }
  size_t staging = 0, library = 0;
  for (const Entry& entry : functions) {
    const FunctionState& function = *entry.function;
    memory.arena_bytes = std::max(memory.arena_bytes, static_cast<size_t>(function.info().arena_bytes));
    staging = std::max(staging, function.StagingBytes());
    library = std::max(library, function.LibraryWorkspaceBytes());
  }
  const size_t scratch = static_cast<size_t>(std::exchange(report.thread_scratch, 0));
  SINTER_ASSIGN_OR_RETURN(memory.arena, Take(memory.arena_bytes, "arena", &report.arena));
  SINTER_ASSIGN_OR_RETURN(memory.staging, Take(staging, "input staging", &report.input_staging));
  SINTER_ASSIGN_OR_RETURN(memory.thread_scratch, Take(scratch, "thread scratch", &report.thread_scratch));
  SINTER_ASSIGN_OR_RETURN(memory.library_workspace,
                          Take(library, "library workspace", &report.library_workspace));
  memory.constants = nowhere;
  if (const auto* constants = plan.table().constants(); constants != nullptr && constants->size() > 0) {
    memory.constants = reinterpret_cast<const std::byte*>(constants->data());
    report.constants = constants->size();
  }
  for (const Entry& entry : functions) {
    SINTER_ASSIGN_OR_RETURN(std::byte * copies,
                            Take(entry.function->OutputCopyBytes(), "output copies", &report.output_copies));
    entry.function->Place(&memory, copies);
  }
  report.used = allocator->UsedBytes() - used_before;
  return absl::OkStatus();
}

absl::Status State::InitializeVariables() {
  for (size_t i = 0; i < variables.size(); ++i) {
    const fb::Initializer& init = *plan.table().variables()->Get(i)->initializer();
    const InitialValues values = {.kind = static_cast<InitialValues::Kind>(init.kind()),
                                  .a = init.a(),
                                  .b = init.b(),
                                  .seed = init.seed()};
    absl::Status status =
        FillInitialValues(values, variables[i].dtype, variables[i].shape, memory.variables[i], *pool);
    if (status.ok()) continue;
    return absl::Status(status.code(),
                        absl::StrCat("variable \"", variables[i].name, "\": ", status.message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<State::Entry*> State::Find(std::string_view name) {
  for (Entry& entry : functions) {
    if (entry.function->info().name == name) return &entry;
  }
  return plan.Function(name).status();
}

absl::StatusOr<size_t> State::FindVariable(std::string_view name) const {
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name == name) return i;
  }
  std::vector<std::pair<size_t, std::string>> near;
  for (const VariableInfo& variable : variables)
    near.emplace_back(EditDistance(name, variable.name), variable.name);
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  near.resize(std::min<size_t>(near.size(), 3));
  const auto append = [](std::string* out, const auto& candidate) {
    absl::StrAppend(out, "\"", candidate.second, "\"");
  };
  return absl::NotFoundError(absl::StrCat(
      "there is no variable \"", std::string(name), "\"; ",
      near.empty() ? "the plan has none" : "the nearest names are " + absl::StrJoin(near, ", ", append)));
}

}  // namespace sinter::internal_session
