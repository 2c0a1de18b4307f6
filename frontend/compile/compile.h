// Compiles a graph to a plan, ahead of time.
//
//   absl::StatusOr<sn::Plan> plan = sn::Compile(graph);
//   if (!plan.ok()) std::cerr << plan.status();          // Each error with the user's line.
//   plan->Save("lenet.plan");                            // Or run it at once: runtime/session/session.h.
//
// The same graph and options give the same bytes on every CPU; only "native" depends on the machine that
// compiles. That machine needs a CPU of level x86-64-v3 (else FailedPrecondition). Compilation starts no
// compiler, assembler or linker program.
#ifndef SINTER_FRONTEND_COMPILE_COMPILE_H_
#define SINTER_FRONTEND_COMPILE_COMPILE_H_

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/compile/data_parallel.h"
#include "sinter/frontend/compile/exchanges.h"
#include "sinter/frontend/compile/parallel.h"
#include "sinter/frontend/graph/graph.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter {

enum class Layout { kAuto, kNchw, kNhwc, kNchw16n };

// Who inserts copies between devices: only the graph, or also the compiler if an op reads from another
// device.
enum class Copies { kExplicit, kAutomatic };

// Which matmuls on GPUs are padded, of those whose rows are no multiples of what tensor cores read.
enum class PadProducts { kNever, kWhereFaster, kAlways };

// Which masks of gradients GPUs store as bits. kAlways is for tests: also small ones.
enum class PackMasks { kNever, kWhereLarge, kAlways };

// Which values a GPU stores again instead of keeping them. kAlways is for tests: also at small peaks and at
// any price.
enum class StoreAgain { kNever, kWhereNearlyFree, kAlways };

// The CPUs that a plan's code is compiled for, one or several. A name or a list of names converts to
// TargetCpus.
struct TargetCpus {
  std::vector<std::string> names;

  TargetCpus(const char* name) : names{name} {}             // NOLINT(google-explicit-constructor)
  TargetCpus(std::string name) : names{std::move(name)} {}  // NOLINT(google-explicit-constructor)
  // NOLINTNEXTLINE(google-explicit-constructor)
  TargetCpus(std::vector<std::string> list) : names(std::move(list)) {}
  TargetCpus(std::initializer_list<std::string> list) : names(list) {}
};

struct CompileOptions {
  // The device of every op and variable that the graph does not place (by DeviceScope, Copy, or nn's To).
  Device device = Device::Cpu();
  // If it lists devices, ops that the graph does not place run on all of them, each with a part of the batch,
  // and `device` is ignored.
  DataParallel data_parallel = {};
  // The ranks that run the plan together, and how they share the work (parallel.h). Not with data_parallel.
  Mesh mesh = {};
  std::vector<parallel::Tactic> parallel = {};
  // With a mesh. data_parallel always gathers what an op needs.
  Reshards reshards = Reshards::kExplicit;
  // kExplicit: an op that reads from another device is an error that names both lines.
  Copies copies = Copies::kExplicit;
  // Architectures of the plan's GPU kernels, if the plan uses GPUs: names such as "sm_90", or "native" for
  // this machine's GPUs (without a GPU here: sm_80, sm_90 and sm_100). The plan runs only on GPUs that can
  // run one of them. Code for sm_80 also runs on sm_89. For a plan on devices of a registered kind, "native"
  // is the architectures of its back end (runtime/memory/backend.h).
  std::vector<std::string> gpu_architectures = {"native"};
  // "native", or a CPU or level such as "x86-64-v3" or "znver4". The plan runs on every CPU that has the
  // instruction sets of the target that Sinter uses. With several names, such as {"x86-64-v3", "x86-64-v4"},
  // the plan has code for each and picks at load time the best one that the CPU can run. A plan that computes
  // nothing on a CPU runs with any CPU.
  TargetCpus target_cpu = "native";
  // Compiler threads; 0 means one a core. The plan does not depend on it.
  int threads = 0;
  // These switches are for tests and for measuring an optimisation. Results agree within rounding for every
  // choice.
  bool fuse = true;
  bool fuse_epilogues = true;
  // Keeps a bf16 or f16 copy of a variable that matmuls read in that type, so that no run casts it. The
  // results are the same bits. Ignored with a memory_limit, which computes casts where they are read.
  bool keep_casts = true;
  // On one GPU, at a memory peak of 256 MiB or more: a kernel of a gradient that reads what a value was
  // computed from stores the value again for its later readers, so that it is not kept in between. Adds at
  // most 0.5 % to the predicted time. Off, because its time was not measured on a GPU yet.
  StoreAgain store_again = StoreAgain::kNever;
  // Pads matmuls on GPUs whose rows are no multiples of 16 bytes, such as those over a vocabulary of 50,257
  // words. kAlways is for tests: also where that is slower.
  PadProducts pad_products = PadProducts::kWhereFaster;
  // Stores the mask of a relu or another op with branches as bits for its gradient, where that saves 8 MiB of
  // reads and writes or more.
  PackMasks pack_masks = PackMasks::kWhereLarge;
  bool in_place = true;
  bool reuse_memory = true;
  // The layout of convolutions and pools; inputs and outputs keep the graph's layout. kNchw16n, [N / 16, C,
  // H, W, 16], requires f32 and batches that are multiples of 16. kAuto uses kNchw16n if it can, else kNhwc.
  Layout image_layout = Layout::kAuto;
  // The most bytes of each device that the plan may need for variables, constants, inputs and the values of
  // its largest function; libraries take some MB of workspace more. 0: no limit. To fit, the plan recomputes
  // values instead of keeping them, which costs time; CompileReport::memory lists them. If the plan cannot
  // fit, the error gives the smallest possible limit and the lines of the largest values. Requires
  // reuse_memory.
  int64_t memory_limit = 0;
  // Cuts each loop that a gradient passes into this many segments, whose trips the gradient computes again
  // instead of keeping what each of them needs (control/loops.h, ScanOptions::segments). Losses are the same;
  // gradients that sum over trips agree within rounding. 0: 1, or with a memory_limit as few as let the plan
  // fit, at most 64.
  int64_t scan_segments = 0;
  // Computes logits larger than this many bytes in chunks of rows of about this size, so that they are never
  // in memory whole. The same holds for any matmul whose rows are processed independently. Losses are the
  // same; gradients that sum over rows agree within rounding. 0: never in chunks.
  int64_t row_chunk_bytes = int64_t{576} << 20;
  // With a mesh: computes the rows around an exchange in this many parts, so that one part travels while the
  // next is computed. Results are the same. 0: 2, 4 or 8 where that is faster by the predicted times, and
  // none with a memory_limit; 1: none; more: wherever it is possible, for tests and measurements.
  int64_t exchange_parts = 0;
  // With a mesh, in sums of at least this many bytes: two ranks that add tensors send them to each other, and
  // each adds both; ranks that share a sum send each other the parts. So exchanges only move elements, which
  // copy engines can do, and the additions are fused with what reads them. Results agree within rounding.
  // Sums that more than two ranks need whole are not changed. 0: where that is faster by the predicted times,
  // on GPUs alone; 1: wherever it is possible; INT64_MAX: nowhere.
  int64_t copied_sum_bytes = 0;
  // For finding mistakes: a run returns OutOfRange, with the user's line, if an index of Gather, TakeAlong,
  // ScatterAdd or OneHot, or a label of SoftmaxCrossEntropy, is out of range. The message gives the lowest
  // index below 0, else the highest index. The run has then finished, and outputs and variables have the
  // values that they have without the check (see ops.h for each op). Every run waits for its devices and
  // reads three numbers an op. The plan has a variable for each op, "index_check/<function>/<n>", which
  // checkpoints leave out. User kernels are not checked.
  bool check_indices = false;
  // Runs the IR verifier after every pass.
  bool verify_each_pass = false;
  // Stages whose IR is kept in CompileReport::dumps, by the names of StageNames(), or "all".
  std::vector<std::string> dump_stages = {};
  // Fills CompileReport::fusion, ::copies, ::casts, ::kernels and ::memory.
  bool report = false;
};

// The compiler's log of a compilation: decisions and times.
struct CompileReport {
  std::map<std::string, std::string> dumps;  // Keyed by stage name; values are MLIR text.
  std::vector<std::pair<std::string, double>> stage_ms;
  // A line for each fused group and each refused fusion, with the user's line.
  std::vector<std::string> fusion;
  std::vector<std::string>
      copies;  // A line for each copy between devices or collective: bytes, devices, reason, line.
  // The exchanges between ranks of a mesh; filled without `report` too.
  std::vector<Exchange> exchanges;
  // First a line for each cast that GraphOptions::precision inserted: the value, its bytes, the op that reads
  // it, the user's line; and a line for each matmul or convolution that keeps its type. Then a line for each
  // variable that also has a low-precision copy, or why it has none.
  std::vector<std::string> casts;
  // A line for each call: the device, the back end that computes it (docs/generated/passes.md,
  // select-kernels), its workspace, the user's line.
  std::vector<std::string> kernels;
  // The peak of each function and the values alive there; matmuls computed in chunks; recomputed values.
  std::vector<std::string> memory;
  std::string ToString() const;  // Times, then the other lines.
};

// The names that dump_stages accepts: the stages in order, then the generated code as "kernels" (MLIR),
// "llvm", "assembly" and "cuda".
std::vector<std::string> StageNames();

// Compiles the graph. Returns InvalidArgument with every error of the graph, one a line, or with the
// diagnostics of the stage that failed.
absl::StatusOr<Plan> Compile(const Graph& graph, const CompileOptions& options = {},
                             CompileReport* report = nullptr);

// Compiles a program given as MLIR text, in the form that Graph::ToString() prints. `name` is the origin of
// the text: messages and source lines begin with it. The plan takes the name of the module. For a module
// without a name it takes `name` without folders and extension: "models/lenet.mlir" makes the plan "lenet".
absl::StatusOr<Plan> CompileText(std::string_view mlir, std::string_view name,
                                 const CompileOptions& options = {}, CompileReport* report = nullptr);

}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_COMPILE_H_
