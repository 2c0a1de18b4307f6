// Readers under a memory limit: a file that claims or inflates to too much memory gives an error and no
// crash. Each reader runs in a child process with a limited address space and must return there.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "sinter/frontend/data/idx.h"
#include "sinter/frontend/data/tokens.h"
#include "sinter/runtime/device/tuning_file.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/formats/npy.h"
#include "sinter/runtime/formats/npz.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/formats/zip_archive.h"
#include "sinter/runtime/host/untrusted_bytes.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/tests/data/gzip_bytes.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SINTER_SHADOWED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SINTER_SHADOWED 1
#endif
#endif

constexpr int64_t kMiB = int64_t{1} << 20;

class BoundedReadersTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef SINTER_SHADOWED
    GTEST_SKIP() << "sanitizers map terabytes of shadow memory, which the limit counts";
#endif
  }

  // Runs `read` in a child that may allocate `more` bytes. Returns its status code, or 100 plus the signal's
  // number if a signal ends the child.
  static int CodeOf(int64_t more, const std::function<absl::Status()>& read) {
    const pid_t child = fork();
    if (child == 0) {
      int64_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const rlim_t bytes = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + more);
      const rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes}, no_core = {};
      setrlimit(RLIMIT_CORE, &no_core);
      setrlimit(RLIMIT_AS, &limit);
      const absl::Status status = read();
      _exit(static_cast<int>(status.code()));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 100 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  static void Expect(absl::StatusCode code, int64_t more, const std::function<absl::Status()>& read) {
    EXPECT_EQ(CodeOf(more, read), static_cast<int>(code));
  }

  // Writes `start` followed by `zeros` zero bytes. The zeros are a hole and take no disk space.
  std::string WithZeros(const std::string& name, const std::string& start, int64_t zeros) const {
    const std::string path = folder_.Write(name, start);
    std::filesystem::resize_file(path, start.size() + static_cast<uint64_t>(zeros));
    return path;
  }
  static std::string Npy(const std::string& header) {
    std::string bytes("\x93NUMPY\2\0", 8);
    AppendLittle(static_cast<uint32_t>(header.size()), &bytes);
    return bytes + header;
  }
  // Writes an archive with one compressed member: `start`, then `mib` MiB of `fill`. The archive takes about
  // a thousandth of that.
  std::string Bomb(const std::string& name, const std::string& start, char fill, int64_t mib) const {
    const std::string block(kMiB, fill);
    std::vector<std::span<const std::byte>> pieces = {AsBytes(start)};
    pieces.insert(pieces.end(), static_cast<size_t>(mib), AsBytes(block));
    absl::StatusOr<ZipWriter> zip = ZipWriter::Create(folder_.File(name));
    EXPECT_TRUE(zip.ok() && zip->Add("a.npy", pieces, /*compress=*/true).ok() && zip->Commit().ok());
    return folder_.File(name);
  }

  ScratchFolder folder_;
};

TEST_F(BoundedReadersTest, NpzWithALargeHeader) {
  std::string start("\x93NUMPY\2\0", 8);
  AppendLittle(static_cast<uint32_t>(200 * kMiB), &start);
  const std::string path = Bomb("header.npz", start, ' ', 200);
  Expect(absl::StatusCode::kDataLoss, 100 * kMiB, [&] { return LoadNpz(path).status(); });
}

TEST_F(BoundedReadersTest, FortranOrderTakesTheTensorAlone) {
  const std::string start = Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (4096, 8192)}");
  const std::string npz = Bomb("fortran.npz", start, '\0', 128),
                    npy = WithZeros("fortran.npy", start, 128 * kMiB);
  Expect(absl::StatusCode::kOk, 200 * kMiB, [&] { return LoadNpz(npz).status(); });
  Expect(absl::StatusCode::kResourceExhausted, 100 * kMiB, [&] { return LoadNpz(npz).status(); });
  Expect(absl::StatusCode::kOk, 200 * kMiB, [&] { return LoadNpy(npy).status(); });
  Expect(absl::StatusCode::kResourceExhausted, 100 * kMiB, [&] { return LoadNpy(npy).status(); });
}

TEST_F(BoundedReadersTest, TensorsThatDoNotFit) {
  const std::string npy = WithZeros(
      "a.npy", Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (8589934592,)}"), int64_t{8} << 30);
  Expect(absl::StatusCode::kResourceExhausted, 100 * kMiB, [&] { return LoadNpy(npy).status(); });
  const std::string header = R"({"a":{"dtype":"U8","shape":[8589934592],"data_offsets":[0,8589934592]}})";
  std::string start;
  AppendLittle<uint64_t>(header.size(), &start);
  const std::string safetensors = WithZeros("a.safetensors", start + header, int64_t{8} << 30);
  Expect(absl::StatusCode::kResourceExhausted, 100 * kMiB, [&] {
    absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(safetensors);
    return file.ok() ? file->Get("a").status() : file.status();
  });
  std::string idx("\0\0\x08\x01\x20\0\0\0", 8);
  Expect(absl::StatusCode::kResourceExhausted, 100 * kMiB,
         [&, path = WithZeros("a.idx", idx, 512 * kMiB)] { return ReadIdx(path).status(); });
  // Claims half a GiB: the compressed file is large enough to make that claim plausible.
  const std::string gz =
      folder_.Write("a.gz", Gzip(idx + std::string(512 << 10, '\0')) + std::string(1 << 20, 'x'));
  Expect(absl::StatusCode::kResourceExhausted, 100 * kMiB, [&] { return ReadIdx(gz).status(); });
}

TEST_F(BoundedReadersTest, FilesThatDoNotFit) {
  std::string start;
  AppendLittle<uint64_t>(100'000'000, &start);
  Expect(
      absl::StatusCode::kResourceExhausted, 50 * kMiB,
      [&, path = WithZeros("h", start + "{", 100'000'000)] { return SafetensorsFile::Open(path).status(); });
  for (const int64_t bytes : {int64_t{1} << 30, int64_t{1} << 34}) {
    const std::string path = WithZeros("zeros", std::string("\0\0\0\0SNTR", 8), bytes);
    Expect(absl::StatusCode::kResourceExhausted, 100 * kMiB, [&] { return Plan::Load(path).status(); });
    Expect(absl::StatusCode::kResourceExhausted, 100 * kMiB, [&] { return LoadNpz(path).status(); });
    Expect(absl::StatusCode::kDataLoss, 100 * kMiB, [&] { return LoadTuning(path).status(); });
    // A token set reads only the requested tokens.
    Expect(absl::StatusCode::kOk, 100 * kMiB,
           [&] { return TokenSet::ReadBytes(path)->CopyTo(bytes / 2, {}); });
  }
}

// Files that contain only names, which a parser expands to many times their size. Under any memory limit the
// reader returns and never reports that the file is bad.
TEST_F(BoundedReadersTest, FilesOfNames) {
  std::string names = R"("":"")";
  for (int i = 0; names.size() < 1 << 20; ++i) names += ",\"" + std::to_string(i) + R"(":"")";
  const std::string header = R"({"__metadata__":{)" + names + "}}";
  std::string start;
  AppendLittle<uint64_t>(header.size(), &start);
  const std::string checkpoint = folder_.Write("names", start + header);
  TuningTable table;
  for (int i = 0; i < 8'000; ++i)
    table[{"gpu", "cublas", std::to_string(i)}] = {.algorithm = {}, .first_us = 1, .chosen_us = 1};
  const std::string tuning = folder_.Write("tuning", TuningText(table));
  const std::string npz = folder_.File("names.npz");
  absl::StatusOr<ZipWriter> zip = ZipWriter::Create(npz);
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(zip->Add(std::to_string(i) + ".npy", {}, false).ok());
  ASSERT_TRUE(zip->Commit().ok());
  const std::pair<absl::StatusCode, std::function<absl::Status()>> readers[] = {
      {absl::StatusCode::kOk, [&] { return SafetensorsFile::Open(checkpoint).status(); }},
      {absl::StatusCode::kOk, [&] { return LoadTuning(tuning).status(); }},
      {absl::StatusCode::kDataLoss, [&] { return LoadNpz(npz).status(); }},  // The members are empty.
  };
  for (const auto& [code, read] : readers) {
    bool refused = false;
    for (int64_t more = 0; more < 40 * kMiB; more += 2 * kMiB) {
      const int returned = CodeOf(more, read);
      refused |= returned == static_cast<int>(absl::StatusCode::kResourceExhausted);
      EXPECT_TRUE(returned == static_cast<int>(code) ||
                  returned == static_cast<int>(absl::StatusCode::kResourceExhausted))
          << returned << " with " << more << " bytes";
    }
    EXPECT_TRUE(refused);
    Expect(code, 400 * kMiB, read);
  }
}

}  // namespace
}  // namespace sinter
