#include "sinter/codegen/cuda/cuda_kernels.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cuda/cuda_nest.h"
#include "sinter/codegen/cuda/cuda_printer.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/codegen/loops/job_slots.h"
#include "sinter/codegen/places/buffer_region.h"
#include "sinter/codegen/places/symbol_name.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/gpu_limits.h"

namespace sinter::codegen {

namespace LLVM = mlir::LLVM;
using llvm::ArrayRef;
using llvm::SmallVector;

// A call of a device function: its buffers, its blocks, and, for flat loops, its elements.
struct CudaKernels::JobCall {
  std::string body;  // The function's text, with `body` as its name.
  SlotList slots;
  int64_t blocks = 0, block = 0, length = 0, resident = 0;
};

namespace {

constexpr size_t kNamedOps = 3;
// Positions have 32 bits if all fit, including those of threads beyond the end.
constexpr int64_t kMaxIndex32 = std::numeric_limits<int32_t>::max() - (1 << 24);

bool IsAligned(plan_ir::CallOp call, const Slot& slot) {
  switch (slot.kind) {
    case Slot::Kind::kIn:
      return RegionOf(call.getIns()[slot.index]).IsAligned(kAccessBytes);
    case Slot::Kind::kOut:
      return RegionOf(call.getOuts()[slot.index]).IsAligned(kAccessBytes);
    case Slot::Kind::kWorkspace:
      return slot.offset % kAccessBytes == 0;
  }
  return false;
}

int64_t LargestTensor(ArrayRef<Slot> slots) {
  int64_t most = 0;
  for (const Slot& slot : slots) most = std::max(most, slot.type.getNumElements());
  return most;
}

// Returns the names, without the dialect, of the first few ops that compute something.
std::string NameOps(plan_ir::CallOp call) {
  std::string name;
  size_t count = 0;
  for (mlir::Operation& op : call.getBody().front().without_terminator()) {
    if (op.hasTrait<mlir::OpTrait::ConstantLike>() || op.getNumOperands() == 0) continue;
    if (count++ == kNamedOps) break;
    absl::StrAppend(&name, op.getName().stripDialect().str(), "_");
  }
  return name.empty() ? "kernel_" : absl::StrReplaceAll(name, {{".", "_"}});
}

// The jobs of one function, in the order of their blocks.
struct Group {
  std::string body;
  size_t parameters = 0;
  std::vector<size_t> jobs;
};

}  // namespace

CudaKernels::CudaKernels(mlir::MLIRContext* context) : context_(context) {}
CudaKernels::~CudaKernels() = default;

uint32_t CudaKernels::AddSource(CudaSource source) {
  auto [found, is_new] = known_.try_emplace(source.text, sources_.size());
  if (is_new) sources_.push_back(std::move(source));
  return found->second;
}

absl::StatusOr<std::vector<CudaLaunch>> CudaKernels::AddCall(plan_ir::CallOp call) {
  SINTER_ASSIGN_OR_RETURN(FusedLaunches cut, SplitIntoLaunches(call, CudaLoopTarget()));
  return AddLaunches(call, cut);
}

absl::StatusOr<std::vector<CudaLaunch>> CudaKernels::AddLaunches(plan_ir::CallOp call, FusedLaunches& cut) {
  if (!scratch_) {
    context_->loadDialect<LLVM::LLVMDialect, mlir::scf::SCFDialect, mlir::arith::ArithDialect,
                          mlir::math::MathDialect, mlir::func::FuncDialect>();
    scratch_ = mlir::ModuleOp::create(mlir::UnknownLoc::get(context_));
  }
  std::vector<CudaLaunch> launches;
  known_jobs_.Clear();
  const CallSlots slots(call);
  for (std::vector<Job>& jobs : cut.launches) {
    SINTER_ASSIGN_OR_RETURN(CudaLaunch launch, AddLaunch(slots, jobs));
    // An empty grid: every output is empty.
    if (launch.grid > 0) launches.push_back(std::move(launch));
  }
  return launches;
}

CudaKernels::JobCall CudaKernels::AddJob(const CallSlots& slots, Job& job, bool alone,
                                         const SlotList& all_written) {
  const SlotList parameters = ParametersOf(slots, job);
  SmallVector<uint64_t> more = {alone};
  for (const Slot& slot : parameters.slots())
    more.append({all_written.Find(slot) < 0, IsAligned(slots.call(), slot)});
  JobCall result = known_jobs_.Of(slots, job, parameters, more,
                                  [&] { return EmitJob(slots, job, alone, all_written, parameters); });
  result.slots = parameters;
  return result;
}

CudaKernels::JobCall CudaKernels::EmitJob(const CallSlots& slots, Job& job, bool alone,
                                          const SlotList& all_written, const SlotList& parameters) {
  JobCall result;
  plan_ir::CallOp call = slots.call();
  CudaSchedule schedule = MakeCudaSchedule(job, alone);
  result.blocks = schedule.blocks;
  result.block = schedule.block;
  result.resident = schedule.resident;
  result.length = schedule.mode == CudaSchedule::Mode::kFlat ? schedule.parallel[0].size : 0;

  mlir::MLIRContext* context = scratch_->getContext();
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(scratch_->getBody());
  SmallVector<mlir::Type> types(parameters.size(), LLVM::LLVMPointerType::get(context));
  types.append(3, b.getIndexType());
  auto function = b.create<mlir::func::FuncOp>(call.getLoc(), "body", b.getFunctionType(types, {}));
  mlir::Block* entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  ir::ScalarBuilder s(b, call.getLoc(), /*casts_to_float8=*/true);
  auto place_of = [&](const Slot& slot) {
    Slot resolved = slots.Resolve(slot);
    int index = parameters.Find(resolved);
    SINTER_CHECK(index >= 0) << "in the call " << call.getName().str();
    return CudaThread::Place{entry->getArgument(index), all_written.Find(resolved) < 0,
                             IsAligned(call, resolved)};
  };
  size_t n = parameters.size();
  EmitCudaNest(s, job, schedule, place_of, entry->getArgument(n), entry->getArgument(n + 1),
               entry->getArgument(n + 2));
  b.setInsertionPointToEnd(entry);
  b.create<mlir::func::ReturnOp>(call.getLoc());
  EraseDead(*entry);
  result.body = PrintCudaFunction(function, "body");
  function.erase();
  return result;
}

// The text of a launch: the jobs' functions, tables of equal jobs, and a kernel that assigns each block to
// its job.
struct CudaKernels::KernelText {
  plan_ir::CallOp call;
  const std::vector<JobCall>& calls;
  const LaunchBuffers& buffers;
  std::string functions, dispatch;

  void AddCall(const std::string& body, const JobCall& job, int64_t first) {
    std::string arguments;
    for (const Slot& slot : job.slots.slots())
      absl::StrAppend(&arguments, "b.p[", buffers.NumberOf(slot), "], ");
    absl::StrAppend(&dispatch, "    ", body, "(", arguments, "block - ", first, ", thread, ", job.length,
                    ");\n");
  }

  // Writes tables of each job's first block, length and pointers, and code that searches the first table.
  void AddCalls(const std::string& body, const Group& group, size_t g, int64_t first) {
    std::string firsts, lengths, pointers, arguments;
    for (size_t j : group.jobs) {
      absl::StrAppend(&firsts, first, ", ");
      absl::StrAppend(&lengths, calls[j].length, ", ");
      for (const Slot& slot : calls[j].slots.slots())
        absl::StrAppend(&pointers, buffers.NumberOf(slot), ", ");
      first += calls[j].blocks;
    }
    absl::StrAppend(&functions, "__constant__ const u32 first_", g, "[] = {", firsts, "};\n",
                    "__constant__ const idx length_", g, "[] = {", lengths, "};\n",
                    "__constant__ const u16 pointers_", g, "[] = {", pointers, "};\n\n");
    for (size_t k = 0; k < group.parameters; ++k) absl::StrAppend(&arguments, "b.p[at[", k, "]], ");
    absl::StrAppend(&dispatch, "    u32 job = 0;\n",
                    "    for (u32 step = ", llvm::bit_ceil(group.jobs.size()) / 2, "; step > 0; step /= 2)\n",
                    "      if (job + step < ", group.jobs.size(), " && first_", g,
                    "[job + step] <= block) job += step;\n", "    const u16* at = pointers_", g, " + job * ",
                    group.parameters, ";\n", "    ", body, "(", arguments, "block - first_", g,
                    "[job], thread, length_", g, "[job]);\n");
  }

  void AddGroups(ArrayRef<Group> groups) {
    int64_t first = 0;
    for (auto [g, group] : llvm::enumerate(groups)) {
      std::string body = absl::StrCat("body_", g);
      absl::StrAppend(&functions, absl::StrReplaceAll(group.body, {{" body(", absl::StrCat(" ", body, "(")}}),
                      "\n");
      int64_t blocks = 0;
      for (size_t j : group.jobs) blocks += calls[j].blocks;
      dispatch += groups.size() > 1 ? absl::StrCat("  if (block < ", first + blocks, ") {\n") : "  {\n";
      if (group.jobs.size() == 1) {
        AddCall(body, calls[group.jobs[0]], first);
      } else {
        AddCalls(body, group, g, first);
      }
      dispatch += "    return;\n  }\n";
      first += blocks;
    }
  }

  CudaSource Finish(int64_t block, int64_t resident) {
    bool index32 = LargestTensor(buffers.slots()) < kMaxIndex32;
    std::string text = absl::StrCat(
        index32 ? "typedef i32 idx;\ntypedef u32 uidx;\n\n" : "typedef i64 idx;\ntypedef u64 uidx;\n\n",
        functions, "struct Buffers {\n  char* p[", std::max<size_t>(1, buffers.size()), "];\n};\n");
    std::string code =
        absl::StrCat("(const __grid_constant__ Buffers b) {\n  sn_start();\n",
                     "  const idx block = blockIdx.x, thread = threadIdx.x;\n", dispatch, "}\n");
    const std::string bounds = resident > 0 ? absl::StrCat(block, ", ", resident) : absl::StrCat(block);
    std::string symbol = absl::StrCat(NameOps(call), ShortHash(absl::StrCat(text, bounds, code)));
    absl::StrAppend(&text, "extern \"C\" __global__ void __launch_bounds__(", bounds, ") ", symbol, code);
    return {.symbol = symbol, .text = text, .has_programmatic_launch = true};
  }
};

absl::StatusOr<CudaLaunch> CudaKernels::AddLaunch(const CallSlots& slots, std::vector<Job>& jobs) {
  plan_ir::CallOp call = slots.call();
  CudaLaunch launch;
  SlotList read, written;
  for (const Job& job : jobs) {
    CollectSlots(job, read, written);
    launch.flops += JobFlops(job);
  }
  std::vector<JobCall> calls;
  for (Job& job : jobs) calls.push_back(AddJob(slots, job, jobs.size() == 1, written));
  launch.inputs = read.slots();
  launch.outputs = written.slots();
  const LaunchBuffers buffers(slots, read, written);
  for (const Slot& slot : buffers.slots()) launch.bytes += plan_ir::TensorBytes(slot.type);
  if (buffers.size() > kMaxGpuKernelBuffers) {
    return absl::UnimplementedError(absl::StrCat(UserLine(call.getLoc()), ": the kernel '",
                                                 call.getName().str(), "' works on ", buffers.size(),
                                                 " buffers and a GPU kernel may have ", kMaxGpuKernelBuffers,
                                                 "; split the function that it belongs to"));
  }
  std::vector<Group> groups;
  for (size_t j = 0; j < calls.size(); ++j) {
    if (calls[j].blocks == 0) continue;
    auto same = llvm::find_if(groups, [&](const Group& g) { return g.body == calls[j].body; });
    if (same == groups.end()) same = groups.insert(groups.end(), {calls[j].body, calls[j].slots.size(), {}});
    same->jobs.push_back(j);
    launch.grid += calls[j].blocks;
    launch.block = calls[j].block;
  }
  if (launch.grid == 0) return launch;
  KernelText text{call, calls, buffers, "", ""};
  text.AddGroups(groups);
  launch.kernel = AddSource(text.Finish(launch.block, calls.size() == 1 ? calls.front().resident : 0));
  return launch;
}

}  // namespace sinter::codegen
