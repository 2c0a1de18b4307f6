// Compares saving and loading a checkpoint with the rate of the disk.
//
//   sinter_bench_checkpoint --gib 18 --folder /data               # Two CPU ranks in one process.
//   mpirun -n 2 sinter_bench_checkpoint --gib 18 --folder /data   # Each process has one rank.
//   sinter_bench_checkpoint --gib 18 --device gpu:0 --ranks 1     # One GPU, which has all variables whole.
//
// The model is an MLP, whose variables each rank has a part of: ZeRO of level 3. It is loaded on another
// mesh, where tensor parallelism cuts other dimensions. The disk's rate is that of a plain program with as
// many processes, which write or read a file of the same size: through the page cache or past it, whichever
// is faster. Writing ends when the data is durable; reading starts with nothing of the file in the page
// cache. Each figure is the best of --rounds, and a round measures all.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sinter/frontend/sinter.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/checkpoint.h"
#ifdef SINTER_WITH_MPI
#include "sinter/runtime/mpi/mpi_world.h"
#endif

namespace {

namespace sn = sinter;

constexpr int kPairs = 12;                       // Pairs of layers, with 32 width^2 bytes each.
constexpr size_t kPieceBytes = size_t{4} << 20;  // Bytes of one write or read.

// Calls past the page cache need memory and offsets that are aligned so.
struct alignas(4096) Page {
  std::array<std::byte, 4096> bytes;
};

struct Options {
  double gib = 1;
  std::string folder = ".";
  int rounds = 3;
  std::string device = "cpu:0";  // Device of rank 0; the next ranks use the next ones.
  int ranks = 0;                 // In all; 0: one a process, two in a single process.
};

// The processes that measure together.
struct Together {
  sn::World* world = nullptr;  // Null if there is one process.

  int rank() const { return world == nullptr ? 0 : world->rank(); }
  int size() const { return world == nullptr ? 1 : world->size(); }
  // Returns the largest value of all processes, once all have called it.
  absl::StatusOr<double> Largest(double own) const {
    if (world == nullptr) return own;
    std::vector<double> all(static_cast<size_t>(size()));
    SINTER_RETURN_IF_ERROR(world->AllGather(std::as_bytes(std::span(&own, 1)),
                                            std::as_writable_bytes(std::span(all)), {.name = "timing"}));
    return *std::ranges::max_element(all);
  }
  // Returns the seconds until the last process is done with `work`, which all begin together.
  absl::StatusOr<double> Seconds(const std::function<absl::Status()>& work) const {
    SINTER_RETURN_IF_ERROR(Largest(0).status());
    const auto start = std::chrono::steady_clock::now();
    SINTER_RETURN_IF_ERROR(work());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return Largest(took.count());
  }
};

int64_t WidthOf(double gib) {
  const double width = std::sqrt(gib * (1 << 30) / (32.0 * kPairs));
  return std::max<int64_t>(std::llround(width / 64) * 64, 64);
}

sn::Graph Model(int64_t width) {
  sn::Graph graph("mlp", {.seed = 1});
  std::vector<sn::nn::Module> layers;
  for (int pair = 0; pair < kPairs; ++pair) {
    layers.push_back(sn::nn::Linear(4 * width, {.bias = false, .out_dim = "mlp"}));
    layers.push_back(sn::nn::Relu());
    layers.push_back(sn::nn::Linear(width, {.bias = false, .in_dim = "mlp"}));
  }
  sn::nn::Module net = sn::nn::Sequential(layers);
  graph.Function("predict", sn::Mode::kEval,
                 [&](sn::Builder& b) { b.Output("y", net(b.Input("x", sn::F32, {8, width}))); });
  return graph;
}

// A single rank has no mesh.
absl::StatusOr<sn::Session> MakeSession(const Together& together, const Options& bench, int64_t width,
                                        const std::string& axis, std::vector<sn::parallel::Tactic> tactics) {
  sn::CompileOptions options;
  SINTER_ASSIGN_OR_RETURN(options.device, sn::Device::Parse(bench.device));
  if (bench.ranks > 1) {
    options.mesh.axes = {{axis, bench.ranks}};
    options.parallel = std::move(tactics);
  }
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(Model(width), options));
  return sn::Session::Create(std::move(plan), {.world = together.world});
}

absl::Status SystemError(const std::string& what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " '", path, "'"));
}

// Writes or reads this process's share of a file with calls of kPieceBytes.
class Transfer {
 public:
  Transfer(const Together& together, std::string path, int64_t bytes)
      : path_(std::move(path)), buffer_(kPieceBytes / sizeof(Page)) {
    const int64_t pieces = bytes / static_cast<int64_t>(kPieceBytes);
    begin_ = pieces * together.rank() / together.size();
    end_ = pieces * (together.rank() + 1) / together.size();
    for (size_t i = 0; i < buffer_.size(); ++i) buffer_[i].bytes.fill(static_cast<std::byte>(i * i % 251));
  }

  absl::Status Write(bool past_cache) {
    const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | (past_cache ? O_DIRECT : 0), 0666);
    if (fd < 0) return SystemError("open", path_);
    absl::Status status = ForEach([&](off_t at) { return pwrite(fd, buffer_.data(), kPieceBytes, at); });
    if (status.ok() && fsync(fd) != 0) status = SystemError("make durable", path_);
    close(fd);
    return status;
  }

  absl::Status Read(bool past_cache) {
    const int fd = open(path_.c_str(), O_RDONLY | (past_cache ? O_DIRECT : 0));
    if (fd < 0) return SystemError("open", path_);
    absl::Status status = ForEach([&](off_t at) { return pread(fd, buffer_.data(), kPieceBytes, at); });
    close(fd);
    return status;
  }

 private:
  absl::Status ForEach(const std::function<ssize_t(off_t)>& transfer) const {
    for (int64_t piece = begin_; piece < end_; ++piece) {
      if (transfer(static_cast<off_t>(piece * static_cast<int64_t>(kPieceBytes))) != kPieceBytes) {
        return SystemError("write or read", path_);
      }
    }
    return absl::OkStatus();
  }

  std::string path_;
  std::vector<Page> buffer_;
  int64_t begin_ = 0, end_ = 0;
};

// Removes the file's data from the page cache.
absl::Status Forget(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  if (fd < 0) return SystemError("open", path);
  const int error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
  errno = error;
  return error == 0 ? absl::OkStatus() : SystemError("forget the pages of", path);
}

class CheckpointBench {
 public:
  CheckpointBench(const Together& together, const Options& options)
      : together_(together),
        options_(options),
        width_(WidthOf(options.gib)),
        bytes_(32 * width_ * width_ * kPairs),
        checkpoint_(options.folder + "/bench.safetensors"),
        plain_(options.folder + "/bench.bin") {}

  ~CheckpointBench() {
    if (together_.rank() != 0) return;
    unlink(checkpoint_.c_str());
    unlink(plain_.c_str());
  }

  absl::Status Run() {
    Transfer plain(together_, plain_, bytes_);
    {
      SINTER_ASSIGN_OR_RETURN(const sn::Session session,
                              MakeSession(together_, options_, width_, "data",
                                          {sn::parallel::Data{}, sn::parallel::Zero{.level = 3}}));
      for (int round = 0; round < options_.rounds; ++round) {
        for (const bool past_cache : {false, true}) {
          // A new file, as the checkpoint is.
          if (together_.rank() == 0) unlink(plain_.c_str());
          SINTER_RETURN_IF_ERROR(Measure(past_cache ? "written past the cache" : "written",
                                         [&] { return plain.Write(past_cache); }));
          if (together_.rank() == 0) SINTER_RETURN_IF_ERROR(Forget(plain_));
        }
        SINTER_RETURN_IF_ERROR(Measure("save", [&] { return sn::SaveCheckpoint(session, checkpoint_); }));
      }
    }
    SINTER_ASSIGN_OR_RETURN(sn::Session session,
                            MakeSession(together_, options_, width_, "tensor", {sn::parallel::Tensor{}}));
    for (int round = 0; round < options_.rounds; ++round) {
      for (const bool past_cache : {false, true}) {
        SINTER_RETURN_IF_ERROR(Forget(plain_));
        SINTER_RETURN_IF_ERROR(
            Measure(past_cache ? "read past the cache" : "read", [&] { return plain.Read(past_cache); }));
      }
      SINTER_RETURN_IF_ERROR(Forget(plain_));
      SINTER_RETURN_IF_ERROR(Forget(checkpoint_));
      SINTER_RETURN_IF_ERROR(
          Measure("load", [&] { return sn::LoadCheckpoint(session, checkpoint_).status(); }));
    }
    if (together_.rank() == 0) Print();
    return absl::OkStatus();
  }

 private:
  absl::Status Measure(const std::string& name, const std::function<absl::Status()>& work) {
    SINTER_ASSIGN_OR_RETURN(const double seconds, together_.Seconds(work));
    const auto [found, is_new] = seconds_.try_emplace(name, seconds);
    found->second = std::min(found->second, seconds);
    return absl::OkStatus();
  }

  void Print() const {
    std::cout << absl::StrFormat("%.2f GB, %d processes, %d ranks from %s\n",
                                 static_cast<double>(bytes_) / 1e9, together_.size(), options_.ranks,
                                 options_.device);
    for (const auto& [work, plain] : {std::pair("save", "written"), std::pair("load", "read")}) {
      const double cached = RateOf(plain), direct = RateOf(absl::StrCat(plain, " past the cache"));
      std::cout << absl::StrFormat(
          "%s %.2f GB/s; plain file %s %.2f GB/s, past the cache %.2f GB/s; %.2f of the disk's rate\n", work,
          RateOf(work), plain, cached, direct, RateOf(work) / std::max(cached, direct));
    }
  }

  double RateOf(const std::string& name) const {
    return static_cast<double>(bytes_) / seconds_.at(name) / 1e9;
  }

  const Together& together_;
  const Options& options_;
  const int64_t width_, bytes_;
  const std::string checkpoint_, plain_;
  std::map<std::string, double> seconds_;  // The least of each.
};

absl::Status Run(Options options) {
  Together together;
#ifdef SINTER_WITH_MPI
  SINTER_ASSIGN_OR_RETURN(const std::unique_ptr<sn::MpiWorld> world, sn::MpiWorld::Create());
  if (world->size() > 1) together.world = world.get();
#endif
  if (options.ranks == 0) options.ranks = std::max(together.size(), 2);
  if (options.ranks % together.size() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ranks ", options.ranks, " is not a multiple of the ", together.size(), " processes"));
  }
  setenv("SINTER_CPU_DEVICES", absl::StrCat(options.ranks / together.size()).c_str(), /*overwrite=*/1);
  return CheckpointBench(together, options).Run();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Compares saving and loading a checkpoint with the rate of the disk.");
  app.add_option("--gib", options.gib, "size of the checkpoint in GiB")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1e5));
  app.add_option("--folder", options.folder, "folder of the files, on the disk to measure")
      ->capture_default_str()
      ->check(CLI::ExistingDirectory);
  app.add_option("--rounds", options.rounds, "how often everything is measured")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--device", options.device, "device of rank 0; the next ranks use the next devices")
      ->capture_default_str();
  app.add_option("--ranks", options.ranks, "ranks in all; default: one a process, two in a single process")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = Run(options);
  if (!status.ok()) std::cerr << "sinter_bench_checkpoint: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
