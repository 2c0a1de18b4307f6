#include "sinter/runtime/formats/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Simulates a full disk: while an object exists, no file can grow beyond `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_ = {};
  void (*old_handler_)(int) = nullptr;
};

TEST(AtomicFileTest, WritesNewFileAndLeavesNothingElse) {
  ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(folder.File("a")));
  ASSERT_OK(file.Write("one "));
  ASSERT_OK(file.Write("two"));
  EXPECT_EQ(file.size(), 7);
  EXPECT_FALSE(std::filesystem::exists(folder.File("a")));
  ASSERT_OK(file.Commit());
  EXPECT_EQ(ReadAll(folder.File("a")), "one two");
  EXPECT_THAT(folder.List(), ElementsAre("a"));
}

TEST(AtomicFileTest, OverwritesWhatIsWritten) {
  ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(folder.File("a")));
  ASSERT_OK(file.Write("one two"));
  ASSERT_OK(file.Overwrite(4, AsBytes("TWO")));
  ASSERT_OK(file.Overwrite(7, {}));
  ASSERT_OK(file.Write(" three"));
  EXPECT_EQ(file.size(), 13);
  EXPECT_ERROR(file.Overwrite(12, AsBytes("xx")), absl::StatusCode::kInvalidArgument,
               "cannot overwrite 2 bytes from 12 on in '" + folder.File("a") + "': only 13 are written");
  EXPECT_ERROR(file.Overwrite(-1, AsBytes("x")), absl::StatusCode::kInvalidArgument, "from -1 on");
  ASSERT_OK(file.Commit());
  EXPECT_ERROR(file.Overwrite(0, AsBytes("x")), absl::StatusCode::kFailedPrecondition, "committed already");
  EXPECT_EQ(ReadAll(folder.File("a")), "one TWO three");
}

TEST(AtomicFileTest, OldFileStaysUntilCommit) {
  ScratchFolder folder;
  folder.Write("a", "old");
  {
    ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(folder.File("a")));
    ASSERT_OK(file.Write("new"));
    EXPECT_EQ(ReadAll(folder.File("a")), "old");
  }
  EXPECT_EQ(ReadAll(folder.File("a")), "old");
  EXPECT_THAT(folder.List(), ElementsAre("a"));
}

TEST(AtomicFileTest, FullDiskLeavesOldFile) {
  ScratchFolder folder;
  folder.Write("a", "old");
  FileSizeLimit limit(1000);
  ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(folder.File("a")));
  const absl::Status error = file.Write(std::string(5000, 'x'));
  EXPECT_THAT(std::string(error.message()),
              testing::AllOf(testing::HasSubstr("cannot write '" + folder.File("a")),
                             testing::HasSubstr("File too large")));
  EXPECT_EQ(file.Write("y"), error);
  EXPECT_EQ(file.Commit(), error);
  EXPECT_EQ(ReadAll(folder.File("a")), "old");
  EXPECT_THAT(folder.List(), ElementsAre("a"));
}

TEST(AtomicFileTest, FullDiskLeavesNoNewFile) {
  ScratchFolder folder;
  FileSizeLimit limit(1000);
  EXPECT_FALSE(WriteFileAtomically(folder.File("a"), std::string(5000, 'x')).ok());
  EXPECT_THAT(folder.List(), IsEmpty());
}

TEST(AtomicFileTest, MovedFileIsRemovedOnce) {
  ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(AtomicFile first, AtomicFile::Create(folder.File("a")));
  ASSERT_OK_AND_ASSIGN(AtomicFile second, AtomicFile::Create(folder.File("b")));
  second = std::move(first);
  ASSERT_OK(second.Write("x"));
  ASSERT_OK(second.Commit());
  EXPECT_THAT(folder.List(), ElementsAre("a"));
}

TEST(AtomicFileTest, WritersOfOneFileDoNotMix) {
  ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(AtomicFile first, AtomicFile::Create(folder.File("a")));
  ASSERT_OK_AND_ASSIGN(AtomicFile second, AtomicFile::Create(folder.File("a")));
  ASSERT_OK(first.Write("first"));
  ASSERT_OK(second.Write("second"));
  ASSERT_OK(second.Commit());
  ASSERT_OK(first.Commit());
  EXPECT_EQ(ReadAll(folder.File("a")), "first");
}

TEST(AtomicFileTest, FollowsLinksAndKeepsPermissions) {
  ScratchFolder folder;
  folder.Write("real", "old");
  ASSERT_EQ(chmod(folder.File("real").c_str(), 0640), 0);
  ASSERT_EQ(symlink("real", folder.File("link").c_str()), 0);
  ASSERT_OK(WriteFileAtomically(folder.File("link"), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("link")));
  EXPECT_EQ(ReadAll(folder.File("real")), "new");
  struct stat info{};
  ASSERT_EQ(stat(folder.File("real").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(AtomicFileTest, RefusesWhatIsNoFile) {
  ScratchFolder folder;
  EXPECT_ERROR(AtomicFile::Create(folder.path()), absl::StatusCode::kFailedPrecondition, "it is a folder");
  EXPECT_ERROR(AtomicFile::Create("/dev/full"), absl::StatusCode::kFailedPrecondition, "not a regular file");
  EXPECT_ERROR(AtomicFile::Create(""), absl::StatusCode::kInvalidArgument, "its path is empty");
  EXPECT_ERROR(AtomicFile::Create(std::string("a\0b", 3)), absl::StatusCode::kInvalidArgument, "zero byte");
  EXPECT_ERROR(AtomicFile::Create(folder.File("no/such/folder/a")), absl::StatusCode::kNotFound,
               "No such file or directory");
  EXPECT_ERROR(AtomicFile::Create("/proc/a"), absl::StatusCode::kNotFound,
               "cannot create a file beside '/proc/a'");
}

TEST(AtomicFileTest, NoUseAfterCommit) {
  ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(folder.File("a")));
  ASSERT_OK(file.Commit());
  EXPECT_ERROR(file.Write("x"), absl::StatusCode::kFailedPrecondition, "committed already");
  EXPECT_ERROR(file.Commit(), absl::StatusCode::kFailedPrecondition, "committed already");
}

// The next writer removes the temporary file of a killed writer. It keeps the file of a living writer and all
// other files.
TEST(AtomicFileTest, RemovesWhatKilledWritersLeft) {
  ScratchFolder folder;
  for (const char* name : {".a.123-0.tmp", ".a.9-77.tmp", ".b.1-1.tmp", ".a.1-1.tmp.old", ".a.x-1.tmp",
                           ".a.1.tmp", ".a.1-.tmp", "a.1-1.tmp"}) {
    folder.Write(name, "left");
  }
  std::filesystem::create_directory(folder.File(".a.5-5.tmp"));
  ASSERT_OK_AND_ASSIGN(AtomicFile living, AtomicFile::Create(folder.File("a")));
  ASSERT_OK(living.Write("first"));
  ASSERT_OK(WriteFileAtomically(folder.File("a"), "second"));
  EXPECT_EQ(ReadAll(folder.File("a")), "second");
  ASSERT_OK(living.Commit());
  EXPECT_EQ(ReadAll(folder.File("a")), "first");
  EXPECT_THAT(folder.List(), ElementsAre(".a.1-.tmp", ".a.1-1.tmp.old", ".a.1.tmp", ".a.5-5.tmp",
                                         ".a.x-1.tmp", ".b.1-1.tmp", "a", "a.1-1.tmp"));
}

TEST(FileReaderTest, ReadsPartsAndSeesTheEnd) {
  ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(FileReader file, FileReader::Open(folder.Write("a", "abcdef")));
  FileReader moved = std::move(file);
  EXPECT_EQ(moved.size(), 6u);
  EXPECT_EQ(moved.path(), folder.File("a"));
  std::string part(3, ' ');
  ASSERT_OK(moved.Read(2, std::as_writable_bytes(std::span(part))));
  EXPECT_EQ(part, "cde");
  ASSERT_OK(moved.Read(100, {}));
  EXPECT_ERROR(moved.Read(4, std::as_writable_bytes(std::span(part))), absl::StatusCode::kDataLoss,
               "a: the file is cut short: 1 bytes were to follow after 6");
  EXPECT_ERROR(moved.Read(~uint64_t{0}, std::as_writable_bytes(std::span(part))), absl::StatusCode::kDataLoss,
               "cut short");
}

// From the disk, from the page cache, and from both.
TEST(FileReaderTest, ReadsAtAnyPlacePastTheCache) {
  const ScratchFolder folder;
  constexpr size_t kBytes = (1 << 20) + 123;
  std::string expected(kBytes, '\0');
  for (size_t i = 0; i < kBytes; ++i) expected[i] = static_cast<char>(i * i % 251);
  ASSERT_OK(WriteFileAtomically(folder.File("a"), expected));
  ASSERT_OK_AND_ASSIGN(const FileReader file, FileReader::Open(folder.File("a"), /*past_cache=*/true));
  // Room, what comes before it, and a byte behind it.
  std::vector<std::byte> memory(FileReader::RoomFor(kBytes) + SharedFile::kAlignment + 1);
  const size_t page =
      SharedFile::kAlignment - reinterpret_cast<uintptr_t>(memory.data()) % SharedFile::kAlignment;
  for (const size_t cached : {size_t{0}, size_t{200'000}, kBytes}) {
    for (const auto& [begin, end] : std::vector<std::pair<size_t, size_t>>{{0, kBytes},
                                                                           {0, 10},
                                                                           {8192, 401'408},
                                                                           {77, 700'001},
                                                                           {4095, kBytes - 4096},
                                                                           {kBytes - 100'000, kBytes}}) {
      const int fd = open(folder.File("a").c_str(), O_RDONLY);
      ASSERT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
      close(fd);
      std::string ignored(cached, '\0');
      ASSERT_OK(file.Read(0, std::as_writable_bytes(std::span(ignored))));
      std::ranges::fill(memory, std::byte{1});
      const std::span<std::byte> room(memory.data() + page, FileReader::RoomFor(end - begin));
      ASSERT_OK_AND_ASSIGN(const std::span<std::byte> read, file.ReadPastCache(begin, end - begin, room));
      EXPECT_TRUE(std::ranges::equal(read, AsBytes(expected).subspan(begin, end - begin)))
          << cached << " cached, from " << begin << " to " << end;
      EXPECT_EQ(room.data()[room.size()], std::byte{1}) << "a byte behind the room is written";
    }
  }
  const std::span<std::byte> room(memory.data() + page, FileReader::RoomFor(200'000));
  EXPECT_ERROR(file.ReadPastCache(kBytes - 100'000, 100'001, room), absl::StatusCode::kDataLoss,
               "a: the file is cut short: 1 bytes were to follow after 1048699");
  EXPECT_ERROR(file.ReadPastCache(~uint64_t{0}, 100'000, room), absl::StatusCode::kDataLoss, "cut short");
}

// The page cache must not read ahead what is read past it: every byte would come from the disk twice.
TEST(FileReaderTest, PastTheCacheMeansThatTheCacheStaysEmpty) {
  const ScratchFolder folder;
  constexpr size_t kBytes = size_t{8} << 20, kPage = SharedFile::kAlignment;
  ASSERT_OK(WriteFileAtomically(folder.File("a"), std::string(kBytes, 'x')));
  const int fd = open(folder.File("a").c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  void* const map = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(map, MAP_FAILED);
  const auto cached_pages = [&] {
    std::vector<unsigned char> has(kBytes / kPage);
    EXPECT_EQ(mincore(map, kBytes, has.data()), 0);
    return std::ranges::count_if(has, [](unsigned char bits) { return (bits & 1) != 0; });
  };
  std::vector<std::byte> memory(FileReader::RoomFor(kBytes) + kPage);
  const size_t skew = kPage - reinterpret_cast<uintptr_t>(memory.data()) % kPage;
  const std::span<std::byte> room(memory.data() + skew, FileReader::RoomFor(kBytes));
  // A read of its own shows what the file system can do.
  const int direct = open(folder.File("a").c_str(), O_RDONLY | O_DIRECT);
  const bool can = direct >= 0 && pread(direct, room.data(), kPage, 0) == kPage && cached_pages() == 0;
  if (direct >= 0) close(direct);
  if (can) {
    ASSERT_OK_AND_ASSIGN(const FileReader file, FileReader::Open(folder.File("a"), /*past_cache=*/true));
    for (const size_t begin : {size_t{0}, kBytes / 2 + 5}) {
      ASSERT_OK(file.ReadPastCache(begin, kBytes / 4, room).status());
    }
    EXPECT_EQ(cached_pages(), 0);
  }
  munmap(map, kBytes);
  close(fd);
  if (!can) GTEST_SKIP() << "the file system of " << folder.path() << " cannot read past the page cache";
}

TEST(FileReaderTest, ErrorsNamePathAndCause) {
  ScratchFolder folder;
  EXPECT_ERROR(FileReader::Open(folder.File("none")), absl::StatusCode::kNotFound,
               "cannot open '" + folder.File("none") + "'");
  EXPECT_ERROR(FileReader::Open(folder.path()), absl::StatusCode::kFailedPrecondition, "it is a folder");
  ASSERT_EQ(mkfifo(folder.File("pipe").c_str(), 0600), 0);
  EXPECT_ERROR(FileReader::Open(folder.File("pipe")), absl::StatusCode::kFailedPrecondition,
               "not a regular file");
  EXPECT_ERROR(FileReader::Open(std::string("a\0b", 3)), absl::StatusCode::kInvalidArgument, "zero byte");
}

// FileBytes owns its bytes: later changes of the file do not affect them.
TEST(FileBytesTest, KeepsWhatWasRead) {
  ScratchFolder folder;
  const std::string path = folder.Write("a", std::string(10000, 'x'));
  ASSERT_OK_AND_ASSIGN(FileBytes file, FileBytes::Read(path));
  FileBytes moved = std::move(file);
  EXPECT_EQ(moved.path(), path);
  std::ofstream(path, std::ios::in | std::ios::out) << "overwritten in place";
  EXPECT_EQ(moved.text(), std::string(10000, 'x'));
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(moved.text(), std::string(10000, 'x'));
  ASSERT_OK_AND_ASSIGN(moved, FileBytes::Read(path));
  EXPECT_THAT(moved.bytes(), IsEmpty());
}

TEST(FileBytesTest, LargeFilesAreErrors) {
  ScratchFolder folder;
  const std::string path = folder.Write("a", "abc");
  EXPECT_EQ(FileBytes::Read(path, 3)->text(), "abc");
  EXPECT_ERROR(FileBytes::Read(path, 2), absl::StatusCode::kResourceExhausted,
               "a has 3 bytes, and at most 2 are read");
  // A hole takes no disk space, so the file can be larger than any machine's memory.
  std::filesystem::resize_file(path, uint64_t{1} << 43);
  EXPECT_ERROR(FileBytes::Read(path), absl::StatusCode::kResourceExhausted,
               "main memory has no room for 8796093022208 bytes");
}

// Bytes with and without the alignment of the file, so that they go past the page cache or through it, and
// neighbours that share a page.
TEST(SharedFileTest, WritesAtAnyPlace) {
  const ScratchFolder folder;
  constexpr size_t kBytes = 1 << 20;
  std::string expected(kBytes, '\0');
  for (size_t i = 0; i < kBytes; ++i) expected[i] = static_cast<char>(i * i % 251);
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(folder.File("a"));
  ASSERT_OK(file.status());
  ASSERT_OK(file->Resize(kBytes));
  const absl::StatusOr<SharedFile> shared = SharedFile::Open(folder.File("a"), file->temporary_name());
  ASSERT_OK(shared.status());
  std::vector<std::byte> memory(kBytes + 2 * SharedFile::kAlignment);
  const size_t page =
      SharedFile::kAlignment - reinterpret_cast<uintptr_t>(memory.data()) % SharedFile::kAlignment;
  size_t begin = 0;
  for (const size_t end : {100, 300'000, 300'001, 700'000, 716'800, 1'000'000, 1 << 20}) {
    const size_t skew = end % 2 == 0 ? begin % SharedFile::kAlignment : 7;
    std::byte* const to = memory.data() + page + skew;
    std::memcpy(to, expected.data() + begin, end - begin);
    ASSERT_OK(shared->Write(static_cast<int64_t>(begin), {to, end - begin}));
    begin = end;
  }
  ASSERT_OK(file->Commit());
  EXPECT_TRUE(ReadAll(folder.File("a")) == expected);
}

}  // namespace
}  // namespace sinter
