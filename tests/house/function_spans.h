// Where the functions of a C++ file begin and end, by indentation: a function ends with the first line below it that
// begins with a brace in its own column. That holds for text that clang-format has laid out.
//
//   for (const FunctionSpan& f : FunctionSpans(file)) EXPECT_LE(f.lines, 70u) << f.signature;
//
// Functions of namespaces, classes and functions (lambdas, inside the function that holds them) are found. Raw strings
// and preprocessor lines, macros of many lines included, are skipped.
#ifndef SINTER_TESTS_HOUSE_FUNCTION_SPANS_H_
#define SINTER_TESTS_HOUSE_FUNCTION_SPANS_H_

#include <string>
#include <vector>

#include "sinter/tests/house/source_tree.h"

namespace sinter::house {

struct FunctionSpan {
  std::string signature;  // Up to its brace, in one line.
  size_t first_line = 0;  // From 1.
  size_t lines = 0;       // The signature's and the closing brace's included.
};

std::vector<FunctionSpan> FunctionSpans(const SourceFile& file);

}  // namespace sinter::house

#endif  // SINTER_TESTS_HOUSE_FUNCTION_SPANS_H_
