#include "sinter/tests/house/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace sinter::house {

namespace fs = std::filesystem;

bool SourceFile::EndsWith(const std::string& suffix) const {
  return path.size() >= suffix.size() &&
         path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
}
std::string SourceFile::Folder() const { return fs::path(path).parent_path().string(); }
std::string SourceFile::Name() const { return fs::path(path).filename().string(); }
std::string SourceFile::Text() const {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

namespace {

bool IsSource(const fs::path& path) {
  static const std::set<std::string> kKinds = {".cc",    ".h",  ".td",  ".mlir", ".fbs",
                                               ".cmake", ".cu", ".cuh", ".py"};
  return kKinds.count(path.extension().string()) != 0 || path.filename() == "CMakeLists.txt";
}

std::vector<std::string> ReadLines(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<SourceFile> Read() {
  std::vector<SourceFile> files;
  const fs::path root = SINTER_SOURCE_DIR;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
    std::string name = it->path().filename().string();
    if (it->is_directory() && (name[0] == '.' || name == "build" || name == "shared")) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file() || !IsSource(it->path())) continue;
    SourceFile file{fs::relative(it->path(), root).string(), {}};
    file.lines = ReadLines(it->path());
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace

const std::vector<SourceFile>& SourceTree() {
  static const auto* files = new std::vector<SourceFile>(Read());
  return *files;
}

const SourceFile* FindSource(const std::string& path) {
  for (const SourceFile& file : SourceTree()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

std::vector<std::string> ReadDocument(const std::string& path) {
  return ReadLines(fs::path(SINTER_SOURCE_DIR) / path);
}

}  // namespace sinter::house
