#include "sinter/codegen/cpu/link_shared_object.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include "sinter/kernels/cpu/math/embedded_kernels.h"
#include "sinter/runtime/host/status.h"

LLD_HAS_DRIVER(elf)

namespace sinter::codegen {
namespace {

absl::Status Failure(const char* what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot link the CPU kernels: ", what, ": ", strerror(errno)));
}

// A file that is in memory but has a path for the linker.
class MemoryFile {
 public:
  static absl::StatusOr<MemoryFile> Create(std::string_view contents) {
    MemoryFile file(memfd_create("sinter", MFD_CLOEXEC));
    if (file.descriptor_ < 0) return Failure("memfd_create");
    while (!contents.empty()) {
      ssize_t written = write(file.descriptor_, contents.data(), contents.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Failure("write to a memory file");
      contents.remove_prefix(written);
    }
    return file;
  }

  MemoryFile(MemoryFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  std::string Path() const { return absl::StrCat("/proc/self/fd/", descriptor_); }

 private:
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

// A pipe for the linker's output, and a thread that drains it. lld replaces a regular output file by a new
// one in the same folder, which memory files do not allow; it opens and writes any other kind of file
// directly.
class OutputPipe {
 public:
  static absl::StatusOr<std::unique_ptr<OutputPipe>> Create() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return Failure("pipe");
    return std::unique_ptr<OutputPipe>(new OutputPipe(ends[0], ends[1]));
  }

  OutputPipe(const OutputPipe&) = delete;
  ~OutputPipe() {
    if (reader_.joinable()) (void)Finish();
    close(read_end_);
  }

  std::string Path() const { return absl::StrCat("/proc/self/fd/", write_end_); }

  // Returns the output. Call it after the linker has finished.
  absl::StatusOr<std::string> Finish() {
    close(write_end_);
    reader_.join();
    if (error_ != 0) {
      errno = error_;
      return Failure("read of a pipe");
    }
    return std::move(contents_);
  }

 private:
  OutputPipe(int read_end, int write_end)
      : read_end_(read_end), write_end_(write_end), reader_([this] { Drain(); }) {}

  void Drain() {
    char buffer[1 << 16];
    while (true) {
      ssize_t count = read(read_end_, buffer, sizeof(buffer));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) error_ = errno;
      if (count <= 0) return;
      contents_.append(buffer, count);
    }
  }

  int read_end_;
  int write_end_;
  int error_ = 0;
  std::string contents_;
  std::thread reader_;  // Last: it uses all fields above.
};

// lld keeps its state in globals.
std::mutex& LinkerMutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

absl::StatusOr<std::string> LinkSharedObject(const std::vector<std::string>& objects) {
  std::vector<MemoryFile> inputs;
  for (const std::string& object : objects) {
    SINTER_ASSIGN_OR_RETURN(MemoryFile file, MemoryFile::Create(object));
    inputs.push_back(std::move(file));
  }
  EmbeddedFile freestanding = FreestandingObject();
  SINTER_ASSIGN_OR_RETURN(MemoryFile library, MemoryFile::Create({freestanding.data, freestanding.size}));
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<OutputPipe> output, OutputPipe::Create());

  std::vector<std::string> arguments = {"ld.lld",
                                        "-shared",
                                        "-z",
                                        "defs",
                                        "-z",
                                        "noexecstack",
                                        "-z",
                                        "max-page-size=4096",
                                        "--no-rosegment",
                                        "--build-id=none",
                                        "--hash-style=gnu",
                                        "--strip-all",
                                        "--gc-sections",
                                        "--icf=safe",
                                        "--threads=1",
                                        "-o",
                                        output->Path()};
  for (const MemoryFile& input : inputs) arguments.push_back(input.Path());
  arguments.insert(arguments.end(), {"--start-lib", library.Path(), "--end-lib"});
  llvm::SmallVector<const char*, 40> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());

  std::string messages;
  llvm::raw_string_ostream stream(messages);
  {
    std::lock_guard<std::mutex> lock(LinkerMutex());
    lld::Result result = lld::lldMain(pointers, stream, stream, {{lld::Gnu, &lld::elf::link}});
    if (result.retCode != 0) {
      return absl::InternalError(absl::StrCat("the linker refused the CPU kernels: ", stream.str()));
    }
  }
  return output->Finish();
}

}  // namespace sinter::codegen
