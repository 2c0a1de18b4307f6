// Branches in a graph: one of several bodies runs, as a value of the run decides.
//
//   Tensor y = Cond(b.Input("train", I1, {}), [&] { return Dropout(x); }, [&] { return x; });
//   Cond(is_due, [&] { optim::Adam{}.Minimize(loss); });            // Changes variables, or does not.
//   Tensor z = Switch(kind, {[&] { return Relu(x); }, [&] { return Tanh(x); }});
//
// All bodies are built; each is compiled into the plan; a run takes the time of one. A body may use any
// tensor from around it, read and assign variables; a variable that the body that runs does not assign keeps
// its value. Bodies return trees of tensors (frontend/graph/tree.h) of the same types, or nothing. A tensor
// leaves a body only by return. Inputs and outputs inside are errors. Select (frontend/ops/ops.h) chooses
// between values element by element, and is quicker for a few pointwise ops.
//
// Gradients flow through the body that ran, to the tensors from around. A body may take the gradients of a
// loss that was computed before it, which are then computed there, whichever body runs; a loss inside the
// body has its gradients inside. On a GPU no host takes part.
#ifndef SINTER_FRONTEND_CONTROL_BRANCHES_H_
#define SINTER_FRONTEND_CONTROL_BRANCHES_H_

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "sinter/frontend/control/loops.h"
#include "sinter/frontend/graph/tensor.h"
#include "sinter/frontend/graph/tree.h"

namespace sinter {
namespace internal_branches {

// Returns what a body returns; None if it returns nothing.
template <typename Body>
auto ResultOf(Body& body) {
  if constexpr (std::is_void_v<decltype(body())>) {
    body();
    return None{};
  } else {
    return body();
  }
}

// False, with an error of `name` kept, unless the tensors have the types of `others`.
bool CheckTypes(const char* name, const std::vector<Tensor>& tensors, const std::vector<Tensor>& others,
                Where where);

// The body's tree where the guard holds. Elsewhere its tensors are those of `others`; if there are none, they
// do not matter.
template <typename Body>
auto Branch(const char* name, const Tensor& guard, const std::vector<Tensor>* others, Body& body,
            Where where) {
  using internal_loops::Put, internal_loops::TensorsOf;
  std::vector<Tensor> first = {guard};
  if (others != nullptr) first.insert(first.end(), others->begin(), others->end());
  decltype(ResultOf(body)) tree{};
  internal_loops::Building branch({.name = name,
                                   .first = std::move(first),
                                   .xs = {},
                                   .steps = Steps{1},
                                   .is_guarded = true,
                                   .is_default = others == nullptr},
                                  where);
  std::vector<Tensor> results;
  if (branch.ok()) {
    tree = ResultOf(body);
    std::vector<Tensor> next = {branch.carries()[0]};
    for (const Tensor& tensor : TensorsOf(tree)) next.push_back(tensor);
    if (others == nullptr || CheckTypes(name, TensorsOf(tree), *others, where)) {
      results = branch.Finish(next, {});
    }
  }
  Put(results, 1, tree);
  return tree;
}

// i1[]: whether `index`, clamped to 0 and count - 1, is `i`. Not ok, with an error kept, if the index is not
// an i32[] or i64[].
Tensor IsChosen(const Tensor& index, int64_t i, int64_t count, Where where);

// !condition; not ok, with an error kept, if it is not an i1[].
Tensor IsNot(const Tensor& condition, Where where);

void FailWithoutBranches(const Tensor& index, Where where);

}  // namespace internal_branches

// Returns what `then` returns if `condition`, i1[], is true, else what `otherwise` returns. Errors: a
// condition of another type, bodies that return different trees.
template <typename Then, typename Otherwise>
auto Cond(const Tensor& condition, Then then, Otherwise otherwise, Where where = Where::current()) {
  using internal_branches::Branch;
  auto other = Branch("Cond", internal_branches::IsNot(condition, where), nullptr, otherwise, where);
  const std::vector<Tensor> others = internal_loops::TensorsOf(other);
  auto result = Branch("Cond", condition, &others, then, where);
  static_assert(std::is_same_v<decltype(result), decltype(other)>,
                "both bodies of Cond must return the same C++ type");
  if constexpr (!std::is_same_v<decltype(result), None>) return result;
}

// Runs `then`, which returns nothing, if `condition`, i1[], is true.
template <typename Then>
  requires std::is_void_v<std::invoke_result_t<Then>>
void Cond(const Tensor& condition, Then then, Where where = Where::current()) {
  const std::vector<Tensor> none;
  internal_branches::Branch("Cond", condition, &none, then, where);
}

// Returns what the body number `index`, i32[] or i64[], returns. An index below 0 is 0, one above the last
// body is the last, as in jax.lax.switch. Errors: an index of another type, bodies that return different
// types, no bodies.
template <typename T>
T Switch(const Tensor& index, std::vector<std::function<T()>> bodies, Where where = Where::current()) {
  using internal_branches::Branch, internal_branches::IsChosen;
  T result{};
  if (bodies.empty()) {
    internal_branches::FailWithoutBranches(index, where);
    return result;
  }
  const auto count = static_cast<int64_t>(bodies.size());
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<Tensor> others = internal_loops::TensorsOf(result);
    result = Branch("Switch", IsChosen(index, i, count, where), i == 0 ? nullptr : &others,
                    bodies[static_cast<size_t>(i)], where);
  }
  return result;
}

}  // namespace sinter

#endif  // SINTER_FRONTEND_CONTROL_BRANCHES_H_
