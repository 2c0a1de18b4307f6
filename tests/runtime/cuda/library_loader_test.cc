#include "sinter/runtime/host/library_loader.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Restores the variables for tests that load libraries in the same process.
class LibraryLoaderTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const auto& [name, text] : before_) {
      if (text.has_value()) setenv(name, text->c_str(), 1);
      if (!text.has_value()) unsetenv(name);
    }
  }

 private:
  static std::optional<std::string> TextOf(const char* name) {
    const char* const text = getenv(name);
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  }
  const std::pair<const char*, std::optional<std::string>> before_[2] = {
      {"SINTER_CUDA_LIBRARY_PATH", TextOf("SINTER_CUDA_LIBRARY_PATH")}, {"CUDA_PATH", TextOf("CUDA_PATH")}};
};

constexpr LibraryName kMissing = {
    .title = "cuNothing", .file = "libcunothing.so.7", .package = "nvidia-cunothing"};
// Every program has this library.
constexpr LibraryName kPresent = {.title = "the C library", .file = "libc.so.6", .package = "none"};

// Returns the first candidates. Folders of installed packages may follow them, depending on the build.
std::vector<std::string> First(size_t count, std::vector<std::string> candidates) {
  candidates.resize(std::min(count, candidates.size()));
  return candidates;
}

TEST_F(LibraryLoaderTest, LooksInTheNamedFoldersFirst) {
  unsetenv("CUDA_PATH");
  setenv("SINTER_CUDA_LIBRARY_PATH", "/opt/a/lib::/opt/b/lib", 1);
  EXPECT_THAT(First(4, LibraryCandidates("libx.so.1")),
              ElementsAre("/opt/a/lib/libx.so.1", "/opt/b/lib/libx.so.1", "libx.so.1",
                          "/usr/local/cuda/lib64/libx.so.1"));
  unsetenv("SINTER_CUDA_LIBRARY_PATH");
  setenv("CUDA_PATH", "/opt/cuda", 1);
  EXPECT_THAT(First(3, LibraryCandidates("libx.so.1")),
              ElementsAre("libx.so.1", "/opt/cuda/lib64/libx.so.1", "/usr/local/cuda/lib64/libx.so.1"));
}

// A user who starts a program with more rights must not choose the libraries that it loads. A copy of this
// program gets another group and runs the test above, which then must not find the named folders.
TEST_F(LibraryLoaderTest, AProgramWithMoreRightsLooksInNoNamedFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives a program another group";
  const std::string copy = testing::TempDir() + "/library_loader_set_group";
  struct statvfs mount{};
  if (statvfs(testing::TempDir().c_str(), &mount) != 0 || (mount.f_flag & ST_NOSUID) != 0) {
    GTEST_SKIP() << testing::TempDir() << " gives programs no rights";
  }
  std::filesystem::copy_file("/proc/self/exe", copy, std::filesystem::copy_options::overwrite_existing);
  const auto run = [&] {
    return std::system(
        (copy + " --gtest_filter=LibraryLoaderTest.LooksInTheNamedFoldersFirst > /dev/null 2>&1").c_str());
  };
  EXPECT_EQ(run(), 0);
  ASSERT_EQ(chown(copy.c_str(), 0, 65534), 0);
  ASSERT_EQ(chmod(copy.c_str(), 02755), 0);
  const int status = run();
  std::filesystem::remove(copy);
  // Exit code of the dynamic loader if a library is missing.
  constexpr int kNotStarted = 127;
  if (getenv("LD_LIBRARY_PATH") != nullptr && WIFEXITED(status) && WEXITSTATUS(status) == kNotStarted) {
    GTEST_SKIP()
        << "this program finds its libraries by LD_LIBRARY_PATH, which one with more rights does not look at";
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
}

TEST_F(LibraryLoaderTest, SaysWhereItLookedAndWhatToDo) {
  setenv("SINTER_CUDA_LIBRARY_PATH", "/opt/a/lib", 1);
  const absl::Status status = OpenLibrary(kMissing).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("cuNothing is needed and was not found: looked for libcunothing.so.7 ("));
  EXPECT_THAT(message, HasSubstr("/opt/a/lib/libcunothing.so.7: cannot open shared object file"));
  EXPECT_THAT(message, HasSubstr("/usr/local/cuda/lib64/libcunothing.so.7: cannot open"));
  EXPECT_THAT(message,
              HasSubstr("Install the CUDA toolkit 13 or the package nvidia-cunothing of PyPI, and put the "
                        "folder of the file into SINTER_CUDA_LIBRARY_PATH"));
}

TEST_F(LibraryLoaderTest, TakesAnOlderOneWhereItIsNamed) {
  LibraryName name = kMissing;
  name.older = kPresent.file;
  const absl::StatusOr<OpenedLibrary> library = OpenLibrary(name);
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_THAT(library->path(), HasSubstr("libc.so.6"));
}

int opened = 0;
absl::Status FailOnce(int* functions) {
  if (++opened == 1) return absl::FailedPreconditionError("not there yet");
  *functions = opened;
  return absl::OkStatus();
}

TEST_F(LibraryLoaderTest, LoadsOnceAndForgetsErrors) {
  EXPECT_FALSE((LoadOnce<int, FailOnce>().ok()));
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<const int*> functions = LoadOnce<int, FailOnce>();
    ASSERT_TRUE(functions.ok());
    EXPECT_EQ(**functions, 2);
  }
}

TEST_F(LibraryLoaderTest, FindsFunctions) {
  const absl::StatusOr<OpenedLibrary> library = OpenLibrary(kPresent);
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_THAT(library->path(), HasSubstr("libc.so.6"));
  int (*absolute)(int) = nullptr;
  ASSERT_TRUE(library->Find({{"abs", &absolute}}).ok());
  EXPECT_EQ(absolute(-3), 3);
  const absl::Status status = library->Find({{"abs", &absolute}, {"sinter_has_no_such_function", &absolute}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("has no function sinter_has_no_such_function: it is of another "
                        "version than libc.so.6"));
}

TEST_F(LibraryLoaderTest, NamesBothVersions) {
  const absl::StatusOr<OpenedLibrary> library = OpenLibrary(kPresent);
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_TRUE(library->CheckVersion({.wanted = "9.0 to 9.x", .found = "9.1.0", .fits = true}).ok());
  const absl::Status status =
      library->CheckVersion({.wanted = "9.0 to 9.x", .found = "8.9.7", .fits = false});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(status.message(),
            "the C library 9.0 to 9.x is needed, and " + library->path() +
                " is 8.9.7: install another one and put its folder into SINTER_CUDA_LIBRARY_PATH, "
                "which is looked at first");
}

}  // namespace
}  // namespace sinter
