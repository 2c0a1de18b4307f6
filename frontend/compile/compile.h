// From a graph to a plan: the whole compiler, ahead of time.
//
//   absl::StatusOr<sn::Plan> plan = sn::Compile(graph);
//   if (!plan.ok()) std::cerr << plan.status();          // the user's lines and what is wrong with them
//   plan->Save("lenet.plan");                            // or run it at once: runtime/session/session.h
//
// The same graph and options give the same bytes, on whatever CPU they are compiled: only "native" asks which one that is. It must
// be one of level x86-64-v3 (FailedPrecondition). No compiler, assembler or linker program is started.
#ifndef SINTER_FRONTEND_COMPILE_COMPILE_H_
#define SINTER_FRONTEND_COMPILE_COMPILE_H_

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/compile/data_parallel.h"
#include "sinter/frontend/graph/graph.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter {

enum class Layout { kAuto, kNchw, kNhwc, kNchw16n };

// Who copies values between devices: the graph alone, or also the compiler where an op reads from another device.
enum class Copies { kExplicit, kAutomatic };

// The CPUs that a plan's code is compiled for: one or several. A name, or a list of names, converts to it.
struct TargetCpus {
  std::vector<std::string> names;

  TargetCpus(const char* name) : names{name} {}             // NOLINT(google-explicit-constructor)
  TargetCpus(std::string name) : names{std::move(name)} {}  // NOLINT(google-explicit-constructor)
  // NOLINTNEXTLINE(google-explicit-constructor)
  TargetCpus(std::vector<std::string> list) : names(std::move(list)) {}
  TargetCpus(std::initializer_list<std::string> list) : names(list) {}
};

struct CompileOptions {
  // Where everything lives and runs that the graph does not place (DeviceScope, Copy, nn's To).
  Device device = Device::Cpu();
  // With devices in it: what the graph does not place runs on all of these, each with a part of the batch, and `device` does
  // not count.
  DataParallel data_parallel = {};
  // kExplicit: an op that reads from another device is an error with both lines.
  Copies copies = Copies::kExplicit;
  // What the plan's GPU kernels are compiled for, when a GPU is among its devices: names such as "sm_90", or "native", which
  // are this machine's GPUs; without a GPU here, sm_80, sm_90 and sm_100. It runs on no other, but code for sm_80 runs on
  // sm_89 too.
  std::vector<std::string> gpu_architectures = {"native"};
  // "native", or a CPU or level such as "x86-64-v3" or "znver4": the plan runs on CPUs with the instruction sets of it that Sinter
  // uses. Several, such as {"x86-64-v3", "x86-64-v4"}: the plan holds code for each and runs on all of these, each time with the
  // best code that the CPU can run. A plan that computes nothing on a CPU runs beside any.
  TargetCpus target_cpu = "native";
  // Threads that compile; 0: one for each core. The plan does not depend on it.
  int threads = 0;
  // For tests and for measuring what they bring; results agree within rounding whatever is chosen.
  bool fuse = true;
  bool fuse_epilogues = true;
  // Whether a variable that products read in bf16 or f16 is kept in that type as well, so that no run casts it: the same bits.
  // Not with a memory_limit, for which casts are computed where they are read.
  bool keep_casts = true;
  bool in_place = true;
  bool reuse_memory = true;
  // The layout in which convolutions and pools run; inputs and outputs stay as the graph says. kNchw16n,
  // [N / 16, C, H, W, 16], is for f32 and batches that are multiples of 16; kAuto takes it where it can, else kNhwc.
  Layout image_layout = Layout::kAuto;
  // The most bytes of each device that a plan may need for its variables, constants, inputs and the values of its largest
  // function; libraries take some MB of workspace besides. 0: no limit. Values that can be computed again from others are not
  // kept where that is needed, which costs time; CompileReport::memory lists them. A limit that cannot be kept is an error that
  // says the least that can be reached, and the lines of the largest values. Needs reuse_memory.
  int64_t memory_limit = 0;
  // Logits of more bytes than these, and any product whose rows are worked on one by one, are computed in chunks of
  // rows of about as many bytes, so that they are never in memory whole: the losses are the same, gradients that are sums over
  // rows within rounding. 0: always whole.
  int64_t row_chunk_bytes = int64_t{576} << 20;
  // For finding mistakes: a run returns OutOfRange, with the user's line, when an op was given an index that it does not
  // have, as Gather, TakeAlong, ScatterAdd, OneHot or a label of SoftmaxCrossEntropy. It says the lowest index below 0, else
  // the highest. The run has happened then: outputs and variables are what they are without the check, which ops.h says of
  // each op. Every run waits for its devices and reads two numbers an op; the plan has a variable for each,
  // "index_check/<function>/<n>", which is no part of checkpoints. Kernels of the program's own are not looked at.
  bool check_indices = false;
  // Runs the IR verifier after every pass.
  bool verify_each_pass = false;
  // Stages whose IR is kept in CompileReport::dumps, by the names of StageNames(), or "all".
  std::vector<std::string> dump_stages = {};
  // Fills CompileReport::fusion, ::copies, ::casts and ::memory.
  bool report = false;
};

// What the compiler did and how long it took.
struct CompileReport {
  std::map<std::string, std::string> dumps;  // Stage name to MLIR text.
  std::vector<std::pair<std::string, double>> stage_ms;
  std::vector<std::string> fusion;  // One line a group formed and a fusion refused, with the user's line.
  std::vector<std::string>
      copies;  // One line a copy between devices or a collective: bytes, from where to where, why, the user's line.
  // One line a cast that Graph::SetPrecision made: of what, bytes, for which op, the user's line; and one a product that
  // keeps its type; then one a variable that is kept in a narrower type as well, or why it is not.
  std::vector<std::string> casts;
  // The peak of each function and what is alive at it; products computed in chunks; what is computed again.
  std::vector<std::string> memory;
  // One line a function that is built as training is, perhaps by mistake (Mode).
  std::vector<std::string> warnings;
  std::string ToString() const;  // Warnings, times, then the other lines.
};

// The stages in order, then "kernels" (MLIR), "llvm" and "assembly" of the generated code: what dump_stages accepts.
std::vector<std::string> StageNames();

// InvalidArgument with every error of the graph, one a line, or with the diagnostics of the stage that
// failed.
absl::StatusOr<Plan> Compile(const Graph& graph, const CompileOptions& options = {},
                             CompileReport* report = nullptr);

// The same from the program's MLIR text, as Graph::ToString() prints it. `name` says where the text is from: messages and
// source lines begin with it. The plan has the name of the module; that of a module without one is `name` without
// folders and ending, so that "models/lenet.mlir" makes the plan "lenet".
absl::StatusOr<Plan> CompileText(std::string_view mlir, std::string_view name,
                                 const CompileOptions& options = {}, CompileReport* report = nullptr);

}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_COMPILE_H_
