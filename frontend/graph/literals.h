// Numbers that a program writes into calls, as `x * 0.5` and Clamp(x, 0, 6) do, and the element types that they meet.
//
//   std::optional<ir::Expr> half = Literal(call, 0.5, F32, {2, 3});    // A splat.
//   if (!half) return {};                                             // The element type does not hold it.
#ifndef SINTER_FRONTEND_GRAPH_LITERALS_H_
#define SINTER_FRONTEND_GRAPH_LITERALS_H_

#include <optional>
#include <string>

#include "sinter/frontend/graph/graph_state.h"

namespace sinter {

// False, with an error kept that names a fix, when `dtype` does not hold the number (CheckNumber in runtime/host/number.h).
bool CheckLiteral(Call& call, const Number& number, DType dtype);

// The number everywhere in a tensor; exact, floats rounded once. Null, with an error kept, when `dtype` does not hold it.
std::optional<ir::Expr> Literal(Call& call, const Number& number, DType dtype, const Shape& shape);

// "mixes element types; ..." with the cast that loses the least.
std::string MixedTypes(DType a, DType b);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_LITERALS_H_
