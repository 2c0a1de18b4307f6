#include "sinter/passes/plan/chunk_search.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "sinter/ir/dialect/factor_rule.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

// Numbers of parts that the search tries. More make products slow.
constexpr int64_t kCounts[] = {2, 4, 8};
// An exchange of which less than this part is exposed stays whole.
constexpr double kLeastExposed = 0.1;
// Parts must make the function faster by this part of its time: predictions are not more exact.
constexpr double kLeastGain = 0.02;
// Gathers that may run ahead of their readers in the orders that the search compares.
constexpr unsigned kGathersAhead = 4;

// True for an exchange that makes each element of a result of those at its place.
bool KeepsPlaces(Operation* op) {
  const ir::FactorRule rule = ir::FactorsOf(op);
  return !rule.factors.empty() && llvm::all_of(rule.factors, [](const ir::Factor& factor) {
    return factor.kind == ir::FactorKind::kParallel;
  });
}

bool IsSameRange(Value a, Value b) {
  const BufferOffset one = Resolve(a), other = Resolve(b);
  return one.root == other.root && one.offset == other.offset && BytesOf(a) == BytesOf(b);
}

}  // namespace

// The steps and parts as a list of their own.
struct ChunkSearch::Expansion {
  llvm::SmallVector<StepPart> parts;
  llvm::SmallVector<Operation*> steps;
  llvm::SmallVector<double> seconds;
  llvm::SmallVector<llvm::SmallVector<unsigned>> before, after;
  llvm::SmallVector<unsigned> order;

  // The lowest keys first, as far as dependences allow.
  template <typename Key>
  void sort(Key keyOf) {
    using Item = std::pair<decltype(keyOf(0U)), unsigned>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
    llvm::SmallVector<size_t> waiting;
    for (unsigned n = 0; n < parts.size(); ++n) {
      waiting.push_back(before[n].size());
      if (waiting[n] == 0) ready.push({keyOf(n), n});
    }
    while (!ready.empty()) {
      const unsigned n = ready.top().second;
      ready.pop();
      order.push_back(n);
      for (const unsigned next : after[n]) {
        if (--waiting[next] == 0) ready.push({keyOf(next), next});
      }
    }
  }
};

ChunkSearch::ChunkSearch(llvm::ArrayRef<plan_ir::FunctionOp> variants, OpPrices& prices)
    : prices_(prices),
      steps_([&] {
        std::vector<llvm::SmallVector<Operation*>> steps;
        for (plan_ir::FunctionOp variant : variants) steps.push_back(StepsOf(variant));
        return steps;
      }()),
      graph_(steps_.front()) {
  const llvm::ArrayRef<Operation*> steps = steps_.front();
  for (auto [s, step] : llvm::enumerate(steps)) {
    seconds_.push_back(prices.secondsOfStep(step));
    is_exchange_.push_back(CollectiveOf(step).has_value());
    unsigned depth = 0, group = 0;
    for (const unsigned before : graph_.before(s)) {
      if (before > s) continue;
      const auto exchange = CollectiveOf(steps[before]);
      depth = std::max(depth, depth_[before] + (exchange ? 1 : 0));
      group = std::max(group,
                       group_[before] + (exchange && !llvm::isa<ir::ReduceScatterOp>(exchange->op) ? 1 : 0));
    }
    group_.push_back(group);
    depth_.push_back(depth);
  }
}

// Variants whose ranks have rows of different sizes keep the rows that they have.
const RowExchanges& ChunkSearch::rowExchanges(int64_t count) {
  const bool is_one = steps_.size() == 1;
  const llvm::ArrayRef<Operation*> steps = is_one ? steps_.front() : llvm::ArrayRef<Operation*>();
  return row_exchanges_.try_emplace(count, steps, count).first->second;
}

bool ChunkSearch::isCandidate(unsigned step, int64_t count) {
  if (!is_exchange_[step]) return false;
  Operation* const op = CollectiveOf(steps_.front()[step])->op;
  if (KeepsPlaces(op) && op->getNumOperands() == 1) return true;
  return llvm::any_of(rowExchanges(count).families(),
                      [&](const auto& family) { return llvm::is_contained(family, step); });
}

bool ChunkSearch::areAlike() const {
  return llvm::all_of(llvm::drop_begin(steps_), [&](llvm::ArrayRef<Operation*> steps) {
    if (steps.size() != seconds_.size()) return false;
    const StepGraph graph(steps);
    return llvm::all_of(llvm::seq<unsigned>(0, steps.size()), [&](unsigned s) {
      return CollectiveOf(steps[s]).has_value() == is_exchange_[s] && graph.before(s) == graph_.before(s);
    });
  });
}

const std::optional<ChunkSearch::Parts>& ChunkSearch::findParts(unsigned step, int64_t count) {
  auto [found, is_new] = parts_.try_emplace(std::pair(count, step));
  if (!is_new) return found->second;
  Parts parts;
  for (const auto& steps : steps_) {
    auto call = step < steps.size() ? llvm::dyn_cast<plan_ir::CallOp>(steps[step]) : nullptr;
    std::optional<CallParts> of_call = call ? CallParts::Of(call, count) : std::nullopt;
    if (!of_call) return found->second;
    parts.of_variants.push_back(*std::move(of_call));
  }
  Operation* whole = steps_.front()[step];
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(whole->getBlock());
  plan_ir::CallOp part = parts.of_variants.front().build(builder, 0);
  parts.seconds = prices_.secondsOfStep(part);
  const llvm::SmallVector<Value> buffers(part->getOperands());
  part.erase();
  for (auto [buffer, whole_buffer] : llvm::zip_equal(buffers, whole->getOperands())) {
    if (buffer != whole_buffer) buffer.getDefiningOp()->erase();
  }
  return found->second = std::move(parts);
}

// True if each part of `to` needs only the same part of `from`.
bool ChunkSearch::isAligned(int64_t count, unsigned from, unsigned to) {
  const auto &one = findParts(from, count), &other = findParts(to, count);
  if (!one || !other) return false;
  Operation *first = steps_.front()[from], *second = steps_.front()[to];
  bool meets = false;
  for (auto [i, a] : llvm::enumerate(first->getOperands())) {
    for (auto [j, b] : llvm::enumerate(second->getOperands())) {
      const bool writes = i >= ReadsOf(first).size() || j >= ReadsOf(second).size();
      if (!writes || !Overlap(a, b)) continue;
      if (!one->of_variants.front().isCut(i) || !other->of_variants.front().isCut(j) || !IsSameRange(a, b)) {
        return false;
      }
      meets = true;
    }
  }
  return meets;
}

// Adds the steps before an exchange, or after it, that work by its rows, up to other exchanges. Returns false
// if there are none.
bool ChunkSearch::spread(ChunkChoice& choice, unsigned exchange, bool upwards) {
  llvm::SmallVector<unsigned> stack = {exchange};
  llvm::DenseSet<unsigned> seen = {exchange};
  const unsigned depth = depth_[exchange] + (upwards ? 0 : 1);
  bool any = false;
  while (!stack.empty()) {
    const unsigned step = stack.pop_back_val();
    for (const unsigned next : upwards ? graph_.before(step) : graph_.after(step)) {
      if (is_exchange_[next] || depth_[next] != depth || seen.contains(next)) continue;
      if (upwards ? !isAligned(choice.count, next, step) : !isAligned(choice.count, step, next)) continue;
      seen.insert(next);
      stack.push_back(next);
      choice.in_parts[next] = any = true;
    }
  }
  return any;
}

ChunkChoice ChunkSearch::choose(int64_t count, llvm::ArrayRef<unsigned> exchanges) {
  ChunkChoice choice{.count = count, .in_parts = llvm::SmallVector<bool>(seconds_.size(), false)};
  for (const auto& family : rowExchanges(count).families()) {
    if (llvm::none_of(family, [&](unsigned s) { return llvm::is_contained(exchanges, s); })) continue;
    if (!llvm::all_of(family, [&](unsigned s) { return findParts(s, count).has_value(); })) continue;
    for (const unsigned s : family) choice.in_parts[s] = true;
  }
  for (const unsigned exchange : exchanges) {
    if (!isCandidate(exchange, count) || !findParts(exchange, count)) continue;
    const bool before = spread(choice, exchange, /*upwards=*/true),
               after = spread(choice, exchange, /*upwards=*/false);
    if (before || after) choice.in_parts[exchange] = true;
  }
  return choice;
}

ChunkSearch::Expansion ChunkSearch::expand(const ChunkChoice& choice) {
  Expansion e;
  llvm::SmallVector<unsigned> first;
  const llvm::ArrayRef<Operation*> steps = steps_.front();
  std::map<unsigned, unsigned> begins;  // By group: the first step in parts.
  for (unsigned s = 0; s < steps.size(); ++s) {
    first.push_back(e.parts.size());
    const bool in_parts = choice.in_parts[s];
    if (in_parts) begins.try_emplace(group_[s], s);
    for (int64_t k = 0; k < (in_parts ? choice.count : 1); ++k) {
      e.parts.push_back({s, k});
      e.steps.push_back(steps[s]);
      e.seconds.push_back(in_parts ? findParts(s, choice.count)->seconds : seconds_[s]);
    }
  }
  e.before.resize(e.parts.size());
  e.after.resize(e.parts.size());
  auto nodes = [&](unsigned s) {
    return llvm::seq(first[s], first[s] + (choice.in_parts[s] ? static_cast<unsigned>(choice.count) : 1U));
  };
  for (unsigned s = 0; s < steps.size(); ++s) {
    for (const unsigned next : graph_.after(s)) {
      const bool is_aligned = choice.in_parts[s] && choice.in_parts[next] && isAligned(choice.count, s, next);
      for (const unsigned from : nodes(s)) {
        for (const unsigned to : nodes(next)) {
          if (is_aligned && from - first[s] != to - first[next]) continue;
          e.after[from].push_back(to);
          e.before[to].push_back(from);
        }
      }
    }
  }
  e.sort([&](unsigned n) {
    const auto [step, part] = e.parts[n];
    return std::make_tuple(choice.in_parts[step] ? begins[group_[step]] : step, part, step);
  });
  return e;
}

OrderTimes ChunkSearch::timesOf(const Expansion& e) const {
  auto before = [&](unsigned n) { return llvm::ArrayRef<unsigned>(e.before[n]); };
  auto after = [&](unsigned n) { return llvm::ArrayRef<unsigned>(e.after[n]); };
  const StepDependences dependences = {e.steps, before, after};
  auto seconds = [&](unsigned n) { return e.seconds[n]; };
  const StepCosts costs = {seconds, prices_.speedBesideExchange(ir::DeviceOf(e.steps.front()))};
  OrderTimes best;
  for (const bool known : {false, true}) {
    const auto order = OrderForExchanges(e.order, dependences, kGathersAhead, known ? costs : StepCosts());
    OrderTimes times = TimesInOrder(order, dependences, costs);
    if (!known || times.seconds < best.seconds) best = std::move(times);
  }
  return best;
}

void ChunkSearch::predict(ChunkChoice& choice) { choice.seconds = timesOf(expand(choice)).seconds; }

ChunkChoice ChunkSearch::whole() {
  ChunkChoice choice{.in_parts = llvm::SmallVector<bool>(seconds_.size(), false)};
  if (whole_times_.exposed.empty()) whole_times_ = timesOf(expand(choice));
  choice.seconds = whole_times_.seconds;
  return choice;
}

ChunkChoice ChunkSearch::forced(int64_t count) {
  llvm::SmallVector<unsigned> exchanges;
  for (unsigned s = 0; s < seconds_.size(); ++s) {
    if (isCandidate(s, count)) exchanges.push_back(s);
  }
  return choose(count, exchanges);
}

// Equal exchanges are equally useful.
ChunkChoice ChunkSearch::withoutUseless(ChunkChoice best, llvm::SmallVector<unsigned> exchanges) {
  auto kindOf = [&](unsigned exchange) { return steps_.front()[exchange]->getOperand(0).getType(); };
  llvm::SetVector<mlir::Type> kinds;
  for (const unsigned exchange : exchanges) kinds.insert(kindOf(exchange));
  for (const mlir::Type kind : kinds) {
    llvm::SmallVector<unsigned> others = exchanges;
    llvm::erase_if(others, [&](unsigned exchange) { return kindOf(exchange) == kind; });
    ChunkChoice without = choose(best.count, others);
    predict(without);
    if (without.seconds > best.seconds) continue;
    best = std::move(without);
    exchanges = std::move(others);
  }
  return best;
}

ChunkChoice ChunkSearch::fastest() {
  const ChunkChoice as_given = whole();
  llvm::SmallVector<unsigned> exchanges;
  for (unsigned s = 0; s < seconds_.size(); ++s) {
    if (is_exchange_[s] && whole_times_.exposed[s] > kLeastExposed * seconds_[s]) exchanges.push_back(s);
  }
  ChunkChoice best = as_given;
  for (const int64_t count : kCounts) {
    ChunkChoice choice = choose(count, exchanges);
    if (!choice.any()) continue;
    predict(choice);
    // Still more parts would be slower still.
    if (best.any() && choice.seconds >= best.seconds) break;
    if (choice.seconds < best.seconds) best = std::move(choice);
  }
  if (!best.any()) return as_given;
  best = withoutUseless(std::move(best), exchanges);
  return best.seconds < (1 - kLeastGain) * as_given.seconds ? best : as_given;
}

llvm::SmallVector<StepPart> ChunkSearch::orderOf(const ChunkChoice& choice) {
  const Expansion e = expand(choice);
  return llvm::map_to_vector(e.order, [&](unsigned n) { return e.parts[n]; });
}

std::string ChunkSearch::problemOf(unsigned exchange, int64_t count) {
  Operation* const op = CollectiveOf(steps_.front()[exchange])->op;
  const std::string kind = op->getName().stripDialect().str();
  if (op->getNumOperands() > 1) return "several tensors travel together";
  if (!isCandidate(exchange, count)) return "parts of a " + kind + " would give each rank other rows";
  if (!findParts(exchange, count)) return "its rows do not divide into parts that libraries can read";
  if (!choose(count, exchange).any()) return "no computation beside it works by its rows";
  return "";
}

}  // namespace sinter
