// A folder that is removed with all files when the test ends, and reads of whole files.
//
//   const ScratchFolder folder;
//   EXPECT_EQ(ReadAll(folder.Write("log", "text")), "text");
#ifndef SINTER_TESTS_TEMPORARY_FOLDER_H_
#define SINTER_TESTS_TEMPORARY_FOLDER_H_

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sinter {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = testing::TempDir() + "/sinter_test_XXXXXX";
    path_ = std::filesystem::canonical(mkdtemp(name.data()));
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  std::string File(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

  std::string Write(const std::string& name, const std::string& contents) const {
    std::ofstream(File(name), std::ios::binary) << contents;
    return File(name);
  }

  std::vector<std::string> List() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

 private:
  std::string path_;
};

inline std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace sinter

#endif  // SINTER_TESTS_TEMPORARY_FOLDER_H_
