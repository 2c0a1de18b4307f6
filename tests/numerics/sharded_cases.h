// The cases of the table of ops, and cases of rules (ir/dialect/factor_rule.h) that the table lacks.
//
//   for (const OpCase& c : ShardedCases()) ...
#ifndef SINTER_TESTS_NUMERICS_SHARDED_CASES_H_
#define SINTER_TESTS_NUMERICS_SHARDED_CASES_H_

#include <vector>

#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {

std::vector<OpCase> ShardedCases();

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_SHARDED_CASES_H_
