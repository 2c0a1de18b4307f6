// A temporary folder, for tests of the training loop.
//
//   TrainFolder folder;
//   EXPECT_EQ(FileText(folder.File("log")), "...");
#ifndef SINTER_TESTS_FRONTEND_TRAIN_TRAIN_CHECKS_H_
#define SINTER_TESTS_FRONTEND_TRAIN_TRAIN_CHECKS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sinter/tests/frontend/status_checks.h"

namespace sinter {

class TrainFolder {
 public:
  TrainFolder() {
    std::string name = testing::TempDir() + "/sinter_train_XXXXXX";
    path_ = std::filesystem::canonical(mkdtemp(name.data()));
  }
  ~TrainFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
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

inline std::string FileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace sinter

#endif  // SINTER_TESTS_FRONTEND_TRAIN_TRAIN_CHECKS_H_
