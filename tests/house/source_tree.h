// The repository's text files, for the tests of the house rules.
//
//   for (const SourceFile& file : SourceTree()) { file.path; file.lines; }      // "ir/dialect/dialect.h"
#ifndef SINTER_TESTS_HOUSE_SOURCE_TREE_H_
#define SINTER_TESTS_HOUSE_SOURCE_TREE_H_

#include <string>
#include <vector>

namespace sinter::house {

struct SourceFile {
  std::string path;                // Relative to the repository's root.
  std::vector<std::string> lines;  // Without line ends.

  bool EndsWith(const std::string& suffix) const;
  std::string Folder() const;  // "codegen/cpu".
  std::string Name() const;    // "loop_nest.cc".
  std::string Text() const;
};

// Returns every source, header, record, test and CMake file, sorted by path, without build and hidden
// folders.
const std::vector<SourceFile>& SourceTree();
// Null if there is no such file.
const SourceFile* FindSource(const std::string& path);
// Returns the lines of a document, such as "docs/ops.md"; none if there is no such file.
std::vector<std::string> ReadDocument(const std::string& path);

}  // namespace sinter::house

#endif  // SINTER_TESTS_HOUSE_SOURCE_TREE_H_
