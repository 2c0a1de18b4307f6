// Loops in a graph: a body is built once and runs many times, in one run of the function.
//
//   struct State { Tensor h, c; };
//   auto [last, hs] = Scan(State{h0, c0}, x_by_time, [&](State s, Tensor x) {   // x_by_time: f32[T,N,D]
//     s = Cell(s, x);
//     return std::pair(s, s.h);                         // The next state, and what to stack.
//   });                                                 // hs: f32[T,N,H]
//
// Carries, slices and results are trees of tensors (frontend/graph/tree.h). A body may use any tensor from
// around it, and read variables. A variable that it assigns is carried from trip to trip; a later read gets
// the value after the last trip. So an optimizer in a body makes a training step in each trip. Random
// numbers differ between trips. A tensor leaves a body only by return; using it outside otherwise is an
// error, and so are inputs and outputs inside.
//
//   struct Root { Tensor x, step; };
//   auto [x, step] = While(Root{x0, b.Zeros(I64, {})},
//                          [&](const Root& r) { return Norm(F(r.x)) > 1e-6; },
//                          [&](const Root& r) { return Root{r.x - F(r.x) / dF(r.x), r.step + 1}; });
//
// Gradients flow through Scan to its first carries, its slices and the tensors from around, and through a
// While with a bound to its first carries and the tensors from around. Gradients that a body takes of a loss
// of its own go through the ops of the body alone: a tensor from around counts as a constant of the loss.
#ifndef SINTER_FRONTEND_CONTROL_LOOPS_H_
#define SINTER_FRONTEND_CONTROL_LOOPS_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sinter/frontend/graph/tensor.h"
#include "sinter/frontend/graph/tree.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {

// A tree without tensors.
struct None {};

// In place of slices: the body gets the number of its trip, i64[], from 0 to count - 1.
struct Steps {
  int64_t count = 0;
};

struct ScanOptions {
  // Runs from the last slice to the first. Stacks stay in the order of the slices.
  bool reverse = false;
  // The number of equal parts into which the trips are cut. The gradient then keeps only the carries at the
  // starts of the parts, and computes each part again when it comes to it. With S parts of T trips it keeps
  // S carries and what T / S trips need, which is least at an S of about sqrt(T). This takes the time of
  // about one more forward pass. CompileOptions::memory_limit cuts loops by itself.
  int64_t segments = 1;
};

struct WhileOptions {
  // The most trips. A gradient needs such a bound: it keeps the carries of as many trips, and goes through
  // all of them, though those that were not made take little time.
  int64_t at_most = (int64_t{1} << 31) - 1;
};

namespace internal_loops {

// The parts of a loop before its body.
struct Form {
  const char* name;
  std::vector<Tensor> first = {}, xs = {};
  std::optional<Steps> steps = std::nullopt;
  bool reverse = false;
  bool is_guarded = false;  // The first carry says whether there is a further trip.
  bool is_default = false;  // True if nobody reads the results when the guard is false.
};

// Returns why the tensor cannot be a guard, as the rest of an error; empty if it can.
std::string WhyNoGuard(const Tensor& guard);

// A loop while it is built. After an error the graph keeps it, and ok() is false.
class Building {
 public:
  Building(Form form, Where where);
  ~Building();  // Drops an unfinished body.
  Building(const Building&) = delete;
  Building& operator=(const Building&) = delete;

  bool ok() const;
  // The arguments of the body.
  Tensor trip() const;
  const std::vector<Tensor>& carries() const;
  const std::vector<Tensor>& slices() const;
  // Ends the body. Returns the last carries, then the stacks; empty after an error. A guarded loop of one
  // trip may give more than it takes: values that are zeros if its guard does not hold.
  std::vector<Tensor> Finish(const std::vector<Tensor>& next, const std::vector<Tensor>& stacked);

 private:
  struct State;
  bool CheckReturned(const std::vector<Tensor>& next, const std::vector<Tensor>& stacked);

  std::unique_ptr<State> state_;
};

template <typename T>
std::vector<Tensor> TensorsOf(T& tree) {
  std::vector<Tensor> tensors;
  ForEachTensor(tree, [&](const Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

// Puts the tensors into the tree in order, from `begin`; returns the number behind the last.
template <typename T>
size_t Put(const std::vector<Tensor>& tensors, size_t begin, T& tree) {
  ForEachTensor(tree, [&](Tensor& tensor) { tensor = begin < tensors.size() ? tensors[begin++] : Tensor(); });
  return begin;
}

// One loop, without segments.
template <typename C, typename X, typename Body>
auto Run(const C& first, const X& xs, Body& body, ScanOptions options, Where where) {
  constexpr bool kCounts = std::same_as<X, Steps>;
  using Slice = std::conditional_t<kCounts, Tensor, X>;
  using Y = std::remove_cvref_t<decltype(body(std::declval<C>(), std::declval<Slice>()).second)>;
  std::pair<C, Y> result{first, Y()};
  std::optional<Steps> steps;
  if constexpr (kCounts) steps = xs;
  Building loop({.name = "Scan",
                 .first = TensorsOf(first),
                 .xs = kCounts ? std::vector<Tensor>() : TensorsOf(xs),
                 .steps = steps,
                 .reverse = options.reverse},
                where);
  std::vector<Tensor> results;
  if (loop.ok()) {
    C carry = first;
    Put(loop.carries(), 0, carry);
    Slice slice;
    if constexpr (kCounts) {
      slice = loop.trip();
    } else {
      slice = xs;
      Put(loop.slices(), 0, slice);
    }
    auto next = body(std::move(carry), std::move(slice));
    results = loop.Finish(TensorsOf(next.first), TensorsOf(next.second));
    result = std::move(next);
  }
  const size_t stacks = Put(results, 0, result.first);
  Put(results, stacks, result.second);
  return result;
}

// Keeps an error unless the segments divide the trips. Returns the trips of a segment; 0 after an error.
int64_t TripsOfSegment(const std::vector<Tensor>& tensors, std::optional<Steps> steps, int64_t segments,
                       Where where);
// [T, ...] as [segments, T / segments, ...], and back.
Tensor Cut(const Tensor& x, int64_t segments, Where where);
Tensor Join(const Tensor& x, Where where);

// A loop over segments, each of which is a loop.
template <typename C, typename X, typename Body>
auto RunSegments(const C& first, const X& xs, Body& body, ScanOptions options, Where where) {
  using Result = decltype(Run(first, xs, body, options, where));
  Result result{first, {}};
  if constexpr (std::same_as<X, Steps>) {
    const int64_t each = TripsOfSegment(TensorsOf(first), xs, options.segments, where);
    if (each == 0) return result;
    auto segment = [&](const C& start, const Tensor& outer) {
      auto trip = [&](const C& carry, const Tensor& inner) { return body(carry, outer * each + inner); };
      return Run(start, Steps{each}, trip, options, where);
    };
    result = Run(first, Steps{options.segments}, segment, options, where);
  } else {
    const int64_t each = TripsOfSegment(TensorsOf(xs), std::nullopt, options.segments, where);
    if (each == 0) return result;
    X cut = xs;
    ForEachTensor(cut, [&](Tensor& x) { x = Cut(x, options.segments, where); });
    auto segment = [&](const C& start, const X& part) { return Run(start, part, body, options, where); };
    result = Run(first, cut, segment, options, where);
  }
  ForEachTensor(result.second, [&](Tensor& stack) { stack = Join(stack, where); });
  return result;
}

}  // namespace internal_loops

// Runs `body` for each slice of `xs` along dimension 0, or Steps::count times. `body` takes a C and a slice
// (a tree like `xs`, each tensor without its first dimension; with Steps a Tensor) and returns std::pair(the
// next C, a tree of what to stack). Returns the last C and the stacks, in which each tensor has a new
// dimension 0. Errors: tensors of `xs` that differ in dimension 0, or carries that change their type.
template <typename C, typename X, typename Body>
auto Scan(const C& first, const X& xs, Body body, ScanOptions options = {}, Where where = Where::current()) {
  return options.segments > 1 ? internal_loops::RunSegments(first, xs, body, options, where)
                              : internal_loops::Run(first, xs, body, options, where);
}

// Runs `body`, which takes the number of the trip, i64[], and returns nothing, `count` times: for what
// variables carry.
//
//   Repeat(8, [&](Tensor) { optim::Adam{}.Minimize(Loss(model(Draw(b)))); });
template <typename Body>
void Repeat(int64_t count, Body body, Where where = Where::current()) {
  Scan(
      None{}, Steps{count},
      [&](None none, const Tensor& trip) {
        body(trip);
        return std::pair(none, none);
      },
      {}, where);
}

// Runs `body`, which takes a C and returns the next, as long as `condition`, which takes a C and returns an
// i1[], is true: before the first trip too. Returns the last C. On a GPU no host takes part, unless the body
// factors matrices. Errors: a condition of another type, carries that change type, `at_most` below 0.
template <typename C, typename Condition, typename Body>
C While(const C& first, Condition condition, Body body, WhileOptions options = {},
        Where where = Where::current()) {
  std::vector<Tensor> carries = {condition(first)};
  for (const Tensor& tensor : internal_loops::TensorsOf(first)) carries.push_back(tensor);
  internal_loops::Building loop(
      {.name = "While", .first = std::move(carries), .steps = Steps{options.at_most}, .is_guarded = true},
      where);
  C last = first;
  std::vector<Tensor> results;
  if (loop.ok()) {
    internal_loops::Put(loop.carries(), 1, last);
    last = body(std::move(last));
    std::vector<Tensor> next = {condition(last)};
    for (const Tensor& tensor : internal_loops::TensorsOf(last)) next.push_back(tensor);
    results = loop.Finish(next, {});
  }
  internal_loops::Put(results, 1, last);
  return last;
}

}  // namespace sinter

#endif  // SINTER_FRONTEND_CONTROL_LOOPS_H_
