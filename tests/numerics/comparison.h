// Compares values with those of the reference.
//
//   EXPECT_EQ(Disagreement(got, want, OpClass::kProduct), "");
#ifndef SINTER_TESTS_NUMERICS_COMPARISON_H_
#define SINTER_TESTS_NUMERICS_COMPARISON_H_

#include <string>

#include "sinter/tests/numerics/tolerances.h"
#include "sinter/tests/reference/value.h"

namespace sinter::numerics {

// Empty when every element is within the table's tolerance, else what is wrong with the first one that is not. `slack`
// multiplies the tolerance.
std::string Disagreement(const reference::Value& got, const reference::Value& want, OpClass op_class,
                         double slack = 1);

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_COMPARISON_H_
