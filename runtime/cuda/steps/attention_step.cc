// Attention and its gradient, computed by cuDNN.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/cudnn/cudnn_attention.h"
#include "sinter/runtime/cuda/cudnn/cudnn_plans.h"
#include "sinter/runtime/cuda/cudnn/cudnn_session.h"
#include "sinter/runtime/cuda/steps/cuda_steps.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/all_steps.h"
#include "sinter/runtime/plan/gpu_limits.h"

namespace sinter {
namespace {

// Workspace limit of a gradient. Its workspace holds the gradients of the scores, so a larger gradient runs
// in parts of the batch whose workspaces stay below the limit.
constexpr size_t kMaxScoresBytes = size_t{256} << 20;

// Older versions compute wrong gradients for some shapes: 9.10.0 for many shapes; versions up to 9.15.0 if
// the number of keys is not a multiple of 128 (source: the checks in NVIDIA's cudnn-frontend).
constexpr size_t kOldestCudnn = 91501;

// The size of one part of the batch: several examples with all heads, or some heads of one example.
struct Part {
  int64_t examples, heads;
};

// Returns the largest divisor of `count` that is at most `most`; at least 1.
int64_t LargestDivisor(int64_t count, int64_t most) {
  for (int64_t d = std::min(count, most); d > 1; --d) {
    if (count % d == 0) return d;
  }
  return 1;
}

class CudaAttentionStep : public Step {
 public:
  CudaAttentionStep(const CudaContext& context, const CudnnAttention& whole, double scale)
      : device_(context.index()),
        stream_(context.stream()),
        whole_(whole),
        element_bytes_(SizeOf(static_cast<DType>(whole.dtype))),
        scale_(static_cast<float>(scale)),
        key_count_(static_cast<int32_t>(whole.keys)),
        query_count_(static_cast<int32_t>(whole.queries)),
        right_bound_(static_cast<int32_t>(whole.window - 1)),
        left_bound_(static_cast<float>(whole.window - whole.keys + whole.queries)) {}

  absl::Status MakePlan(CudnnPlans& plans, const CudnnHandle& cudnn) {
    part_ = {whole_.batch, whole_.heads};
    // If the scores alone exceed the limit, the step builds no plan of the whole batch first.
    if (const size_t scores = whole_.ScoresBytes(); scores > 0) part_ = PartThatFits(scores + RowSumsBytes());
    SINTER_RETURN_IF_ERROR(MakePlanOfPart(plans, cudnn));
    if (const size_t needed = LibraryWorkspaceBytes(); whole_.backward && needed > kMaxScoresBytes) {
      part_ = PartThatFits(needed);
      SINTER_RETURN_IF_ERROR(MakePlanOfPart(plans, cudnn));
    }
    const int64_t parts = whole_.batch / part_.examples * (whole_.heads / part_.heads);
    plan_->KeepBindings(static_cast<size_t>(parts));
    return absl::OkStatus();
  }

  size_t LibraryWorkspaceBytes() const override {
    return RowSumsBytes() + QuerySumsBytes() + plan_->workspace_bytes();
  }

  absl::Status Run(const StepArgs& args) override {
    SINTER_RETURN_IF_ERROR(CheckAlignment(args));
    const CudaDeviceScope on(device_);
    for (int64_t example = 0; example < whole_.batch; example += part_.examples) {
      for (int64_t head = 0; head < whole_.heads; head += part_.heads) {
        SINTER_RETURN_IF_ERROR(RunPart(args, example, head));
      }
    }
    return absl::OkStatus();
  }

 private:
  using Operand = CudnnPlan::Operand;

  // Returns a part within the limit, given that `part_` needs `needed` bytes of workspace.
  Part PartThatFits(size_t needed) const {
    if (needed <= kMaxScoresBytes) return part_;
    const size_t heads = static_cast<size_t>(part_.examples * part_.heads);
    const auto fits = static_cast<int64_t>(kMaxScoresBytes / ((needed + heads - 1) / heads));
    // Heads that share a head of k stay together.
    const int64_t group = whole_.heads / whole_.key_heads;
    if (fits < whole_.heads) return {1, LargestDivisor(whole_.key_heads, fits / group) * group};
    return {LargestDivisor(whole_.batch, fits / whole_.heads), whole_.heads};
  }

  absl::Status MakePlanOfPart(CudnnPlans& plans, const CudnnHandle& cudnn) {
    CudnnAttention part = whole_;
    part.batch = part_.examples, part.heads = part_.heads, part.heads_in_memory = whole_.heads;
    part.key_heads = part_.heads / (whole_.heads / whole_.key_heads);
    part.key_heads_in_memory = whole_.key_heads;
    part.bias_batch = std::min(whole_.bias_batch, part.batch);
    part.bias_heads = std::min(whole_.bias_heads, part.heads);
    part.bias_heads_in_memory = whole_.bias_heads;
    SINTER_ASSIGN_OR_RETURN(plan_, plans.Attention(cudnn, part));
    return absl::OkStatus();
  }

  size_t RowSumsBytes() const {
    if (!whole_.backward) return 0;
    return RoundUp(static_cast<size_t>(part_.examples * part_.heads * whole_.queries) * sizeof(float),
                   kCudnnWorkspaceAlignment);
  }

  size_t QuerySumsBytes() const {
    if (!whole_.backward || whole_.in_order) return 0;
    return RoundUp(
        static_cast<size_t>(part_.examples * part_.heads * whole_.queries * whole_.width) * sizeof(float),
        kCudnnWorkspaceAlignment);
  }

  absl::Status CheckAlignment(const StepArgs& args) const {
    const int given = whole_.packed ? 1 : 3, bias = whole_.has_bias ? 1 : 0;
    const int operands = bias + (whole_.backward ? 2 * given + 3 : given + (whole_.has_stats ? 2 : 1));
    uintptr_t bits = 0;
    for (int i = 0; i < operands; ++i) bits |= reinterpret_cast<uintptr_t>(args.buffers[i]);
    if (bits % kCudnnAlignment == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("an operand of attention does not start at a multiple of ",
                                                   kCudnnAlignment,
                                                   " bytes, which GPUs need: copy it first"));
  }

  // Returns the address of the part's first row in a tensor with the layout `whole`.
  void* At(void* data, const CudnnTensor& whole, int64_t example, int64_t head, int64_t bytes) const {
    return static_cast<std::byte*>(data) + (example * whole.strides[0] + head * whole.strides[1]) * bytes;
  }

  // Returns the addresses of q, k and v, or of their gradients; `buffers` starts with them.
  std::array<void*, 3> QueriesKeysValues(void* const* buffers, int64_t example, int64_t head) const {
    std::array<void*, 3> found;
    for (size_t i = 0; i < 3; ++i) {
      auto* const start = static_cast<std::byte*>(buffers[whole_.packed ? 0 : i]);
      const auto before = static_cast<int64_t>(i) * whole_.heads * whole_.width * element_bytes_;
      const bool of_keys = i != 0;
      found[i] = At(start + (whole_.packed ? before : 0), of_keys ? whole_.Keys() : whole_.Queries(), example,
                    of_keys ? head * whole_.key_heads / whole_.heads : head, element_bytes_);
    }
    return found;
  }

  // The operands of one part, gathered for the plan.
  struct Operands {
    std::array<Operand, CudnnPlan::kMaxOperands> all = {};
    size_t count = 0;
    void Add(std::initializer_list<Operand> more) {
      for (const Operand& operand : more) all[count++] = operand;
    }
    std::span<const Operand> span() const { return std::span<const Operand>(all).first(count); }
  };

  // Adds the bias of the part and the numbers of the masks.
  void AddMasks(const StepArgs& args, int64_t example, int64_t head, Operands& operands) {
    if (whole_.has_bias) {
      const int64_t bytes = SizeOf(static_cast<DType>(whole_.bias_dtype));
      operands.Add(
          {{kScoreBias, At(args.buffers[whole_.packed ? 1 : 3], whole_.Bias(),
                           whole_.bias_batch == 1 ? 0 : example, whole_.bias_heads == 1 ? 0 : head, bytes)}});
    }
    if (!whole_.causal && whole_.window == 0) return;
    operands.Add({{kMasked, &masked_}});
    if (whole_.queries != whole_.keys) {
      operands.Add({{kKeyCount, &key_count_}, {kQueryCount, &query_count_}});
    }
    if (!whole_.causal) operands.Add({{kRightBound, &right_bound_}});
    if (whole_.window != 0) operands.Add({{kLeftBound, &left_bound_}});
  }

  absl::Status RunPart(const StepArgs& args, int64_t example, int64_t head) {
    void* const* const b = args.buffers;
    const size_t given = (whole_.packed ? 1 : 3) + (whole_.has_bias ? 1 : 0);
    const auto like_o = [&](void* data) { return At(data, whole_.Output(), example, head, element_bytes_); };
    const auto stats = [&](void* data) { return At(data, whole_.Stats(), example, head, sizeof(float)); };
    const auto [q, k, v] = QueriesKeysValues(b, example, head);
    Operands operands;
    operands.Add({{kQueries, q}, {kKeys, k}, {kValues, v}, {kScale, &scale_}});
    AddMasks(args, example, head, operands);
    if (!whole_.backward) {
      operands.Add({{kOutput, like_o(b[given])}});
      if (whole_.has_stats) operands.Add({{kStats, stats(b[given + 1])}});
      return plan_->Execute(operands.span(), args.library_workspace);
    }
    auto* const query_sums = static_cast<std::byte*>(args.library_workspace) + RowSumsBytes();
    if (!whole_.in_order) {
      operands.Add({{kQuerySums, query_sums}});
      SINTER_RETURN_IF_ERROR(
          CudaStatus(cudaMemsetAsync(query_sums, 0, QuerySumsBytes(), stream_), "fill memory"));
    }
    const auto [dq, dk, dv] = QueriesKeysValues(b + given + 3, example, head);
    operands.Add({{kOne, &one_},
                  {kOutput, like_o(b[given])},
                  {kStats, stats(b[given + 1])},
                  {kOutputGradient, like_o(b[given + 2])},
                  {kQueryGradient, dq},
                  {kKeyGradient, dk},
                  {kValueGradient, dv},
                  {kRowSums, args.library_workspace}});
    return plan_->Execute(operands.span(), query_sums + QuerySumsBytes());
  }

  int device_;
  cudaStream_t stream_;
  CudnnAttention whole_;
  int64_t element_bytes_;
  Part part_ = {};
  std::unique_ptr<CudnnPlan> plan_;
  // Members, because cuDNN reads scalars through pointers at execution.
  float scale_, one_ = 1, masked_ = -std::numeric_limits<float>::infinity();
  int32_t key_count_, query_count_, right_bound_;
  float left_bound_;
};

std::string VersionText(size_t version) {
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

absl::Status CheckTable(const fb::AttentionStep& table, const CudnnAttention& attention) {
  if (CudnnAttentionSupported(table.dtype(), table.width(), std::min(table.queries(), table.keys()),
                              table.scale())) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("attention ", attention.ToString(), " and scale ", table.scale(),
                   " is not done by cuDNN: decompose it (CudnnAttentionSupported in "
                   "runtime/plan/gpu_limits.h)"));
}

CudnnAttention AttentionOf(const CudaContext& context, const fb::AttentionStep& table) {
  return {.dtype = table.dtype(),
          .backward = table.backward(),
          .packed = table.packed(),
          .causal = table.causal(),
          .has_stats = table.has_stats(),
          .has_bias = table.has_bias(),
          .in_order = context.switches().attention_in_order,
          .batch = table.batch(),
          .heads = table.heads(),
          .key_heads = table.key_heads(),
          .queries = table.queries(),
          .keys = table.keys(),
          .width = table.width(),
          .window = table.window(),
          .bias_dtype = table.bias_dtype(),
          .bias_batch = table.bias_batch(),
          .bias_heads = table.bias_heads(),
          .bias_queries = table.bias_queries()};
}

absl::StatusOr<std::unique_ptr<Step>> MakeStep(const CudaContext& context, const CudnnHandle& cudnn,
                                               CudnnPlans& plans, const fb::AttentionStep& table) {
  const CudnnAttention attention = AttentionOf(context, table);
  SINTER_RETURN_IF_ERROR(CheckTable(table, attention));
  if (const size_t version = cudnn.functions->GetVersion(); version < kOldestCudnn) {
    return absl::FailedPreconditionError(absl::StrCat("attention needs cuDNN ", VersionText(kOldestCudnn),
                                                      " or later, and this is ", VersionText(version),
                                                      ": install a later nvidia-cudnn-cu13"));
  }
  auto step = std::make_unique<CudaAttentionStep>(context, attention, table.scale());
  SINTER_RETURN_IF_ERROR(step->MakePlan(plans, cudnn));
  return step;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaAttentionStep(CudaContext& context,
                                                            const fb::AttentionStep& table) {
  SINTER_ASSIGN_OR_RETURN(const CudnnHandle cudnn, context.cudnn()->OnStream());
  return MakeStep(context, cudnn, context.cudnn()->plans(), table);
}

void PrepareCudaAttention(CudaContext& context, const fb::Plan& plan, uint32_t device) {
  // One table for each distinct attention.
  std::map<CudnnAttention, const fb::AttentionStep*> tables;
  ForEachStep(plan, [&](const fb::Step& step) {
    const fb::AttentionStep* const table = step.body_as_AttentionStep();
    if (table != nullptr && step.device() == device) tables.emplace(AttentionOf(context, *table), table);
  });
  std::vector<CudnnSession::Work> works;
  for (const auto& [attention, table] : tables) {
    // Discards the steps but keeps the plans: the real steps reuse these plans.
    works.emplace_back([&context, table = table](const CudnnHandle& cudnn, CudnnPlans& plans) {
      MakeStep(context, cudnn, plans, *table).IgnoreError();
    });
  }
  context.cudnn()->Prepare(std::move(works));
}

}  // namespace sinter
