// The cubin cache alone, without NVRTC.
#include "sinter/codegen/cuda/cubin_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sinter/tests/data/scratch_folder.h"

namespace sinter::codegen {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kLarge = int64_t{1} << 30;

class CubinCacheTest : public ::testing::Test {
 protected:
  CubinCache Open(int64_t max_bytes = kLarge) const { return CubinCache::Open(folder(), max_bytes); }
  std::string folder() const { return scratch_.File("above/cache"); }
  std::string FileOf(const std::string& key) const { return folder() + "/cubin/" + key; }
  size_t NumFiles() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder() + "/cubin"), fs::directory_iterator()));
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  ScratchFolder scratch_;
};

TEST_F(CubinCacheTest, FindsWhatItKeepsForThisUserAlone) {
  const mode_t old = umask(0);
  CubinCache cache = Open();
  EXPECT_THAT(cache.problem(), IsEmpty());
  cache.Store("key", "cubin");
  umask(old);
  EXPECT_EQ(cache.Find("key"), "cubin");
  EXPECT_EQ(cache.Find("other"), std::nullopt);
  cache.Store("key", "another");
  EXPECT_EQ(Open().Find("key"), "another");
  for (const std::string& made : {scratch_.File("above"), folder(), folder() + "/cubin"})
    EXPECT_EQ(ModeOf(made), 0700u);
  EXPECT_EQ(ModeOf(FileOf("key")), 0600u);
  EXPECT_EQ(NumFiles(), 1u);
}

TEST_F(CubinCacheTest, EveryFlippedBitIsFound) {
  const CubinCache cache = Open();
  cache.Store("key", std::string("the machine code of a kernel"));
  const std::string whole = ReadAll(FileOf("key"));
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    FlipBit(FileOf("key"), bit);
    EXPECT_EQ(cache.Find("key"), std::nullopt) << "bit " << bit;
    FlipBit(FileOf("key"), bit);
  }
  // An undamaged file of another key.
  std::ofstream(FileOf("other"), std::ios::binary) << whole;
  fs::permissions(FileOf("other"), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(cache.Find("other"), std::nullopt);
  EXPECT_EQ(cache.Find("key"), "the machine code of a kernel");
}

TEST_F(CubinCacheTest, RefusesFoldersToWhichOthersMayWrite) {
  Open().Store("key", "cubin");
  for (const mode_t mode : {0770, 0707, 0777, 01777}) {
    ASSERT_EQ(chmod(folder().c_str(), mode), 0);
    EXPECT_THAT(Open().problem(), HasSubstr("is not used: others may write to it (mode 7"));
    EXPECT_EQ(Open().Find("key"), std::nullopt);
  }
  ASSERT_EQ(chmod(folder().c_str(), 0755), 0);
  EXPECT_EQ(Open().Find("key"), "cubin");
  ASSERT_EQ(chmod((folder() + "/cubin").c_str(), 0777), 0);
  EXPECT_THAT(Open().problem(), HasSubstr("of its folder 'cubin', others may write to it"));
  if (geteuid() != 0) return;  // Only root may change the owner of a file.
  ASSERT_EQ(chmod((folder() + "/cubin").c_str(), 0700), 0);
  ASSERT_EQ(chown(folder().c_str(), 1234, 1234), 0);
  EXPECT_THAT(Open().problem(), HasSubstr("it belongs to the user 1234, and this is the user 0"));
}

// No such file may hang or end the process, or be written through. The next Store replaces it.
TEST_F(CubinCacheTest, StrangeFilesAreAsIfTheyWereNotThere) {
  const CubinCache cache = Open();
  const std::string path = FileOf("key"), victim = scratch_.Write("victim", "precious");
  const std::vector<std::function<void()>> make = {
      [&] { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); },
      [&] { ASSERT_EQ(symlink("/dev/zero", path.c_str()), 0); },
      [&] { ASSERT_EQ(symlink(victim.c_str(), path.c_str()), 0); },
      [&] {
        std::ofstream(path) << "";
        fs::resize_file(path, CubinCache::kMaxFileBytes + 1);
      },
      [&] {
        cache.Store("key", "planted");
        ASSERT_EQ(chmod(path.c_str(), 0666), 0);
      },
  };
  for (size_t i = 0; i < make.size(); ++i) {
    make[i]();
    EXPECT_EQ(cache.Find("key"), std::nullopt) << i;
    cache.Store("key", "cubin");
    EXPECT_EQ(cache.Find("key"), "cubin") << i;
    EXPECT_EQ(NumFiles(), 1u) << i;
    fs::remove(path);
  }
  EXPECT_EQ(ReadAll(victim), "precious");
  // A folder is not replaced, and Store leaves no temporary file.
  fs::create_directory(path);
  cache.Store("key", "cubin");
  EXPECT_EQ(cache.Find("key"), std::nullopt);
  EXPECT_EQ(NumFiles(), 1u);
}

TEST_F(CubinCacheTest, WhatWasNotUsedForLongestGoes) {
  const CubinCache cache = Open(/*max_bytes=*/4000);
  const std::string cubin(1000 - 64, 'c');
  const auto set_age = [&](const std::string& key, int hours) {
    fs::last_write_time(FileOf(key), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (const char* key : {"a", "b", "c", "d"}) cache.Store(key, cubin);
  set_age("a", 40), set_age("b", 30), set_age("c", 20), set_age("d", 10);
  cache.Trim();
  EXPECT_EQ(NumFiles(), 4u) << "there is room for four";
  EXPECT_EQ(cache.Find("a"), cubin) << "which is now the last that was used";
  cache.Store("e", cubin);
  cache.Trim();
  EXPECT_EQ(cache.Find("b"), std::nullopt);
  EXPECT_EQ(cache.Find("c"), std::nullopt);
  for (const char* key : {"a", "d", "e"}) EXPECT_EQ(cache.Find(key), cubin) << key;
}

TEST_F(CubinCacheTest, LeftoversGoAfterAnHour) {
  const CubinCache cache = Open();
  std::ofstream(FileOf("k.1.2.tmp")) << "old";
  std::ofstream(FileOf("k.1.3.tmp")) << "young";
  fs::last_write_time(FileOf("k.1.2.tmp"), fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.Trim();
  EXPECT_FALSE(fs::exists(FileOf("k.1.2.tmp")));
  EXPECT_TRUE(fs::exists(FileOf("k.1.3.tmp")));
}

// After a crash a file is complete or is not found, also if its end was lost.
TEST_F(CubinCacheTest, KilledWritersLeaveNothingThatIsFoundBroken) {
  const std::string cubin(1 << 20, 'c');
  std::mt19937 random(1);
  const CubinCache cache = Open();
  for (int kill = 0; kill < 20; ++kill) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0;; ++i) cache.Store("key" + std::to_string(i % 4), cubin);
    }
    usleep(static_cast<useconds_t>(random() % 10000));
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int i = 0; i < 4; ++i) {
      const std::optional<std::string> found = cache.Find("key" + std::to_string(i));
      EXPECT_TRUE(!found.has_value() || *found == cubin) << "kill " << kill;
    }
  }
  cache.Store("key", "cubin");
  const std::string whole = ReadAll(FileOf("key"));
  for (size_t size = 0; size < whole.size(); ++size) {
    fs::resize_file(FileOf("key"), size);
    EXPECT_EQ(cache.Find("key"), std::nullopt) << size;
    std::ofstream(FileOf("key"), std::ios::binary) << whole;
  }
  EXPECT_EQ(cache.Find("key"), "cubin");
}

TEST_F(CubinCacheTest, WithoutAFolderNothingIsFound) {
  const CubinCache none;
  none.Store("key", "cubin");
  none.Trim();
  EXPECT_EQ(none.Find("key"), std::nullopt);
  scratch_.Write("file", "");
  EXPECT_THAT(CubinCache::Open(scratch_.File("file"), kLarge).problem(),
              HasSubstr("file', is not used: Not a directory"));
}

}  // namespace
}  // namespace sinter::codegen
