// The house rules that a machine can check.
#include <cctype>
#include <optional>
#include <regex>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/house/class_sizes.h"
#include "sinter/tests/house/function_spans.h"
#include "sinter/tests/house/source_tree.h"

namespace sinter::house {
namespace {

constexpr size_t kMostLines = 500;
constexpr size_t kMostFunctionLines = 70;
constexpr size_t kMostClassLines = 400, kMostMethods = 24;

bool IsCode(const SourceFile& file) {
  return file.EndsWith(".cc") || file.EndsWith(".h") || file.EndsWith(".cu") || file.EndsWith(".cuh");
}

// Returns "fold_constants" for "FoldConstants".
std::string SnakeCase(const std::string& name) {
  std::string snake;
  for (char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !snake.empty()) snake += '_';
    snake += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return snake;
}

TEST(TidyTest, FilesAreShort) {
  for (const SourceFile& file : SourceTree()) {
    EXPECT_LE(file.lines.size(), kMostLines) << file.path << " has " << file.lines.size() << " lines";
  }
}

TEST(TidyTest, FunctionsAreShort) {
  size_t functions = 0;
  for (const SourceFile& file : SourceTree()) {
    if (!IsCode(file)) continue;
    for (const FunctionSpan& f : FunctionSpans(file)) {
      EXPECT_LE(f.lines, kMostFunctionLines)
          << file.path << ":" << f.first_line << ": " << f.signature << "has " << f.lines << " lines";
      ++functions;
    }
  }
  EXPECT_GT(functions, 1000u);
}

// Counts a class as a whole, also if its methods are in several files.
TEST(TidyTest, ClassesAreSmall) {
  const std::vector<ClassSize> classes = ClassSizes();
  EXPECT_GT(classes.size(), 300u);
  for (const ClassSize& c : classes) {
    EXPECT_LE(c.lines, kMostClassLines) << c.path << ": " << c.name;
    EXPECT_LE(c.outside_methods, kMostMethods) << c.path << ": " << c.name;
  }
}

TEST(TidyTest, NamesSayWhatAFileHolds) {
  const std::set<std::string> banned = {"util",    "utils", "common",  "misc", "helper",
                                        "helpers", "base",  "manager", "stuff"};
  const std::regex word("[a-z0-9]+");
  for (const SourceFile& file : SourceTree()) {
    std::string name = file.Name();
    if (name == "CMakeLists.txt") continue;
    std::string stem = name.substr(0, name.find('.'));
    for (std::sregex_iterator it(stem.begin(), stem.end(), word), end; it != end; ++it) {
      EXPECT_EQ(banned.count(it->str()), 0u) << file.path;
    }
    // CMake's own modules are written in its own case.
    bool is_snake_case = std::regex_match(stem, std::regex("[a-z0-9_]+"));
    EXPECT_TRUE(is_snake_case || file.EndsWith(".cmake")) << file.path;
  }
}

// True if a list names the source, with or without ".cc". CMake lists may add endings and prefixes in loops.
bool IsListed(const SourceFile& lists, const std::string& stem) {
  return std::regex_search(lists.Text(), std::regex("[\\s(\"/]" + stem + "(\\.cc)?[\\s)\"]"));
}

TEST(TidyTest, EverySourceIsBuilt) {
  for (const SourceFile& file : SourceTree()) {
    if (!file.EndsWith(".cc")) continue;
    bool listed = false;
    // The list may be in a parent folder.
    for (std::string folder = file.Folder(); !listed && !folder.empty();) {
      const SourceFile* lists = FindSource(folder + "/CMakeLists.txt");
      std::string relative = file.path.substr(folder.size() + 1),
                  stem = relative.substr(0, relative.size() - 3);
      // examples/x/main.cc belongs to the list that names x.
      if (file.Name() == "main.cc") stem = stem.substr(0, stem.find('/'));
      listed = lists != nullptr && IsListed(*lists, stem);
      size_t slash = folder.rfind('/');
      folder = slash == std::string::npos ? "" : folder.substr(0, slash);
    }
    EXPECT_TRUE(listed) << file.path << " is in no CMakeLists.txt";
  }
}

TEST(TidyTest, HeadersOpenWithACommentAndHaveAGuard) {
  for (const SourceFile& file : SourceTree()) {
    // The compiler's command line includes a precompiled header, once; it needs no guard.
    if (!file.EndsWith(".h") || file.EndsWith("_pch.h")) continue;
    std::string guard = "SINTER_";
    for (char c : file.path) {
      guard += std::isalnum(static_cast<unsigned char>(c))
                   ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                   : '_';
    }
    guard += "_";
    ASSERT_FALSE(file.lines.empty()) << file.path;
    EXPECT_EQ(file.lines[0].rfind("// ", 0), 0u) << file.path << " does not open with a comment";
    EXPECT_NE(file.Text().find("#ifndef " + guard + "\n#define " + guard + "\n"), std::string::npos)
        << file.path << " has no guard " << guard;
  }
}

TEST(TidyTest, NothingIsLeftForLater) {
  // The words are split, so that this file passes.
  const std::regex marks(std::string("\\b(TO") + "DO|FIX" + "ME|X" + "XX|HA" + "CK)\\b");
  for (const SourceFile& file : SourceTree()) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(file.lines[i], marks))
          << file.path << ":" << i + 1 << ": " << file.lines[i];
    }
  }
}

// Returns the file of this name in a folder or below it; null if there is none.
const SourceFile* FindBelow(const std::string& folder, const std::string& name) {
  for (const SourceFile& file : SourceTree()) {
    if (file.Name() == name && file.path.rfind(folder + "/", 0) == 0) return &file;
  }
  return nullptr;
}

// Checks that each pass of the records in `path` has a source below `folder`, a test below tests/`folder` and
// a stage of the same name. Returns the number of passes.
int CheckPasses(const std::string& path, const std::string& folder) {
  const SourceFile* records = FindSource(path);
  const SourceFile* pipeline = FindSource("frontend/compile/stages.cc");
  EXPECT_TRUE(records != nullptr && pipeline != nullptr) << path;
  if (!records || !pipeline) return 0;
  const std::regex record("^def ([A-Za-z0-9]+) : Pass<\"sinter-([a-z-]+)\"");
  int passes = 0;
  for (const std::string& line : records->lines) {
    std::smatch match;
    if (!std::regex_search(line, match, record)) continue;
    ++passes;
    std::string name = SnakeCase(match[1].str());
    EXPECT_EQ(match[2].str(), std::regex_replace(name, std::regex("_"), "-"));
    EXPECT_NE(FindBelow(folder, name + ".cc"), nullptr) << name;
    const SourceFile* test = FindBelow("tests/" + folder, name + ".mlir");
    EXPECT_NE(test, nullptr) << "the pass of " << name << ".cc has no " << name << ".mlir below tests/"
                             << folder;
    if (!test) continue;
    EXPECT_NE(test->Text().find("sinter-" + match[2].str()), std::string::npos) << test->path;
    EXPECT_NE(test->Text().find("FileCheck"), std::string::npos) << test->path;
    // A check that follows every stage is no stage.
    if (name == "verify_placement") continue;
    EXPECT_NE(pipeline->Text().find("{\"" + match[2].str() + "\","), std::string::npos)
        << match[2] << " is no stage of " << pipeline->path;
  }
  return passes;
}

// A pass has a record, a source, a test and a stage of the same name.
TEST(TidyTest, EveryPassHasASourceATestAndAStage) {
  EXPECT_GT(CheckPasses("passes/passes.td", "passes"), 5);
  EXPECT_GT(CheckPasses("passes/fuse_passes.td", "passes"), 5);
  EXPECT_GT(CheckPasses("passes/plan_passes.td", "passes"), 5);
  EXPECT_GT(CheckPasses("codegen/plan/passes.td", "codegen"), 0);
}

// Returns the comment that a line holds alone or after code, without "//"; nullopt if it holds none. A "//"
// within a string has no space before it and follows no end of a piece of code.
std::optional<std::string> CommentOf(const std::string& line) {
  static const std::regex comment("(?:^\\s*|[;{},)] +)//+ ?(.*)$");
  std::smatch match;
  if (!std::regex_search(line, match, comment)) return std::nullopt;
  return match[1].str();
}

bool IsWholeComment(const std::string& line) {
  const size_t at = line.find_first_not_of(' ');
  return at != std::string::npos && line.compare(at, 2, "//") == 0;
}

bool HasComments(const SourceFile& file) {
  return IsCode(file) || file.EndsWith(".td") || file.EndsWith(".fbs");
}

// clang-format holds this for code. A link may be longer.
TEST(TidyTest, CommentsKeepToTheWidthOfCode) {
  constexpr size_t kMostColumns = 110;
  size_t comments = 0;
  for (const SourceFile& file : SourceTree()) {
    if (!HasComments(file)) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      if (!IsWholeComment(line) || line.find("://") != std::string::npos) continue;
      EXPECT_LE(line.size(), kMostColumns) << file.path << ":" << i + 1;
      ++comments;
    }
  }
  EXPECT_GT(comments, 5000u);
}

// Returns the lines of a file, from 1, whose comment begins with a clause that has no noun or verb to lead
// it: "Of the arena", "What it reads", "Whether it is one". docs/style.md says what to write.
std::vector<size_t> HeadlessComments(const SourceFile& file) {
  static const std::regex headless("^(Of|What|Whether|That|Where)\\b");
  std::vector<size_t> lines;
  bool goes_on = false;  // The line before holds a comment that this one continues.
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::optional<std::string> comment = CommentOf(file.lines[i]);
    const bool is_whole = IsWholeComment(file.lines[i]);
    if (comment && !(is_whole && goes_on) && std::regex_search(*comment, headless)) lines.push_back(i + 1);
    goes_on = comment && is_whole && !comment->empty() && comment->find("CHECK") == std::string::npos;
  }
  return lines;
}

TEST(TidyTest, CommentsBeginWithANounOrAVerb) {
  for (const SourceFile& file : SourceTree()) {
    if (!HasComments(file) && !file.EndsWith(".mlir")) continue;
    for (size_t line : HeadlessComments(file)) {
      ADD_FAILURE()
          << file.path << ":" << line << ": " << file.lines[line - 1]
          << "\nbegin with the noun (\"Bytes of ...\") or a verb (\"Returns ...\", \"True if ...\")";
    }
  }
}

TEST(TidyTest, HeadlessCommentsAreFound) {
  SourceFile file = {
      "a.h",
      {"@ Of the arena.", "int a;  @ Where it begins.", "@ Bytes of the arena,", "@ Of one device.", "@",
       "@ Whether it is so.", "  int b;  @ What is read.", "const char* c = \"@ Of\";", "f();  @ Office.",
       "@ That is a reason", "@ CHECK: x", "@ Whatever it is."}};
  // Slashes here would be comments of this file.
  for (std::string& line : file.lines) line = std::regex_replace(line, std::regex("@"), "//");
  EXPECT_THAT(HeadlessComments(file), ::testing::ElementsAre(1, 2, 6, 7, 10));
}

// Code lines must fit a screen. Other files have no limit here.
TEST(TidyTest, LinesFitTheScreen) {
  for (const SourceFile& file : SourceTree()) {
    if (!IsCode(file)) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_LE(file.lines[i].size(), 140u) << file.path << ":" << i + 1;
      EXPECT_EQ(file.lines[i].find('\t'), std::string::npos) << file.path << ":" << i + 1 << " has a tab";
    }
  }
}

}  // namespace
}  // namespace sinter::house
