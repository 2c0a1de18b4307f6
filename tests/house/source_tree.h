// The repository's own text files, for the tests that keep the house in order.
//
//   for (const SourceFile& file : SourceTree()) { file.path; file.lines; }      // "ir/dialect/dialect.h"
#ifndef SINTER_TESTS_HOUSE_SOURCE_TREE_H_
#define SINTER_TESTS_HOUSE_SOURCE_TREE_H_

#include <string>
#include <vector>

namespace sinter::house {

struct SourceFile {
  std::string path;                // From the repository's root.
  std::vector<std::string> lines;  // Without line ends.

  bool EndsWith(const std::string& suffix) const;
  std::string Folder() const;  // "codegen/cpu".
  std::string Name() const;    // "loop_nest.cc".
  std::string Text() const;
};

// Every source, header, record, test and CMake file, sorted by path; build folders and hidden ones are left out.
const std::vector<SourceFile>& SourceTree();
// Null when there is no such file.
const SourceFile* FindSource(const std::string& path);

}  // namespace sinter::house

#endif  // SINTER_TESTS_HOUSE_SOURCE_TREE_H_
