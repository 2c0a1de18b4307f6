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
// Gradients flow through Scan to its first carries, its slices and the tensors from around.
#ifndef SINTER_FRONTEND_OPS_LOOPS_H_
#define SINTER_FRONTEND_OPS_LOOPS_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
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
  // about one more forward pass.
  int64_t segments = 1;
};

namespace internal_loops {

// A loop while it is built. After an error the graph keeps it, and ok() is false.
class Building {
 public:
  Building(std::vector<Tensor> first, std::vector<Tensor> xs, std::optional<Steps> steps, ScanOptions options,
           Where where);
  ~Building();  // Drops an unfinished body.
  Building(const Building&) = delete;
  Building& operator=(const Building&) = delete;

  bool ok() const;
  // The arguments of the body.
  Tensor trip() const;
  const std::vector<Tensor>& carries() const;
  const std::vector<Tensor>& slices() const;
  // Ends the body. Returns the last carries, then the stacks; empty after an error.
  std::vector<Tensor> Finish(const std::vector<Tensor>& next, const std::vector<Tensor>& stacked);

 private:
  struct State;
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
  Building loop(TensorsOf(first), kCounts ? std::vector<Tensor>() : TensorsOf(xs), steps, options, where);
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

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_LOOPS_H_
