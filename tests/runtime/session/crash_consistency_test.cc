// Crash consistency of files. The test records the system calls of a write and checks every state that a disk
// may have after a crash between them. It also kills processes while they write.
//
//   SINTER_CRASH_KILLS=1000 SINTER_CRASH_SEED=7 ./crash_consistency_test      # Default: 20 kills, seed 1.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "sinter/runtime/device/tuning_file.h"
#include "sinter/runtime/formats/npy.h"
#include "sinter/runtime/formats/npz.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/tensor/tensor_bytes.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/test_plan.h"

namespace {

// A call that changed a file or a folder.
struct Change {
  enum class Kind { kCreate, kWrite, kSync, kRename, kRemove, kSyncFolder } kind;
  int file = -1;  // Numbers the created files; -1 for folders and names.
  std::string name, new_name = {};
  int64_t offset = 0;
  std::string bytes = {};
};

// Null while nothing is recorded.
std::vector<Change>* changes = nullptr;
std::map<int, int> files;  // Maps descriptors to the files created during the recording.
[[maybe_unused]] int num_files = 0;

template <typename F>
[[maybe_unused]] F* Real(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SINTER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SINTER_SANITIZED 1
#endif
#endif

#ifndef SINTER_SANITIZED  // Sanitizers have their own definitions.
// The executable's definitions replace those of the C library.
extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  static auto* const real = Real<int(const char*, int, ...)>("open");
  const int fd = real(path, flags, mode);
  if (changes == nullptr || fd < 0) return fd;
  files.erase(fd);
  if ((flags & O_CREAT) == 0) return fd;
  files[fd] = num_files++;
  changes->push_back({Change::Kind::kCreate, files[fd], path});
  return fd;
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  static auto* const real = Real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const ssize_t written = real(fd, data, size, offset);
  if (changes == nullptr || written <= 0) return written;
  changes->push_back({Change::Kind::kWrite, files.at(fd), "", "", offset,
                      std::string(static_cast<const char*>(data), static_cast<size_t>(written))});
  return written;
}

int fsync(int fd) {
  static auto* const real = Real<int(int)>("fsync");
  if (changes != nullptr) {
    const auto file = files.find(fd);
    if (file == files.end()) {
      changes->push_back({Change::Kind::kSyncFolder});
    } else {
      changes->push_back({Change::Kind::kSync, file->second});
    }
  }
  return real(fd);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = Real<int(const char*, const char*)>("rename");
  const int result = real(from, to);
  if (changes != nullptr && result == 0) changes->push_back({Change::Kind::kRename, -1, from, to});
  return result;
}

int unlink(const char* path) noexcept {
  static auto* const real = Real<int(const char*)>("unlink");
  const int result = real(path);
  if (changes != nullptr && result == 0) changes->push_back({Change::Kind::kRemove, -1, path});
  return result;
}

}  // extern "C"
#endif

namespace sinter {
namespace {

std::vector<Change> Record(const std::function<absl::Status()>& write) {
  std::vector<Change> recorded;
  files.clear();
  changes = &recorded;
  const absl::Status status = write();
  changes = nullptr;
  EXPECT_TRUE(status.ok()) << status;
  return recorded;
}

// A disk that guarantees only synced data. A file holds its bytes of the last sync or all written bytes.
// Since the last sync of the folder, the disk may have kept any number of name changes, from the first on.
// ext4 and XFS promise more.
class Disk {
 public:
  explicit Disk(std::map<std::string, std::string> names) : names_({std::move(names)}) {}

  void Apply(const Change& change) {
    using enum Change::Kind;
    File& file = files_[change.file];
    std::map<std::string, int> now = links_.empty() ? std::map<std::string, int>() : links_.back();
    switch (change.kind) {
      case kWrite:
        file.written.resize(
            std::max(file.written.size(), static_cast<size_t>(change.offset) + change.bytes.size()));
        file.written.replace(static_cast<size_t>(change.offset), change.bytes.size(), change.bytes);
        return;
      case kSync:
        file.synced = file.written;
        return;
      case kSyncFolder:
        links_ = {now};
        return;
      case kCreate:
        now[change.name] = change.file;
        break;
      case kRename:
        now[change.new_name] = now.at(change.name);
        now.erase(change.name);
        break;
      case kRemove:
        now.erase(change.name);
        break;
    }
    if (links_.empty()) links_.push_back({});
    links_.push_back(now);
  }

  // Returns all contents that the file of this name may have after a crash; "(none)" if it may be missing.
  std::vector<std::string> After(const std::string& name) const {
    std::vector<std::string> contents;
    for (const auto& links : links_) {
      const auto found = links.find(name);
      if (found == links.end()) {
        const auto old = names_.find(name);
        contents.push_back(old == names_.end() ? "(none)" : old->second);
      } else {
        contents.push_back(files_.at(found->second).synced);
        contents.push_back(files_.at(found->second).written);
      }
    }
    return contents;
  }

 private:
  struct File {
    std::string written, synced;
  };
  std::map<std::string, std::string> names_;  // Contents by name before the recording.
  std::vector<std::map<std::string, int>> links_ = {
      {}};  // States since the last sync of the folder, in order.
  std::map<int, File> files_;
};

TestPlan PlanOf(int version) {
  TestPlan plan;
  const std::vector<float> values(64 << 10, static_cast<float>(version));
  plan.AddConstant(values.data(), values.size() * sizeof(float));
  plan.table.name = "plan " + std::to_string(version);
  return plan;
}

std::vector<NamedTensor> TensorsOf(int version) {
  std::vector<NamedTensor> tensors;
  for (const char* name : {"a", "b"}) {
    tensors.push_back(
        {name, Tensor<float>({1 << 16}, std::vector<float>(1 << 16, static_cast<float>(version)))});
  }
  return tensors;
}

TuningTable TuningOf(int version) {
  TuningTable table;
  for (int i = 0; i < 200; ++i) {
    table[{"GPU", "cuBLASLt", "matmul " + std::to_string(i)}] = {.first_us = 1.0 + version,
                                                                 .chosen_us = 1.0 + version};
  }
  return table;
}

bool AllAre(const HostTensor& tensor, int version) {
  return std::ranges::all_of(Values<float>(tensor),
                             [&](float value) { return value == static_cast<float>(version); });
}

// A file format. `write` writes a version of the file; `read` returns the version of an intact file, else an
// error.
struct Format {
  std::string name;
  std::function<absl::Status(const std::string& path, int version)> write;
  std::function<absl::StatusOr<int>(const std::string& path)> read;
};

absl::StatusOr<int> VersionOf(const std::vector<NamedTensor>& tensors) {
  if (tensors.size() != 2) return absl::DataLossError("not two tensors");
  const int version = static_cast<int>(Values<float>(tensors[0].tensor)[0]);
  for (const NamedTensor& named : tensors) {
    if (!AllAre(named.tensor, version)) return absl::DataLossError("values of two versions");
  }
  return version;
}

Format CheckpointFormat() {
  return {"m.safetensors",
          [](const std::string& path, int version) {
            return SaveSafetensors(path, TensorsOf(version), {{"step", std::to_string(version)}});
          },
          [](const std::string& path) -> absl::StatusOr<int> {
            SINTER_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
            SINTER_RETURN_IF_ERROR(file.Verify());
            std::vector<NamedTensor> tensors;
            for (const std::string& name : file.names()) {
              SINTER_ASSIGN_OR_RETURN(HostTensor tensor, file.Get(name));
              tensors.push_back({name, std::move(tensor)});
            }
            return VersionOf(tensors);
          }};
}

Format PlanFormat() {
  return {"m.plan",
          [](const std::string& path, int version) {
            SINTER_ASSIGN_OR_RETURN(const Plan plan, PlanOf(version).Make());
            return plan.Save(path);
          },
          [](const std::string& path) -> absl::StatusOr<int> {
            SINTER_ASSIGN_OR_RETURN(const Plan plan, Plan::Load(path));
            return std::stoi(std::string(plan.name()).substr(5));
          }};
}

Format TuningFormat() {
  return {"m.tuning",
          [](const std::string& path, int version) { return SaveTuning(path, TuningOf(version)); },
          [](const std::string& path) -> absl::StatusOr<int> {
            SINTER_ASSIGN_OR_RETURN(const TuningTable table, LoadTuning(path));
            if (table.empty()) return absl::DataLossError("an empty table");
            const int version = static_cast<int>(table.begin()->second.first_us) - 1;
            if (table != TuningOf(version)) return absl::DataLossError("matmuls of two versions");
            return version;
          }};
}

Format NpzFormat() {
  return {"m.npz", [](const std::string& path, int version) { return SaveNpz(path, TensorsOf(version)); },
          [](const std::string& path) -> absl::StatusOr<int> {
            SINTER_ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors, LoadNpz(path));
            return VersionOf(tensors);
          }};
}

Format NpyFormat() {
  return {"m.npy",
          [](const std::string& path, int version) { return SaveNpy(path, TensorsOf(version)[0].tensor); },
          [](const std::string& path) -> absl::StatusOr<int> {
            SINTER_ASSIGN_OR_RETURN(HostTensor tensor, LoadNpy(path));
            const int version = static_cast<int>(Values<float>(tensor)[0]);
            if (!AllAre(tensor, version)) return absl::DataLossError("values of two versions");
            return version;
          }};
}

std::vector<Format> Formats() {
  return {CheckpointFormat(), PlanFormat(), TuningFormat(), NpzFormat(), NpyFormat()};
}

int Number(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

TEST(CrashConsistencyTest, AfterAnyCallTheFileIsTheOldOrTheNew) {
#ifdef SINTER_SANITIZED
  GTEST_SKIP() << "a sanitizer stands where calls would be recorded";
#endif
  for (const Format& format : Formats()) {
    for (const bool is_new : {true, false}) {
      const ScratchFolder folder;
      const std::string path = folder.File(format.name);
      std::map<std::string, std::string> before;
      if (!is_new) {
        const absl::Status status = format.write(path, 1);
        ASSERT_TRUE(status.ok()) << status;
        before[path] = ReadAll(path);
      }
      const std::vector<Change> recorded = Record([&] { return format.write(path, 2); });
      const std::string old = is_new ? "(none)" : before[path], made = ReadAll(path);
      ASSERT_NE(old, made);
      Disk disk(before);
      int seen = 0;
      for (const Change& change : recorded) {
        seen += change.kind == Change::Kind::kWrite;
        disk.Apply(change);
        for (const std::string& contents : disk.After(path)) {
          ASSERT_TRUE(contents == old || contents == made)
              << format.name << " has " << contents.size() << " bytes after " << &change - recorded.data()
              << " calls";
        }
      }
      EXPECT_GT(seen, 0) << "nothing was recorded";
      // A write that returned without an error is durable.
      for (const std::string& contents : disk.After(path)) EXPECT_TRUE(contents == made) << format.name;
      EXPECT_THAT(folder.List(), testing::ElementsAre(format.name));
      EXPECT_EQ(format.read(path).value_or(-1), 2);
    }
  }
}

// Writes one version after the other until the process is killed.
[[noreturn]] void WriteForEver(const std::vector<Format>& formats, const ScratchFolder& folder) {
  for (int version = 1;; ++version) {
    for (const Format& format : formats) {
      if (!format.write(folder.File(format.name), version).ok()) _exit(1);
    }
  }
}

TEST(CrashConsistencyTest, KilledWritersLeaveWholeFiles) {
  const int kills = Number("SINTER_CRASH_KILLS", 20), seed = Number("SINTER_CRASH_SEED", 1);
  std::mt19937 random(static_cast<unsigned>(seed));
  const ScratchFolder folder;
  const std::vector<Format> formats = Formats();
  for (const Format& format : formats) ASSERT_TRUE(format.write(folder.File(format.name), 0).ok());
  for (int kill = 0; kill < kills; ++kill) {
    const pid_t child = fork();
    if (child == 0) WriteForEver(formats, folder);
    usleep(static_cast<useconds_t>(random() % 30000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a write failed";
    for (const Format& format : formats) {
      const absl::StatusOr<int> version = format.read(folder.File(format.name));
      EXPECT_TRUE(version.ok()) << format.name << " after kill " << kill << " of seed " << seed << ": "
                                << version.status();
    }
    EXPECT_LE(folder.List().size(), 2 * formats.size()) << "more than one temporary file beside a file";
  }
  std::vector<std::string> names;
  for (const Format& format : formats) {
    ASSERT_TRUE(format.write(folder.File(format.name), 1).ok());
    names.push_back(format.name);
  }
  EXPECT_THAT(folder.List(), testing::UnorderedElementsAreArray(names));
}

}  // namespace
}  // namespace sinter
