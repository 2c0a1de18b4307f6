// Checks #include lines against the allowed layers, and that each CMakeLists.txt states its rule.
#include <map>
#include <regex>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/house/source_tree.h"

namespace sinter::house {
namespace {

// Maps each top folder to the patterns of the headers that it may include.
const std::map<std::string, std::vector<std::string>> kAllowed = {
    {"ir", {"ir/.*", "kernels/image_geometry\\.h", "runtime/host/dtype\\.h"}},
    {"passes", {"ir/.*", "passes/.*", "kernels/cpu/math/vector_math\\.h", "runtime/plan/loop_workspace\\.h"}},
    {"codegen", {"ir/.*", "codegen/.*", "kernels/.*", "runtime/(plan|host)/.*"}},
    {"runtime", {"runtime/.*", "kernels/.*"}},
    {"kernels", {"kernels/.*"}},
    {"frontend", {"(ir|passes|codegen|runtime|kernels|frontend)/.*"}},
    {"tools", {"(ir|passes|codegen|runtime|kernels|frontend|tools)/.*"}},
    {"examples", {"sinter\\.h", "runtime\\.h", "(frontend|runtime|examples)/.*"}},
    {"bench", {".*"}},
    {"tests", {".*"}},
};

// Returns the path in an #include line: "sinter/<path>", a generated header, or a header in angle brackets.
std::string Included(const std::string& line) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  std::smatch match;
  return std::regex_search(line, match, kInclude) ? match[1].str() : "";
}

bool Matches(const std::string& path, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    if (std::regex_match(path, std::regex(pattern))) return true;
  }
  return false;
}

bool IsCodeFile(const SourceFile& file) { return file.EndsWith(".cc") || file.EndsWith(".h"); }

TEST(LayeringTest, IncludesFollowTheTable) {
  for (const SourceFile& file : SourceTree()) {
    if (!IsCodeFile(file)) continue;
    auto allowed = kAllowed.find(file.path.substr(0, file.path.find('/')));
    ASSERT_NE(allowed, kAllowed.end()) << file.path << ": its folder is not in the table of layering_test.cc";
    for (const std::string& line : file.lines) {
      std::string path = Included(line);
      if (path.rfind("sinter/", 0) != 0) continue;
      path = path.substr(7);
      EXPECT_TRUE(Matches(path, allowed->second)) << file.path << " includes " << path;
      bool is_test = file.path.rfind("tests/", 0) == 0 || file.path.rfind("bench/", 0) == 0;
      EXPECT_TRUE(is_test || !Matches(path, {"(tests|bench)/.*"})) << file.path << " includes " << path;
    }
  }
}

// The runtime does not include the compiler, and public headers do not expose it.
TEST(LayeringTest, NoCompilerInTheRuntimeNorInPublicHeaders) {
  const std::set<std::string> not_public = {"frontend/compile/find_exchanges.h",
                                            "frontend/compile/gpu_architectures.h",
                                            "frontend/compile/program_mesh.h",
                                            "frontend/compile/stages.h",
                                            "frontend/distributions/family_call.h",
                                            "frontend/graph/broadcasting.h",
                                            "frontend/graph/diagnostics.h",
                                            "frontend/graph/gradient_reach.h",
                                            "frontend/graph/graph_state.h",
                                            "frontend/graph/literals.h",
                                            "frontend/graph/variable_owner.h",
                                            "frontend/ops/subscripts.h",
                                            "frontend/ops/window_checks.h",
                                            "frontend/optim/averaging.h",
                                            "frontend/optim/lookahead.h",
                                            "frontend/optim/loss_scaling.h",
                                            "frontend/optim/moments.h",
                                            "frontend/optim/optimizer_identity.h",
                                            "frontend/optim/touched_rows.h",
                                            "frontend/optim/update.h",
                                            "frontend/optim/update_targets.h",
                                            "frontend/random/draws.h"};
  for (const SourceFile& file : SourceTree()) {
    if (!IsCodeFile(file)) continue;
    bool is_runtime = file.path.rfind("runtime/", 0) == 0 || file.path.rfind("kernels/", 0) == 0;
    bool is_public =
        file.path.rfind("frontend/", 0) == 0 && file.EndsWith(".h") && not_public.count(file.path) == 0;
    if (!is_runtime && !is_public) continue;
    for (const std::string& line : file.lines) {
      std::string path = Included(line);
      EXPECT_FALSE(Matches(path, {"(mlir|llvm|lld)/.*", "sinter/(ir|passes|codegen)/.*"}))
          << file.path << " includes " << path;
      for (const std::string& name : not_public) {
        EXPECT_FALSE(path == "sinter/" + name)
            << file.path << " includes " << name << ", which is not public";
      }
    }
  }
}

TEST(LayeringTest, OnlyCodegenAndItsTestsSeeTheBackendOfLlvm) {
  for (const SourceFile& file : SourceTree()) {
    if (!IsCodeFile(file) || file.path.rfind("ir/", 0) != 0) continue;
    for (const std::string& line : file.lines) {
      EXPECT_FALSE(Matches(Included(line), {"llvm/(IR|Target|CodeGen|MC|Passes)/.*", "lld/.*"}))
          << file.path << ": " << line;
    }
  }
}

TEST(LayeringTest, EveryFolderStatesItsLaw) {
  for (const auto& [folder, allowed] : kAllowed) {
    const SourceFile* lists = FindSource(folder + "/CMakeLists.txt");
    if (lists == nullptr) continue;
    ASSERT_GE(lists->lines.size(), 3u) << lists->path;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(lists->lines[i].rfind("# ", 0), 0u) << lists->path << ":" << i + 1;
  }
}

// The back end in tests/runtime/emulated is one folder and its rows in registries. It shows that a kind of
// devices needs nothing else, so nothing else may know it.
TEST(LayeringTest, OneFolderNamesTheEmulatedDevices) {
  const std::string folder = "tests/runtime/emulated/";
  // The kind in a device's name and in IR, and the folder's headers and functions.
  const std::regex named(
      R"re(\bemulated:[0-9]|<emulated\b|runtime/emulated|\bEmulated(Gpu|Code|Devices)\b)re");
  const std::regex quoted(R"re("emulated")re");  // A test may give this name to other things.
  const std::set<std::string> allowed = {"tests/house/layering_test.cc", "tests/runtime/CMakeLists.txt"};
  int inside = 0;
  for (const SourceFile& file : SourceTree()) {
    const bool is_test = file.path.rfind("tests/", 0) == 0;
    for (const std::string& line : file.lines) {
      if (!std::regex_search(line, named) && (is_test || !std::regex_search(line, quoted))) continue;
      const bool is_inside = file.path.rfind(folder, 0) == 0;
      inside += is_inside ? 1 : 0;
      EXPECT_TRUE(is_inside || allowed.count(file.path) != 0) << file.path << ": " << line;
    }
  }
  EXPECT_GT(inside, 10);
}

}  // namespace
}  // namespace sinter::house
