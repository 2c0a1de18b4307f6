// The sizes of the product's classes, by their lines in all files.
//
//   for (const ClassSize& c : ClassSizes()) EXPECT_LE(c.lines, 500u) << c.name;
//
// A class has the lines of its body and those of its methods outside of the body, which are looked for in its
// own folder.
#ifndef SINTER_TESTS_HOUSE_CLASS_SIZES_H_
#define SINTER_TESTS_HOUSE_CLASS_SIZES_H_

#include <string>
#include <vector>

namespace sinter::house {

struct ClassSize {
  std::string name;
  std::string path;  // The file of the body.
  size_t lines = 0;  // Body and outside methods.
  size_t outside_methods = 0;
};

// Returns the classes and structs of ir, passes, codegen, runtime, kernels, frontend and tools.
std::vector<ClassSize> ClassSizes();

}  // namespace sinter::house

#endif  // SINTER_TESTS_HOUSE_CLASS_SIZES_H_
