// Trees of tensors: what modules take and return.
//
// A tree is a Tensor; an optional, pointer, vector, array, pair or tuple of trees; or a struct of trees. A
// struct is an aggregate without base classes and C arrays, and of at most 12 fields. Anything else, such as
// a number, is a tree without tensors.
//
//   struct LstmState { Tensor h, c; };
//   ForEachTensor(state, [&](Tensor& tensor) { ... });       // h, then c.
#ifndef SINTER_FRONTEND_GRAPH_TREE_H_
#define SINTER_FRONTEND_GRAPH_TREE_H_

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "sinter/frontend/graph/tensor.h"

namespace sinter {
namespace internal_tree {

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <typename T, size_t N>
inline constexpr bool kIsList<std::array<T, N>> = true;
template <typename T>
inline constexpr bool kIsTuple = false;
template <typename... T>
inline constexpr bool kIsTuple<std::tuple<T...>> = true;
template <typename T, typename U>
inline constexpr bool kIsTuple<std::pair<T, U>> = true;

template <typename T>
concept Struct = std::is_class_v<T> && std::is_aggregate_v<T> && !kIsList<T>;

// Initialises a field of any type but the struct's own. Never evaluated.
template <typename Whole>
struct AnyField {
  template <typename T>
    requires(!std::same_as<std::remove_cvref_t<T>, Whole>)
  operator T&() const;
  template <typename T>
    requires(!std::same_as<std::remove_cvref_t<T>, Whole>)
  operator T&&() const;
};

template <typename T, size_t... I>
consteval bool TakesFields(std::index_sequence<I...>) {
  return requires { T{((void)I, AnyField<T>())...}; };
}

// The number of the struct's fields.
template <typename T, size_t N = 12>
consteval size_t CountFields() {
  if constexpr (N == 0 || TakesFields<T>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return CountFields<T, N - 1>();
  }
}

// Calls `use` with references to the struct's fields.
template <typename T, typename F>
void WithFields(T& s, const F& use) {
  constexpr size_t kCount = CountFields<std::remove_const_t<T>>();
  if constexpr (kCount == 0) {
    use();
  } else if constexpr (kCount == 1) {
    auto& [a] = s;
    use(a);
  } else if constexpr (kCount == 2) {
    auto& [a, b] = s;
    use(a, b);
  } else if constexpr (kCount == 3) {
    auto& [a, b, c] = s;
    use(a, b, c);
  } else if constexpr (kCount == 4) {
    auto& [a, b, c, d] = s;
    use(a, b, c, d);
  } else if constexpr (kCount == 5) {
    auto& [a, b, c, d, e] = s;
    use(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    auto& [a, b, c, d, e, f] = s;
    use(a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    auto& [a, b, c, d, e, f, g] = s;
    use(a, b, c, d, e, f, g);
  } else if constexpr (kCount == 8) {
    auto& [a, b, c, d, e, f, g, h] = s;
    use(a, b, c, d, e, f, g, h);
  } else if constexpr (kCount == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = s;
    use(a, b, c, d, e, f, g, h, i);
  } else if constexpr (kCount == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = s;
    use(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (kCount == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
    use(a, b, c, d, e, f, g, h, i, j, k);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
    use(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}

}  // namespace internal_tree

// Calls `use` with each tensor of the tree, in order.
template <typename T, typename F>
void ForEachTensor(T& tree, const F& use) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::same_as<Plain, Tensor>) {
    use(tree);
  } else if constexpr (internal_tree::kIsOptional<Plain>) {
    if (tree.has_value()) ForEachTensor(*tree, use);
  } else if constexpr (std::is_pointer_v<Plain>) {
    if constexpr (std::is_object_v<std::remove_pointer_t<Plain>>) {
      if (tree != nullptr) ForEachTensor(*tree, use);
    }
  } else if constexpr (internal_tree::kIsList<Plain>) {
    if constexpr (!std::is_arithmetic_v<typename Plain::value_type>) {
      for (auto& element : tree) ForEachTensor(element, use);
    }
  } else if constexpr (internal_tree::kIsTuple<Plain>) {
    std::apply([&](auto&... elements) { (ForEachTensor(elements, use), ...); }, tree);
  } else if constexpr (internal_tree::Struct<Plain>) {
    internal_tree::WithFields(tree, [&](auto&... fields) { (ForEachTensor(fields, use), ...); });
  }
}

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_TREE_H_
