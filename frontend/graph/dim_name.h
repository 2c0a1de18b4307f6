// DimName: the name of a dimension of a variable, for tactics that cut variables by name
// (compile/parallel.h).
//
//   VariableOptions options{.dims = {"", "mlp"}};       // [768, 3072]: the hidden units.
//   options.dims = {"", {{3}, {12, "heads"}, {64}}};    // [768, 2304]: q, k, v of 12 heads of 64.
//
// A dimension may be a product of extents, major first, each with a name of its own. Layers name the
// dimensions of their parameters: nn::MultiHeadAttention its "heads", nn::Embedding its "vocabulary".
#ifndef SINTER_FRONTEND_GRAPH_DIM_NAME_H_
#define SINTER_FRONTEND_GRAPH_DIM_NAME_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace sinter {

struct NamedExtent {
  int64_t size = 0;
  std::string name = {};  // A letter, then letters, digits and underscores. Empty: no name.
};

struct DimName {
  std::string name = {};                  // The name of all of the dimension. Empty: no name, or `extents`.
  std::vector<NamedExtent> extents = {};  // Their product is the dimension's size.

  DimName() = default;
  DimName(const char* all) : name(all) {}             // NOLINT(google-explicit-constructor)
  DimName(std::string all) : name(std::move(all)) {}  // NOLINT(google-explicit-constructor)
  // NOLINTNEXTLINE(google-explicit-constructor)
  DimName(std::initializer_list<NamedExtent> list) : extents(list) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  DimName(std::vector<NamedExtent> list) : extents(std::move(list)) {}

  bool empty() const { return name.empty() && extents.empty(); }
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_DIM_NAME_H_
