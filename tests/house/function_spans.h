// Finds the functions of a C++ file by indentation.
//
// A function ends with the first line below its signature that
// begins with a brace in its own column. That holds for text that clang-format has laid out.
//
//   for (const FunctionSpan& f : FunctionSpans(file)) EXPECT_LE(f.lines, 70u) << f.signature;
//
// Functions of namespaces and classes are found, and lambdas inside functions. Raw strings and preprocessor
// lines (also macros of several lines) are skipped.
#ifndef SINTER_TESTS_HOUSE_FUNCTION_SPANS_H_
#define SINTER_TESTS_HOUSE_FUNCTION_SPANS_H_

#include <string>
#include <vector>

#include "sinter/tests/house/source_tree.h"

namespace sinter::house {

struct FunctionSpan {
  std::string signature;  // The text up to the brace, on one line.
  size_t first_line = 0;  // Counts from 1.
  size_t lines = 0;       // Includes the signature and the closing brace.
};

std::vector<FunctionSpan> FunctionSpans(const SourceFile& file);

}  // namespace sinter::house

#endif  // SINTER_TESTS_HOUSE_FUNCTION_SPANS_H_
