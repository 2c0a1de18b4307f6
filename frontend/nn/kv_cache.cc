#include "sinter/frontend/nn/kv_cache.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/scatter.h"

namespace sinter::nn {

struct KvCaches::State {
  Builder builder;
  KvCacheOptions options;
  Where where;
  std::shared_ptr<FunctionBuilder*> function;
  Variable position_variable;
  Tensor position;
  int64_t time = 0;  // Positions of the input; 0 before the first layer.
  std::set<std::string, std::less<>> paths;
};

namespace {

// The scope of the function that this thread builds; null if there is none.
KvCaches*& Current() {
  static thread_local KvCaches* current = nullptr;
  return current;
}

}  // namespace

KvCaches::KvCaches(Builder& b, const KvCacheOptions& options, Where where) {
  Call call("KvCaches", where, b.function());
  if (!call.ok()) return;
  if (Current() != nullptr) {
    call.Fail("is inside the scope of another; end that one first");
    return;
  }
  if (options.context < 1) {
    call.Fail(absl::StrCat("has a context of ", options.context, "; give the most positions of a sequence"));
    return;
  }
  if (!IsFloat(options.dtype)) {
    call.Fail(absl::StrCat("keeps floats, not ", std::string(DTypeName(options.dtype))));
    return;
  }
  const Variable variable = b.MakeVariable(options.name + "/position", I32, {}, {.trainable = false}, where);
  if (!variable.ok()) return;
  const Tensor position = options.begins ? b.Full(I32, {}, 0, where) : b.Read(variable, where);
  state_ = std::make_unique<State>(
      State{Builder(b.function()), options, where, b.function()->cell(), variable, position, 0, {}});
  Current() = this;
}

KvCaches::~KvCaches() {
  if (Current() == this) Current() = nullptr;
  if (!state_ || *state_->function == nullptr) return;
  const Where where = state_->where;
  Call call("KvCaches", where, *state_->function);
  if (!call.ok()) return;
  if (state_->time == 0) {
    call.Fail("has no layer nn::MultiHeadAttention in its scope");
    return;
  }
  const LocationScope scope(&call.graph(), where, "KvCaches");
  state_->builder.Assign(
      state_->position_variable,
      Minimum(Operand(Operand(state_->position, where) + Operand(state_->time, where), where),
              Operand(state_->options.context, where)),
      where);
}

Tensor KvCaches::position() const { return state_ ? state_->position : Tensor(); }

KvCaches* KvCaches::Around(const Tensor& x) {
  KvCaches* const current = Current();
  return current != nullptr && x.ok() && *current->state_->function == x.function() ? current : nullptr;
}

Tensor KvCaches::Attend(std::string_view path, const Tensor& q, const Tensor& k, const Tensor& v,
                        const AttentionOptions& options, Where where) {
  Call call("KvCaches", where, {q, k, v});
  if (!call.ok()) return {};
  State& s = *state_;
  const int64_t time = q.dim(1), context = s.options.context;
  if (!options.causal) return call.Fail("needs attention that is causal: set .causal of the layer");
  if (time > context) {
    return call.Fail(absl::StrCat("has a context of ", context, " for an input of ", time, " positions"));
  }
  if (s.time != 0 && s.time != time) {
    return call.Fail(absl::StrCat("has layers of ", s.time, " and of ", time, " positions in its scope"));
  }
  if (!s.paths.insert(std::string(path)).second) {
    return call.Fail(absl::StrCat("has the layer \"", std::string(path), "\" twice in its scope"));
  }
  s.time = time;
  // The layout in which products read it: no step copies a cache.
  const Shape shape = {k.dim(0), k.dim(2), context, k.dim(3)};
  const auto extended = [&](const char* name, const Tensor& more) -> Tensor {
    const Variable variable =
        s.builder.MakeVariable(absl::StrCat(s.options.name, "/", std::string(path), "/", name),
                               s.options.dtype, shape, {.trainable = false}, where);
    if (!variable.ok()) return {};
    const Tensor part = Cast(Transpose(more, {0, 2, 1, 3}, where), s.options.dtype, where);
    const Operand first = s.options.begins ? Operand(0, where) : Operand(s.position, where);
    const Tensor cache =
        s.builder.Read(variable, where).At({Ellipsis, Window{first, time}, Range{}}).Set(part, where);
    s.builder.Assign(variable, cache, where);
    return Transpose(Cast(cache, more.dtype(), where), {0, 2, 1, 3}, where);
  };
  const Tensor keys = extended("k", k), values = extended("v", v);
  if (!keys.ok() || !values.ok()) return {};
  // At the beginning of a sequence there is nothing else to see.
  if (s.options.begins) {
    AttentionOptions first = options;
    for (std::optional<Tensor>* const tensor : {&first.mask, &first.bias}) {
      if (*tensor && (*tensor)->rank() > 0 && (*tensor)->dim(-1) == context)
        *tensor = SliceDim(**tensor, (*tensor)->rank() - 1, 0, time, where);
    }
    return Attention(q, k, v, first, where);
  }
  for (const auto& [what, tensor] : {std::pair("mask", options.mask), std::pair("bias", options.bias)}) {
    if (!tensor || (tensor->rank() > 0 && tensor->dim(-1) == context)) continue;
    return call.Fail(absl::StrCat("has a ", what, " ", tensor->ToString(),
                                  " in a piece behind the beginning, whose ", "queries see all ", context,
                                  " positions of the cache; give it ", context,
                                  " keys, and its queries from FirstPosition(x) on"));
  }
  AttentionOptions seen = options;
  seen.causal = false;
  seen.window = 0;
  const Tensor key = s.builder.Iota(I32, {time, context}, 1, where);
  const Tensor query =
      Operand(s.builder.Iota(I32, {time, context}, 0, where), where) + Operand(s.position, where);
  seen.mask = Operand(key, where) <= Operand(query, where);
  if (options.mask) seen.mask = Operand(*seen.mask, where) && Operand(*options.mask, where);
  if (options.window > 0) {
    const Tensor distance = Operand(query, where) - Operand(key, where);
    seen.mask = Operand(*seen.mask, where) &&
                Operand(Operand(distance, where) < Operand(options.window, where), where);
  }
  return Attention(q, keys, values, seen, where);
}

Operand FirstPosition(const Tensor& x, Where where) {
  const KvCaches* const caches = KvCaches::Around(x);
  return caches ? Operand(caches->position(), where) : Operand(0, where);
}

}  // namespace sinter::nn
