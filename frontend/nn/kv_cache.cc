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

  Variable Make(std::string_view path, const char* name, DType dtype, const Shape& shape) {
    return builder.MakeVariable(absl::StrCat(options.name, "/", std::string(path), "/", name), dtype, shape,
                                {.trainable = false}, where);
  }
  // The position of the input's first element, which broadcasts to scores [batch, heads, time, context].
  Tensor FirstOfScores() const {
    return options.rows > 0 ? Reshape(position, {options.rows, 1, 1, 1}) : position;
  }
};

namespace {

// Writes rows [batch, heads, time, depth] into a cache, from the position of each row of the batch on.
// Positions behind the context are left out: their place in the list takes the first position once more.
Tensor WithRows(Builder& b, const Tensor& cache, const Tensor& part, const Tensor& position) {
  const int64_t batch = part.dim(0), heads = part.dim(1), time = part.dim(2), context = cache.dim(2);
  const Tensor first = ExpandDims(Minimum(position, context - 1), 1);
  const Tensor offset = b.Iota(I32, {batch, time}, 1);
  const Tensor taken = Select(first + offset < context, offset, 0);
  const Tensor rows =
      time == 1 ? part : TakeAlong(part, BroadcastTo(Reshape(taken, {batch, 1, time, 1}), part.shape()), 2);
  const Tensor head = b.Iota(I64, {batch, heads, 1}, 0) * heads + b.Iota(I64, {batch, heads, 1}, 1);
  const Tensor index = head * context + ExpandDims(Cast(first + taken, I64), 1);
  const Tensor flat = Reshape(cache, {batch * heads * context, part.dim(3)});
  return Reshape(Scatter(flat, index, rows, 0, ScatterKind::kSet), cache.shape());
}

// Says what is wrong with the options of rows and of a memory; empty if nothing is.
std::string WrongRows(const KvCacheOptions& o) {
  if (o.rows < 0) return absl::StrCat("has ", o.rows, " rows; give the batch, or 0 for one position of all");
  if (o.memory < 0) return absl::StrCat("has a memory of ", o.memory, " positions; 0 means none");
  if (!o.lengths || !o.lengths->ok()) return "";
  if (o.rows == 0) return "has lengths and no rows; set .rows to the batch, so that each row has a position";
  const DType dtype = o.lengths->dtype();
  if ((dtype == I32 || dtype == I64) && o.lengths->shape() == Shape{o.rows}) return "";
  return absl::StrCat("needs lengths of type ", TypeString(I32, {o.rows}), ", got ", o.lengths->ToString());
}

// The scope of the function that this thread builds; null if there is none.
KvCaches*& Current() {
  static thread_local KvCaches* current = nullptr;
  return current;
}

}  // namespace

// Appends a part [batch, time, heads, depth] to a cache of this path, and returns all of it.
Tensor KvCaches::Extended(State& s, std::string_view path, const char* name, const Tensor& more) {
  // The layout in which products read it: no step copies a cache.
  const Variable variable =
      s.Make(path, name, s.options.dtype, {more.dim(0), more.dim(2), s.options.context, more.dim(3)});
  if (!variable.ok()) return {};
  const Tensor part = Cast(Transpose(more, {0, 2, 1, 3}), s.options.dtype);
  const Tensor old = s.builder.Read(variable, s.where);
  const Operand first = s.options.begins ? Operand(0) : Operand(s.position);
  const Tensor cache = s.options.rows > 0 && !s.options.begins
                           ? WithRows(s.builder, old, part, s.position)
                           : old.At({Ellipsis, Window{first, more.dim(1)}, Range{}}).Set(part);
  s.builder.Assign(variable, cache, s.where);
  return Transpose(Cast(cache, more.dtype()), {0, 2, 1, 3});
}

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
  if (const std::string wrong = WrongRows(options); !wrong.empty()) {
    call.Fail(wrong);
    return;
  }
  if (options.lengths && !Call("KvCaches", where, {*options.lengths}).ok()) return;
  const Shape shape = options.rows > 0 ? Shape{options.rows} : Shape{};
  const Variable variable =
      b.MakeVariable(options.name + "/position", I32, shape, {.trainable = false}, where);
  if (!variable.ok()) return;
  const Tensor position = options.begins ? b.Full(I32, shape, 0, where) : b.Read(variable, where);
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
  const KvCacheOptions& o = state_->options;
  const Operand count = o.lengths ? Operand(Cast(*o.lengths, I32)) : Operand(state_->time);
  state_->builder.Assign(state_->position_variable, Minimum(state_->position + count, o.context), where);
}

Tensor KvCaches::position() const { return state_ ? state_->position : Tensor(); }

Tensor KvCaches::Positions(int64_t time) const {
  if (!state_) return {};
  const LocationScope scope(&(*state_->function)->graph(), state_->where, "KvCaches");
  const Tensor offset = state_->builder.Iota(I32, {time});
  if (state_->options.rows == 0) return state_->position + offset;
  return Minimum(ExpandDims(state_->position, 1) + offset, state_->options.context - 1);
}

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
  if (s.options.rows > 0 && q.dim(0) != s.options.rows) {
    return call.Fail(absl::StrCat("has ", s.options.rows, " rows for an input of ", q.dim(0)));
  }
  s.time = time;
  const LocationScope scope(&call.graph(), where, "KvCaches");
  const Tensor keys = Extended(s, path, "k", k), values = Extended(s, path, "v", v);
  if (!keys.ok() || !values.ok()) return {};
  // At the beginning of a sequence there is nothing else to see.
  if (s.options.begins) {
    AttentionOptions first = options;
    for (std::optional<Tensor>* const tensor : {&first.mask, &first.bias}) {
      if (*tensor && (*tensor)->rank() > 0 && (*tensor)->dim(-1) == context)
        *tensor = SliceDim(**tensor, (*tensor)->rank() - 1, 0, time);
    }
    return Attention(q, k, v, first);
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
  const Tensor key = s.builder.Iota(I32, {time, context}, 1);
  const Tensor query = s.builder.Iota(I32, {time, context}, 0) + s.FirstOfScores();
  seen.mask = key <= query;
  if (options.mask) seen.mask = *seen.mask && *options.mask;
  if (options.window > 0) seen.mask = *seen.mask && query - key < options.window;
  return Attention(q, keys, values, seen);
}

bool KvCaches::KeepsMemory() const { return state_ && state_->options.memory > 0; }
bool KvCaches::ReadsMemory() const { return KeepsMemory() && !state_->options.begins; }

Tensor KvCaches::AttendMemory(std::string_view path, const Tensor& q,
                              const std::optional<KeysAndValues>& given, const AttentionOptions& options,
                              Where where) {
  Call call("KvCaches", where, {q});
  if (!call.ok()) return {};
  State& s = *state_;
  if (!s.paths.insert(std::string(path)).second) {
    return call.Fail(absl::StrCat("has the layer \"", std::string(path), "\" twice in its scope"));
  }
  const int64_t batch = q.dim(0), most = s.options.memory, count = given ? given->k.dim(1) : most;
  if (count > most) {
    return call.Fail(absl::StrCat("keeps memories of ", most, " positions, got one of ", count,
                                  "; set .memory to the most positions"));
  }
  const LocationScope scope(&call.graph(), where, "KvCaches");
  const Shape shape = {batch, q.dim(2), most, q.dim(3)};
  const Variable k = s.Make(path, "k", s.options.dtype, shape), v = s.Make(path, "v", s.options.dtype, shape);
  const Variable lengths = s.Make(path, "lengths", I32, {batch});
  if (!k.ok() || !v.ok() || !lengths.ok()) return {};
  if (given) {
    for (const auto& [variable, part] : {std::pair(k, given->k), std::pair(v, given->v)}) {
      const Tensor kept = Cast(Transpose(part, {0, 2, 1, 3}), s.options.dtype);
      s.builder.Assign(variable, Pad(kept, {0, 0, 0, 0}, {0, 0, most - count, 0}), where);
    }
    s.builder.Assign(
        lengths, options.key_lengths ? Cast(*options.key_lengths, I32) : s.builder.Full(I32, {batch}, count),
        where);
    return Attention(q, given->k, given->v, options);
  }
  AttentionOptions seen = options;
  seen.key_lengths = s.builder.Read(lengths, where);
  const auto read = [&](const Variable& variable) {
    return Transpose(Cast(s.builder.Read(variable, where), q.dtype()), {0, 2, 1, 3});
  };
  return Attention(q, read(k), read(v), seen);
}

Operand FirstPosition(const Tensor& x, Where where) {
  const KvCaches* const caches = KvCaches::Around(x);
  return caches ? Operand(caches->position(), where) : Operand(0, where);
}

Tensor Positions(const Tensor& x, Where where) {
  CompositeCall call("Positions", where, {x});
  if (!call.ok()) return {};
  if (x.rank() < 2) return call.Fail("takes a tensor [batch, time, ...]");
  const KvCaches* const caches = KvCaches::Around(x);
  return caches ? caches->Positions(x.dim(1)) : Builder(x.function()).Iota(I32, {x.dim(1)});
}

}  // namespace sinter::nn
