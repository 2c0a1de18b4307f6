// Checks that the rooms of a folder include each other downward only, and prints the sizes of folders, files,
// classes and functions.
//
// The CMakeLists.txt of a folder lists its rooms from the bottom up; that list is the law and the table.
#include <algorithm>
#include <cstdio>
#include <map>
#include <regex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/house/class_sizes.h"
#include "sinter/tests/house/function_spans.h"
#include "sinter/tests/house/source_tree.h"

namespace sinter::house {
namespace {

constexpr size_t kMostFilesOfAFolder = 40;

const char* const kFoldersWithRooms[] = {"ir", "passes", "codegen", "runtime", "runtime/cuda", "frontend"};

// Maps the rooms that a folder's CMakeLists.txt lists to their floors, from 1.
std::map<std::string, int> RoomsOf(const std::string& folder) {
  static const std::regex kRoom(R"(#   (= )?([a-z_/.]+): \S.*)");
  std::map<std::string, int> rooms;
  const SourceFile* const lists = FindSource(folder + "/CMakeLists.txt");
  if (lists == nullptr) return rooms;
  int floor = 0;
  for (const std::string& line : lists->lines) {
    std::smatch match;
    if (!std::regex_match(line, match, kRoom)) continue;
    if (!match[1].matched) ++floor;
    EXPECT_TRUE(rooms.emplace(match[2].str(), floor).second)
        << folder << " lists " << match[2].str() << " twice";
  }
  return rooms;
}

// Returns the room that a file or a header of the folder is in: the longest listed one above it, else ".";
// empty outside of the folder.
std::string RoomOf(const std::string& folder, const std::map<std::string, int>& rooms,
                   const std::string& path) {
  if (path.rfind(folder + "/", 0) != 0) return "";
  std::string rest = path.substr(folder.size() + 1);
  while (rest.find('/') != std::string::npos) {
    rest = rest.substr(0, rest.rfind('/'));
    if (rooms.count(rest) != 0) return rest;
  }
  return ".";
}

bool IsProduct(const SourceFile& file) {
  static const std::regex kProduct("(ir|passes|codegen|runtime|kernels|frontend|tools)/.*\\.(cc|h|td)");
  return std::regex_match(file.path, kProduct);
}

TEST(RoomsTest, IncludesGoDownward) {
  static const std::regex kInclude(R"re(^\s*#?\s*include\s*"sinter/([^"]+)")re");
  for (const std::string folder : kFoldersWithRooms) {
    const std::map<std::string, int> rooms = RoomsOf(folder);
    ASSERT_GE(rooms.size(), 5u) << folder << "/CMakeLists.txt does not list its rooms";
    int includes = 0;
    for (const SourceFile& file : SourceTree()) {
      const std::string from = RoomOf(folder, rooms, file.path);
      if (from.empty() || !IsProduct(file)) continue;
      ASSERT_EQ(rooms.count(from), 1u)
          << file.path << " is in no room that " << folder << "/CMakeLists.txt lists";
      for (const std::string& line : file.lines) {
        std::smatch match;
        if (!std::regex_search(line, match, kInclude)) continue;
        const std::string to = RoomOf(folder, rooms, match[1].str());
        if (to.empty() || to == from) continue;
        ++includes;
        EXPECT_LT(rooms.at(to), rooms.at(from)) << file.path << " includes " << match[1].str();
      }
    }
    EXPECT_GT(includes, 5) << folder;
  }
}

TEST(RoomsTest, EveryRoomExists) {
  for (const std::string folder : kFoldersWithRooms) {
    for (const auto& [room, floor] : RoomsOf(folder)) {
      const std::string path = room == "." ? folder : folder + "/" + room;
      EXPECT_TRUE(std::ranges::any_of(SourceTree(), [&](const SourceFile& f) { return f.Folder() == path; }))
          << folder << "/CMakeLists.txt lists " << room << ", which has no files";
    }
  }
}

TEST(RoomsTest, FoldersAreSmall) {
  std::map<std::string, size_t> files;
  for (const SourceFile& file : SourceTree()) ++files[file.Folder()];
  for (const auto& [folder, count] : files) {
    EXPECT_LE(count, kMostFilesOfAFolder) << folder << " has " << count << " files of its own: give it rooms";
  }
}

struct Size {
  size_t lines;
  std::string name;
};

void Print(const char* what, std::vector<Size> sizes) {
  ASSERT_FALSE(sizes.empty()) << what;
  std::ranges::sort(sizes, {}, &Size::lines);
  const Size& longest = sizes.back();
  std::printf("%-10s %5zu  median %4zu  95th percentile %4zu  longest %4zu  %s\n", what, sizes.size(),
              sizes[sizes.size() / 2].lines, sizes[sizes.size() * 95 / 100].lines, longest.lines,
              longest.name.c_str());
}

// Asserts nothing of the distribution: tidy_test.cc holds the limits. What it prints shows where the tree
// grows.
TEST(RoomsTest, PrintsTheSizes) {
  std::vector<Size> files, functions, classes;
  for (const SourceFile& file : SourceTree()) {
    if (!IsProduct(file)) continue;
    files.push_back({file.lines.size(), file.path});
    if (file.EndsWith(".td")) continue;
    for (const FunctionSpan& f : FunctionSpans(file)) {
      functions.push_back({static_cast<size_t>(f.lines), file.path + ":" + std::to_string(f.first_line)});
    }
  }
  for (const ClassSize& c : ClassSizes()) classes.push_back({c.lines, c.name + ", " + c.path});
  Print("files", std::move(files));
  Print("classes", std::move(classes));
  Print("functions", std::move(functions));
}

}  // namespace
}  // namespace sinter::house
