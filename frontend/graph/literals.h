// Numbers in calls, as in `x * 0.5` and Clamp(x, 0, 6), and the element types that must hold them.
//
//   std::optional<ir::Expr> half = Literal(call, 0.5, F32, {2, 3});    // A splat.
//   if (!half) return {};                                              // F32 cannot hold the number.
#ifndef SINTER_FRONTEND_GRAPH_LITERALS_H_
#define SINTER_FRONTEND_GRAPH_LITERALS_H_

#include <optional>
#include <string>

#include "sinter/frontend/graph/graph_state.h"

namespace sinter {

// True if `dtype` holds the number (CheckNumber in runtime/host/number.h). Else keeps an error that suggests
// a fix.
bool CheckLiteral(Call& call, const Number& number, DType dtype);

// A splat of the number: exact for integers, rounded once for floats. nullopt, with an error kept, if `dtype`
// cannot hold it.
std::optional<ir::Expr> Literal(Call& call, const Number& number, DType dtype, const Shape& shape);

// Returns "takes numbers; ..." with the cast that makes numbers of the type, which has no arithmetic.
std::string NotNumbers(DType dtype);

// Returns "mixes element types; ..." with the cast that loses the least.
std::string MixedTypes(DType a, DType b);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_LITERALS_H_
