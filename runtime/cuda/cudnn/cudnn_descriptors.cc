#include "sinter/runtime/cuda/cudnn/cudnn_descriptors.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// True if the engine's numerical notes meet the rules.
bool IsAllowed(const std::vector<cudnnBackendNumericalNote_t>& notes, const CudnnEngineRules& rules) {
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  if (rules.must_be_deterministic && has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  for (const cudnnBackendNumericalNote_t inexact :
       {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
        CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
        CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13}) {
    if (rules.must_be_exact && has(inexact)) return false;
  }
  return rules.may_use_tensor_cores || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

struct Engine {
  int64_t number = -1;
  std::vector<cudnnBackendNumericalNote_t> notes;
};

absl::StatusOr<Engine> EngineOf(const CudnnHandle& cudnn, const CudnnDescriptor& config) {
  CudnnDescriptor engine(cudnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  SINTER_RETURN_IF_ERROR(engine.status());
  cudnnBackendDescriptor_t raw = engine.get();
  SINTER_RETURN_IF_ERROR(
      config.Get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw).status());
  Engine found;
  SINTER_RETURN_IF_ERROR(
      engine.Get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &found.number).status());
  found.notes.resize(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  SINTER_ASSIGN_OR_RETURN(const int64_t count,
                          engine.Get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                     static_cast<int64_t>(found.notes.size()), found.notes.data()));
  found.notes.resize(static_cast<size_t>(std::min<int64_t>(count, static_cast<int64_t>(found.notes.size()))));
  return found;
}

// Returns at most `most` engines that cuDNN suggests for the graph, the fastest first. Empty if cuDNN has no
// suggestion in this mode.
absl::StatusOr<std::vector<CudnnDescriptor>> NamedEngines(const CudnnHandle& cudnn,
                                                          const CudnnDescriptor& graph,
                                                          cudnnBackendHeurMode_t mode, int64_t most) {
  CudnnDescriptor heuristic(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  SINTER_RETURN_IF_ERROR(heuristic.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
  SINTER_RETURN_IF_ERROR(heuristic.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
  std::vector<CudnnDescriptor> configs;
  const absl::Status status = heuristic.Finalize("ask for engines");
  if (absl::IsUnimplemented(status)) return configs;
  SINTER_RETURN_IF_ERROR(status);
  SINTER_ASSIGN_OR_RETURN(const int64_t known, heuristic.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr));
  const int64_t count = std::min(known, most);
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(cudnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    // cuDNN omits results for which it gets no descriptor.
    SINTER_RETURN_IF_ERROR(configs.back().status());
    raw.push_back(configs.back().get());
  }
  if (count == 0) return configs;
  SINTER_ASSIGN_OR_RETURN(
      const int64_t given,
      heuristic.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data()));
  while (static_cast<int64_t>(configs.size()) > given) configs.pop_back();
  return configs;
}

struct EngineChoice {
  CudnnEngine engine;
  CudnnDescriptor config;
};

// Iterates over the engines that the rules allow, in cuDNN's order, with engines of last resort at the end.
// cuDNN takes 0.08 ms for each of about 35 suggestions, and mostly the first one is used. So the first query
// is for a few engines, the second for all, and the third for the fallback engines, which are slower and
// support more shapes.
class AllowedEngines {
 public:
  AllowedEngines(const CudnnHandle& cudnn, const CudnnDescriptor& graph, const CudnnEngineRules& rules)
      : cudnn_(cudnn), graph_(graph), rules_(rules) {}

  // Returns the next engine; nullopt at the end.
  absl::StatusOr<std::optional<EngineChoice>> Next() {
    while (allowed_.empty()) {
      if (rounds_ == 0) SINTER_RETURN_IF_ERROR(Ask(CUDNN_HEUR_MODE_A, 0, kFew));
      if (rounds_ == 1 && named_ == kFew) SINTER_RETURN_IF_ERROR(Ask(CUDNN_HEUR_MODE_A, kFew, kAll));
      if (rounds_ == 2) SINTER_RETURN_IF_ERROR(Ask(CUDNN_HEUR_MODE_FALLBACK, 0, kAll));
      if (rounds_ == 3) allowed_.swap(last_resort_);
      if (rounds_++ > 3) return std::optional<EngineChoice>();
    }
    std::optional<EngineChoice> next(std::move(allowed_.front()));
    allowed_.pop_front();
    return next;
  }

  // Numbers of engines queried so far.
  int64_t named() const { return named_; }
  int64_t allowed() const { return all_allowed_; }
  // The reason why the last unreadable engine was skipped.
  const std::string& last_reason() const { return last_reason_; }

 private:
  static constexpr int64_t kFew = 4, kAll = std::numeric_limits<int64_t>::max();

  // Queries `most` engines of a mode; the first `known` of them were queried before.
  absl::Status Ask(cudnnBackendHeurMode_t mode, int64_t known, int64_t most) {
    SINTER_ASSIGN_OR_RETURN(std::vector<CudnnDescriptor> configs, NamedEngines(cudnn_, graph_, mode, most));
    for (size_t i = static_cast<size_t>(known); i < configs.size(); ++i) {
      ++named_;
      const absl::StatusOr<Engine> found = EngineOf(cudnn_, configs[i]);
      // An error, not a skip: another engine has other bits, so it must not replace one that only lacked
      // memory.
      if (absl::IsResourceExhausted(found.status())) return found.status();
      if (!found.ok()) last_reason_ = std::string(found.status().message());
      if (!found.ok() || !IsAllowed(found->notes, rules_)) continue;
      const CudnnEngine engine = {.number = found->number, .ordinal = of_number_[found->number]++};
      if (rules_.only.has_value() && engine != *rules_.only) continue;
      const bool is_last =
          std::count(rules_.last_resort.begin(), rules_.last_resort.end(), engine.number) > 0;
      (is_last ? last_resort_ : allowed_).push_back({engine, std::move(configs[i])});
      ++all_allowed_;
    }
    return absl::OkStatus();
  }

  const CudnnHandle& cudnn_;
  const CudnnDescriptor& graph_;
  const CudnnEngineRules& rules_;
  int rounds_ = 0;
  std::deque<EngineChoice> allowed_, last_resort_;
  std::map<int64_t, int> of_number_;
  int64_t named_ = 0, all_allowed_ = 0;
  std::string last_reason_;
};

}  // namespace

CudnnDescriptor::CudnnDescriptor(const CudnnHandle& cudnn, cudnnBackendDescriptorType_t type)
    : cudnn_(cudnn) {
  made_ = cudnn_.functions->CreateDescriptor(type, &descriptor_);
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) (void)cudnn_.functions->DestroyDescriptor(descriptor_);
}

absl::Status CudnnDescriptor::status() const { return cudnn_.functions->Check(made_, "make a descriptor"); }

absl::Status CudnnDescriptor::Set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
  return Set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
}

absl::Status CudnnDescriptor::Set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
}

absl::Status CudnnDescriptor::Set(cudnnBackendAttributeName_t name,
                                  const std::vector<const CudnnDescriptor*>& values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor* value : values) raw.push_back(value->descriptor_);
  return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(raw.size()), raw.data());
}

absl::Status CudnnDescriptor::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                  int64_t count, const void* values) {
  SINTER_RETURN_IF_ERROR(status());
  return cudnn_.functions->Check(cudnn_.functions->SetAttribute(descriptor_, name, type, count, values),
                                 absl::StrCat("set attribute ", static_cast<int>(name)));
}

absl::Status CudnnDescriptor::Finalize(std::string_view what) {
  SINTER_RETURN_IF_ERROR(status());
  return cudnn_.functions->Check(cudnn_.functions->Finalize(descriptor_), what);
}

absl::StatusOr<int64_t> CudnnDescriptor::Get(cudnnBackendAttributeName_t name,
                                             cudnnBackendAttributeType_t type, int64_t count,
                                             void* values) const {
  SINTER_RETURN_IF_ERROR(status());
  int64_t given = 0;
  SINTER_RETURN_IF_ERROR(
      cudnn_.functions->Check(cudnn_.functions->GetAttribute(descriptor_, name, type, count, &given, values),
                              absl::StrCat("read attribute ", static_cast<int>(name))));
  return given;
}

absl::StatusOr<std::unique_ptr<CudnnPlan>> CudnnPlan::Create(const CudnnHandle& cudnn,
                                                             const CudnnDescriptor& graph,
                                                             const CudnnEngineRules& rules) {
  SINTER_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<CudnnPlan>> plans,
                          CreateSome(cudnn, graph, rules, /*most=*/1));
  return std::move(plans[0]);
}

absl::StatusOr<std::vector<std::unique_ptr<CudnnPlan>>> CudnnPlan::CreateSome(const CudnnHandle& cudnn,
                                                                              const CudnnDescriptor& graph,
                                                                              const CudnnEngineRules& rules,
                                                                              size_t most) {
  AllowedEngines engines(cudnn, graph, rules);
  int passed_over = 0;
  std::string last_reason;
  std::vector<std::unique_ptr<CudnnPlan>> plans;
  while (plans.size() < most) {
    SINTER_ASSIGN_OR_RETURN(std::optional<EngineChoice> choice, engines.Next());
    if (!choice.has_value()) break;
    CudnnDescriptor plan(cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    SINTER_RETURN_IF_ERROR(plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn.handle));
    SINTER_RETURN_IF_ERROR(plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, choice->config));
    // cuDNN may suggest an engine that then fails to build.
    if (absl::Status status = plan.Finalize("prepare an engine"); !status.ok()) {
      if (absl::IsResourceExhausted(status)) return status;
      last_reason = std::string(status.message());
      continue;
    }
    int64_t workspace = 0;
    SINTER_RETURN_IF_ERROR(
        plan.Get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace).status());
    if (workspace > rules.max_workspace) {
      last_reason = absl::StrCat("it needs a workspace of ", DescribeBytes(workspace));
      continue;
    }
    if (passed_over++ < rules.skip) continue;
    auto built = std::make_shared<const Built>(Built{.cudnn = cudnn,
                                                     .engine = choice->engine,
                                                     .config = std::move(choice->config),
                                                     .plan = std::move(plan),
                                                     .workspace_bytes = static_cast<size_t>(workspace)});
    plans.push_back(std::unique_ptr<CudnnPlan>(new CudnnPlan(std::move(built))));
  }
  if (!plans.empty()) return plans;
  if (last_reason.empty()) last_reason = engines.last_reason();
  return absl::UnimplementedError(
      absl::StrCat("cuDNN has no engine: it names ", engines.named(), ", of which ", engines.allowed(),
                   " are deterministic and exact enough",
                   last_reason.empty() ? "" : "; the last one cannot: ", last_reason));
}

absl::StatusOr<CudnnDescriptor> CudnnPlan::MakePack(std::span<const Operand> operands,
                                                    void* workspace) const {
  std::vector<int64_t> ids;
  std::vector<void*> data;
  for (const Operand& operand : operands) {
    ids.push_back(operand.id);
    data.push_back(operand.data);
  }
  CudnnDescriptor pack(built_->cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  SINTER_RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids));
  SINTER_RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                                  static_cast<int64_t>(data.size()), data.data()));
  SINTER_RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
  SINTER_RETURN_IF_ERROR(pack.Finalize("bind tensors"));
  return pack;
}

absl::Status CudnnPlan::Execute(std::span<const Operand> operands, void* workspace) {
  SINTER_CHECK(operands.size() <= kMaxOperands) << operands.size();
  std::array<Operand, kMaxOperands> key = {};
  std::copy(operands.begin(), operands.end(), key.begin());
  auto found = std::find_if(bindings_.begin(), bindings_.end(), [&](const Binding& binding) {
    return binding.operands == key && binding.workspace == workspace;
  });
  if (found == bindings_.end()) {
    SINTER_ASSIGN_OR_RETURN(CudnnDescriptor pack, MakePack(operands, workspace));
    Binding binding = {.operands = key, .workspace = workspace, .pack = std::move(pack)};
    if (bindings_.size() < most_bindings_) {
      found = bindings_.insert(bindings_.end(), std::move(binding));
    } else {
      found = bindings_.begin() + static_cast<std::ptrdiff_t>(oldest_);
      *found = std::move(binding);
      oldest_ = (oldest_ + 1) % most_bindings_;
    }
  }
  const CudnnHandle& cudnn = built_->cudnn;
  return cudnn.functions->Check(cudnn.functions->Execute(cudnn.handle, built_->plan.get(), found->pack.get()),
                                "launch an operation of cuDNN");
}

}  // namespace sinter
