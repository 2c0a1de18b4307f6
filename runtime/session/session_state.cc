#include "sinter/runtime/session/session_state.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/plan/plan_code.h"
#include "sinter/runtime/world/world_agreement.h"

namespace sinter::internal_session {
namespace {

// Returns x86-64-v4 if the plan's target has all its features, so that library kernels use the same
// instructions as generated code.
kernels::Isa IsaOf(const fb::Plan& plan) {
#if defined(__x86_64__)
  const fb::Target* const target = plan.target();
  if (target == nullptr || target->features() == nullptr) return kernels::Isa::kV3;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(*target->features(),
                               [&](const auto* feature) { return feature->string_view() == name; });
  };
  constexpr std::string_view kOfV4[] = {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"};
  return std::ranges::all_of(kOfV4, has) ? kernels::Isa::kV4 : kernels::Isa::kV3;
#else
  return kernels::Isa::kBaseline;
#endif
}

absl::Status CheckHash(const Plan& plan, const std::string& expected) {
  if (expected.empty()) return absl::OkStatus();
  const bool is_hash = expected.size() == plan.hash().size() &&
                       expected.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hash) {
    return absl::InvalidArgumentError(
        absl::StrCat("SessionOptions::expected_hash is \"", PrintableText(expected),
                     "\", and a hash is 64 hexadecimal digits in lower case, as Plan::hash() gives them"));
  }
  if (plan.hash() == expected) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the plan is another one than expected, and nothing of it was loaded: its hash is ",
                   plan.hash(), ", and SessionOptions::expected_hash is ", expected));
}

}  // namespace

SessionState::SessionState(Plan plan, const DeviceRuntimeFactory& make, std::shared_ptr<Sharing> shared)
    : plan_(std::move(plan)),
      program_(plan_.table()),
      make_(make),
      sharing_(shared == nullptr ? std::make_shared<Sharing>() : shared),
      owns_variables_(shared == nullptr) {
  buffers_.sharing = sharing_.get().get();
}

absl::StatusOr<std::unique_ptr<SessionState>> SessionState::Load(Plan plan, const SessionOptions& options,
                                                                 const DeviceRuntimeFactory& make,
                                                                 std::shared_ptr<Sharing> sharing) {
  std::unique_ptr<SessionState> state(new SessionState(std::move(plan), make, std::move(sharing)));
  if (options.world != nullptr) state->buffers_.session = options.world->CountSession();
  const LoadTimes::Scope time = state->load_times_.Time("other");
  SINTER_ASSIGN_OR_RETURN(state->on_host_, AgreeOnPlan(options.world, state->plan_));
  // Share each status: a failed rank must not leave the others waiting, neither for GPU connections nor in
  // the first run.
  SINTER_RETURN_IF_ERROR(AgreeOnStatus(options.world, state->LoadDevices(options)));
  SINTER_RETURN_IF_ERROR(AgreeOnStatus(options.world, state->LoadProgram()));
  return state;
}

absl::Status SessionState::UseOptions(const SessionOptions& options) {
  SINTER_ASSIGN_OR_RETURN(buffers_.patience, ExchangePatience::Of(options.exchange_patience));
  if (options.threads < 0 || options.threads > ThreadPool::kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat("a session cannot have ", options.threads,
                                                   " threads: 1 to ", ThreadPool::kMaxThreads,
                                                   ", or 0 for one on each core"));
  }
  if (options.threads > 0) {
    pool_ = std::make_unique<ThreadPool>(options.threads);
  } else {
    SINTER_ASSIGN_OR_RETURN(ThreadPool made, ThreadPool::Create());
    pool_ = std::make_unique<ThreadPool>(made);
  }
  SINTER_RETURN_IF_ERROR(pool_->CheckAfterFork());
  buffers_.poison = options.poison;
  buffers_.load_times = &load_times_;
  tuning_ = SessionTuning(options.tuning, plan_.path());
  SINTER_ASSIGN_OR_RETURN(program_, RankProgram::Of(plan_.table(), options.world));
  SINTER_ASSIGN_OR_RETURN(buffers_.local,
                          LocalDevices::Of(program_.table(), options.world, on_host_, NumGpus()));
  if (!buffers_.local.is_alone) buffers_.world = options.world;
  return absl::OkStatus();
}

absl::Status SessionState::LoadDevices(const SessionOptions& options) {
  SINTER_RETURN_IF_ERROR(CheckHash(plan_, options.expected_hash));
  SINTER_ASSIGN_OR_RETURN(const PlanCode chosen, CodeForThisCpu(plan_.table()));
  SINTER_RETURN_IF_ERROR(UseOptions(options));
  if (owns_variables_ && !chosen.shared_object.empty()) {
    const LoadTimes::Scope time = load_times_.Time("generated code of CPUs");
    SINTER_ASSIGN_OR_RETURN(sharing_->code, LoadedCode::Load(chosen.shared_object));
  }
  variables_ = std::make_unique<SessionVariables>(program_, &buffers_, *pool_);
  if (owns_variables_) variables_->StartInitialValues();
  devices_ = std::make_unique<SessionDevices>(program_, &buffers_);
  return devices_->Open(make_, options,
                        {.pool = pool_.get(),
                         .shared_object = sharing_->code.handle(),
                         .isa = IsaOf(plan_.table()),
                         .uses_onednn = options.cpu_matmuls == CpuMatmuls::kOneDnn,
                         .world = buffers_.world,
                         .local = buffers_.local,
                         .exchange_patience = buffers_.patience,
                         .tuning = &tuning_,
                         .load_times = &load_times_,
                         .plan = &program_.table()});
}

absl::Status SessionState::LoadProgram() {
  devices_->Prepare();
  if (owns_variables_) {
    // Finish this before the next phase, which may measure matmuls.
    const LoadTimes::Scope time = load_times_.Time("compute initial values");
    variables_->WaitForInitialValues();
  }
  SINTER_RETURN_IF_ERROR(devices_->Connect());
  SINTER_RETURN_IF_ERROR(LoadFunctions());
  tuning_.Finish();
  SINTER_RETURN_IF_ERROR(AllocateMemory());
  for (const Entry& entry : functions_) entry.function->ResolvePointers();
  if (!owns_variables_) return absl::OkStatus();
  const LoadTimes::Scope time = load_times_.Time("initial values");
  return variables_->Initialize();
}

absl::Status SessionState::LoadFunctions() {
  const fb::Plan& table = program_.table();
  for (size_t i = 0; table.functions() != nullptr && i < table.functions()->size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(std::unique_ptr<LoadedFunction> function,
                            LoadedFunction::Load(table, *table.functions()->Get(i), &buffers_, *pool_));
    if (const std::optional<BucketName> name = ParseBucketName(function->info().name)) {
      buckets_.try_emplace(name->group);
    }
    BoundFunction bound(function.get());
    functions_.push_back({std::move(function), std::move(bound)});
  }
  return absl::OkStatus();
}

absl::Status SessionState::AllocateMemory() {
  std::vector<LoadedFunction*> functions;
  for (const Entry& entry : functions_) functions.push_back(entry.function.get());
  SINTER_RETURN_IF_ERROR(devices_->Allocate(functions, *sharing_, owns_variables_));
  return devices_->PlaceConstants(*sharing_, owns_variables_);
}

SessionState::~SessionState() {
  if (devices_ == nullptr) return;
  devices_->Synchronize().IgnoreError();
  const bool may_be_written =
      (buffers_.world != nullptr && buffers_.world->MayStillWrite()) || devices_->MayStillWork();
  if (!may_be_written) return;
  devices_->Abandon();
  KeepForever(sharing_.get());
}

absl::StatusOr<Session> SessionState::MakeSession(Plan plan, const SessionOptions& options,
                                                  const DeviceRuntimeFactory& make) {
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<SessionState> state, Load(std::move(plan), options, make));
  return Session(std::move(state));
}

absl::StatusOr<SessionState::Entry*> SessionState::Find(std::string_view name) {
  for (Entry& entry : functions_) {
    if (entry.function->info().name == name) return &entry;
  }
  return plan_.Function(name).status();
}

absl::StatusOr<BucketRunner*> SessionState::FindBuckets(std::string_view name) {
  const auto found = buckets_.find(name);
  if (found == buckets_.end()) return nullptr;
  if (found->second == nullptr) {
    std::vector<LoadedFunction*> functions;
    for (const Entry& entry : functions_) functions.push_back(entry.function.get());
    SINTER_ASSIGN_OR_RETURN(found->second, BucketRunner::Create(found->first, functions));
  }
  return found->second.get();
}

absl::Status SessionState::Run(Entry& entry, std::span<const Argument> arguments, Profile* profile) {
  BoundFunction& bound = entry.bound;
  std::fill(bound.inputs_.begin(), bound.inputs_.end(), InputValue());
  std::vector<std::string> problems;
  for (const Argument& argument : arguments) {
    const int index = entry.function->FindInput(argument.name());
    if (index >= 0 && bound.inputs_[static_cast<size_t>(index)].is_set) {
      problems.push_back(absl::StrCat("input \"", std::string(argument.name()), "\" is given twice"));
    } else if (absl::Status status = bound.Set(argument); !status.ok()) {
      problems.emplace_back(status.message());
      // The name was given, so do not report it as missing too.
      if (index >= 0) bound.inputs_[static_cast<size_t>(index)].is_set = true;
    }
  }
  if (problems.empty()) return entry.function->Run(bound.inputs_, profile);
  for (size_t i = 0; i < bound.inputs_.size(); ++i) {
    const TensorInfo& input = bound.inputs()[i];
    if (bound.inputs_[i].is_set) continue;
    problems.push_back(absl::StrCat("input \"", input.name, "\", ", input.TypeString(), ", is missing"));
  }
  return buffers_.GiveUp(absl::InvalidArgumentError(
      absl::StrCat("cannot run \"", entry.function->info().name, "\": ", absl::StrJoin(problems, "; "))));
}

}  // namespace sinter::internal_session
