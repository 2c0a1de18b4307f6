// The disk cache of cubins finds stored kernels and recompiles damaged ones. Needs NVRTC and no GPU.
#include "sinter/codegen/cuda/compile_cubins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sinter/codegen/cuda/nvrtc.h"

namespace sinter::codegen {
namespace {

namespace fs = std::filesystem;

class CompileCubinsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto nvrtc = Nvrtc::Get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    folder_ = fs::path(::testing::TempDir()) /
              (std::string("cubins_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  // Returns the cubin of a kernel. Sets `compiled` if this call compiled it.
  std::string Compile(bool& compiled, const std::string& symbol = "k") {
    CudaSource source = {symbol, "extern \"C\" __global__ void " + symbol + "(float* x) { *x += 1; }\n"};
    CubinStatistics& statistics = statistics_;
    auto cubins = CompileCubins({source}, {"sm_90"}, {.cache_folder = folder_.string()}, &statistics);
    EXPECT_TRUE(cubins.ok()) << cubins.status();
    EXPECT_EQ(statistics.compiled + statistics.cached, 1);
    compiled = statistics.compiled == 1;
    return cubins.ok() ? (*cubins)[0][0] : "";
  }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
  }
  static std::string Read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream stream;
    stream << file.rdbuf();
    return stream.str();
  }
  static void Write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  fs::path folder_;
  CubinStatistics statistics_;  // From the last call.
};

TEST_F(CompileCubinsTest, FindsWhatItHasCompiled) {
  bool compiled = false;
  const std::string cubin = Compile(compiled);
  EXPECT_TRUE(compiled);
  EXPECT_EQ(Compile(compiled), cubin);
  EXPECT_FALSE(compiled);
  (void)Compile(compiled, "other");
  EXPECT_TRUE(compiled);
  EXPECT_EQ(Files().size(), 2u);
}

TEST_F(CompileCubinsTest, CompilesAgainWhatIsDamaged) {
  bool compiled = false;
  const std::string cubin = Compile(compiled);
  ASSERT_EQ(Files().size(), 1u);
  const fs::path path = Files()[0];
  const std::string whole = Read(path);
  std::string flipped = whole, wrong_hash = whole;
  flipped[whole.size() / 2] ^= 1;
  wrong_hash[3] ^= 1;
  for (const std::string& damaged : {flipped, wrong_hash, whole.substr(0, whole.size() - 1),
                                     whole.substr(0, 64), whole + "x", std::string()}) {
    Write(path, damaged);
    EXPECT_EQ(Compile(compiled), cubin);
    EXPECT_TRUE(compiled) << "of " << damaged.size() << " bytes";
    // The file is repaired for the next call.
    EXPECT_EQ(Read(path), whole);
  }
  (void)Compile(compiled);
  EXPECT_FALSE(compiled);
}

TEST_F(CompileCubinsTest, DoesWithoutACacheThatCannotBeWritten) {
  std::ofstream(folder_) << "a file where the folder would be";
  bool compiled = false;
  EXPECT_FALSE(Compile(compiled).empty());
  EXPECT_TRUE(compiled);
  (void)Compile(compiled);
  EXPECT_TRUE(compiled);
  EXPECT_THAT(statistics_.cache_problem, ::testing::HasSubstr("is not used: Not a directory"));
}

// Code from a folder to which other users may write is not loaded, as ssh refuses such keys.
TEST_F(CompileCubinsTest, DoesWithoutAFolderToWhichOthersMayWrite) {
  bool compiled = false;
  const std::string cubin = Compile(compiled);
  EXPECT_EQ(statistics_.cache_problem, "");
  for (const fs::path& open_folder : {folder_, folder_ / "cubin"}) {
    fs::permissions(open_folder, fs::perms::group_write, fs::perm_options::add);
    EXPECT_EQ(Compile(compiled), cubin);
    EXPECT_TRUE(compiled);
    EXPECT_THAT(statistics_.cache_problem,
                ::testing::HasSubstr("others may write to it (mode 720); chmod go-w it"));
    fs::permissions(open_folder, fs::perms::group_write, fs::perm_options::remove);
  }
  (void)Compile(compiled);
  EXPECT_FALSE(compiled);
}

TEST_F(CompileCubinsTest, RefusesALimitThatIsNoNumber) {
  setenv("SINTER_CACHE_LIMIT", "1GB", 1);
  const absl::Status status = CompileCubins({}, {"sm_90"}, {.cache_folder = folder_.string()}).status();
  unsetenv("SINTER_CACHE_LIMIT");
  EXPECT_EQ(status.message(), "SINTER_CACHE_LIMIT is \"1GB\": write a number of bytes, such as 1073741824");
}

}  // namespace
}  // namespace sinter::codegen
