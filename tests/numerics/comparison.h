// Compares computed values with those of the reference.
//
//   EXPECT_EQ(Disagreement(got, want, OpClass::kProduct), "");
#ifndef SINTER_TESTS_NUMERICS_COMPARISON_H_
#define SINTER_TESTS_NUMERICS_COMPARISON_H_

#include <string>

#include "sinter/tests/numerics/tolerances.h"
#include "sinter/tests/reference/value.h"

namespace sinter::numerics {

// Returns "" if every element is within the tolerance of `op_class`, else a description of the first element
// outside it. `slack` multiplies the tolerance.
std::string Disagreement(const reference::Value& got, const reference::Value& want, OpClass op_class,
                         double slack = 1);

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_COMPARISON_H_
