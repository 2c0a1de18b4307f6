#include "sinter/codegen/cpu/fused_kernel.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cpu/loop_nest.h"
#include "sinter/codegen/cpu/streamed_slots.h"
#include "sinter/codegen/loops/job_slots.h"
#include "sinter/codegen/places/symbol_name.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace LLVM = mlir::LLVM;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

// A call of a job's loop function, with its buffers and its number of units.
struct KernelModule::JobCall {
  std::string body;
  SmallVector<Slot> slots;
  int64_t units = 0;
  int64_t unit_length = 1;  // Elements a unit for functions that count elements (flat loops); else 1.
  int64_t length = 0;       // Total count that the function takes, in elements or units.
  double cost = 0;
  int64_t scratch_bytes = 0;
};

namespace {

// The most calls in one function: LLVM's compile time grows faster than linearly.
constexpr size_t kMostJobs = 64;
constexpr double kWorthAThread = 65536;  // In simple operations: some microseconds.

// Marks the function's pointers that stream. `slots` are the function's first arguments.
void SetStreamed(mlir::func::FuncOp function, const CallSlots& of_call, ArrayRef<Slot> slots,
                 ArrayRef<StreamedSlot> streamed) {
  if (streamed.empty()) return;
  mlir::OpBuilder b(function.getContext());
  SmallVector<int64_t> distances(slots.size(), kNotStreamed);
  for (const StreamedSlot& s : streamed) {
    int index = FindSlot(slots, of_call.Resolve(s.slot));
    if (index < 0 || slots[index].kind != s.slot.kind) continue;
    distances[index] = s.distance;
    if (s.distance == 0) function.setArgAttr(index, "llvm.align", b.getI64IntegerAttr(kStreamedAlignment));
  }
  function->setAttr(kStreamedDistances, b.getDenseI64ArrayAttr(distances));
}

}  // namespace

KernelModule::KernelModule(mlir::MLIRContext* context) {
  context->loadDialect<LLVM::LLVMDialect, mlir::scf::SCFDialect, mlir::cf::ControlFlowDialect,
                       mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::func::FuncDialect>();
  module_ = mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
}

absl::StatusOr<std::vector<KernelLaunch>> KernelModule::AddCall(plan_ir::CallOp call) {
  SINTER_ASSIGN_OR_RETURN(FusedLaunches cut, SplitIntoLaunches(call, CpuLoopTarget()));
  return AddLaunches(call, cut);
}

std::vector<KernelLaunch> KernelModule::AddLaunches(plan_ir::CallOp call, FusedLaunches& cut) {
  std::vector<KernelLaunch> launches;
  const CallSlots slots(call);
  for (std::vector<Job>& jobs : cut.launches) launches.push_back(AddLaunch(slots, jobs));
  return launches;
}

KernelLaunch KernelModule::AddLaunch(const CallSlots& slots, std::vector<Job>& jobs) {
  KernelLaunch launch;
  SmallVector<Slot> read, written, buffers;
  SmallVector<JobCall> calls;
  double cost = 0;
  for (Job& job : jobs) {
    CollectSlots(job, read, written);
    launch.flops += JobFlops(job);
    calls.push_back(AddJob(slots, job));
    launch.units += calls.back().units;
    launch.scratch_bytes = std::max(launch.scratch_bytes, calls.back().scratch_bytes);
    cost += calls.back().cost;
  }
  launch.inputs.assign(read.begin(), read.end());
  launch.outputs.assign(written.begin(), written.end());
  for (const Slot& slot : launch.inputs) launch.bytes += plan_ir::TensorBytes(slot.type);
  for (const Slot& slot : launch.outputs) launch.bytes += plan_ir::TensorBytes(slot.type);
  if (cost > 0) {
    double grain = std::ceil(kWorthAThread * launch.units / cost);
    launch.grain = std::clamp<int64_t>(grain, 1, std::max<int64_t>(1, launch.units));
  }
  buffers.append(read);
  buffers.append(written);
  mlir::func::FuncOp kernel = EmitKernel(slots, calls, buffers);
  launch.symbol =
      Share(kernel, kernels_, absl::StrCat(SymbolName(slots.call().getName()), "_", kernels_.size()));
  return launch;
}

std::string KernelModule::Share(mlir::func::FuncOp function, llvm::StringMap<std::string>& known,
                                const std::string& name) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  function->print(stream, mlir::OpPrintingFlags().useLocalScope());
  auto [found, is_new] = known.try_emplace(text, name);
  if (is_new) {
    function.setName(name);
  } else {
    function.erase();
  }
  return found->second;
}

KernelModule::JobCall KernelModule::AddJob(const CallSlots& slots, Job& job) {
  JobCall result;
  mlir::func::FuncOp function = EmitJob(slots, job, result);
  result.body = Share(function, bodies_, absl::StrCat(kBodyPrefix, bodies_.size()));
  return result;
}

mlir::func::FuncOp KernelModule::EmitJob(const CallSlots& slots, Job& job, JobCall& result) {
  plan_ir::CallOp call = slots.call();
  LoopSchedule schedule = MakeSchedule(job);
  SmallVector<StreamedSlot> streamed = FindStreamedSlots(call, job, schedule);
  if (llvm::any_of(streamed, [](auto& s) { return s.distance > 0; })) schedule.prefetch_next_row = false;
  SmallVector<Slot> read, written;
  CollectSlots(job, read, written);
  for (const Slot& slot : read) AddSlot(result.slots, slots.Resolve(slot));
  for (const Slot& slot : written) AddSlot(result.slots, slot);
  bool is_flat = schedule.mode == LoopSchedule::Mode::kFlat;
  result.units = schedule.units;
  result.unit_length = is_flat ? schedule.tile : 1;
  result.length = is_flat ? schedule.parallel[0].size : schedule.units;
  result.cost = schedule.unit_cost * schedule.units;
  result.scratch_bytes = schedule.scratch_bytes;

  mlir::MLIRContext* context = module_->getContext();
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(module_->getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<mlir::Type> types(result.slots.size() + 1, pointer);
  types.append(2, b.getIndexType());
  auto function = b.create<mlir::func::FuncOp>(call.getLoc(), "body", b.getFunctionType(types, {}));
  function.setPrivate();
  for (size_t i = 0; i <= result.slots.size(); ++i) function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
  SetStreamed(function, slots, result.slots, streamed);
  mlir::Block* entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  ir::ScalarBuilder s(b, call.getLoc());
  auto pointer_of = [&](const Slot& slot) -> Value {
    int index = FindSlot(result.slots, slots.Resolve(slot));
    SINTER_CHECK(index >= 0) << "in the call " << call.getName().str();
    return entry->getArgument(index);
  };
  size_t n = result.slots.size();
  Value begin = entry->getArgument(n + 1);
  if (is_flat && !streamed.empty()) {
    // A unit begins at a multiple of the tile. The mask shows this to LLVM, which needs it to prove the
    // stores aligned.
    Value mask = b.create<mlir::arith::ConstantIndexOp>(call.getLoc(), -schedule.tile);
    begin = b.create<mlir::arith::AndIOp>(call.getLoc(), begin, mask);
  }
  EmitLoopNest(s, job, schedule, pointer_of, entry->getArgument(n), begin, entry->getArgument(n + 2));
  b.setInsertionPointToEnd(entry);
  b.create<mlir::func::ReturnOp>(call.getLoc());
  EraseDead(*entry);
  return function;
}

mlir::func::FuncOp KernelModule::EmitKernel(const CallSlots& slots, ArrayRef<JobCall> jobs,
                                            ArrayRef<Slot> buffers) {
  if (jobs.size() <= kMostJobs) return EmitCalls(slots, jobs, 0, jobs.size() == 1, buffers);
  mlir::Location loc = slots.call().getLoc();
  SmallVector<std::string> parts;
  int64_t first = 0;
  for (; !jobs.empty(); jobs = jobs.drop_front(std::min(jobs.size(), kMostJobs))) {
    ArrayRef<JobCall> part = jobs.take_front(kMostJobs);
    mlir::func::FuncOp function = EmitCalls(slots, part, first, /*alone=*/false, buffers);
    function.setPrivate();
    parts.push_back(Share(function, parts_, absl::StrCat(kBodyPrefix, "part_", parts_.size())));
    for (const JobCall& job : part) first += job.units;
  }
  mlir::func::FuncOp function = AddKernel(loc);
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(&function.getBody().front());
  for (const std::string& part : parts)
    b.create<mlir::func::CallOp>(loc, part, mlir::TypeRange(), function.getArguments());
  b.create<mlir::func::ReturnOp>(loc);
  return function;
}

// Adds a kernel's function without ops.
mlir::func::FuncOp KernelModule::AddKernel(mlir::Location loc) {
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(module_->getBody());
  auto pointer = LLVM::LLVMPointerType::get(module_->getContext());
  SmallVector<mlir::Type> types = {pointer, b.getI64Type(), b.getI64Type(), pointer};
  auto function = b.create<mlir::func::FuncOp>(loc, "kernel", b.getFunctionType(types, {}));
  function.addEntryBlock();
  return function;
}

// Emits the calls of some of a kernel's jobs as a function of a kernel's type. The jobs' units begin at
// `first`. `alone` is true if the kernel has no other jobs.
mlir::func::FuncOp KernelModule::EmitCalls(const CallSlots& slots, ArrayRef<JobCall> jobs, int64_t first,
                                           bool alone, ArrayRef<Slot> buffers) {
  plan_ir::CallOp call = slots.call();
  mlir::Location loc = call.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(module_->getContext());
  mlir::func::FuncOp function = AddKernel(loc);
  mlir::Block* entry = &function.getBody().front();
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(entry);
  ir::ScalarBuilder s(b, loc);
  KernelEmitter e(s);
  auto number_of = [&](const Slot& slot) {
    int index = FindSlot(buffers, slot);
    // The slot is read here and overwritten by an output of a later launch: the same memory under the input's
    // name.
    if (index < 0) {
      auto found = llvm::find_if(buffers, [&](const Slot& b) { return SamePlace(slots.Resolve(b), slot); });
      if (found != buffers.end()) index = found - buffers.begin();
    }
    SINTER_CHECK(index >= 0) << "in the call " << call.getName().str();
    return index;
  };
  std::map<int, Value> pointers;  // Pointers of the buffers that the jobs use, by buffer number.
  for (const JobCall& job : jobs) {
    for (const Slot& slot : job.slots) pointers[number_of(slot)];
  }
  for (auto& [index, value] : pointers) {
    Value address = e.Address(entry->getArgument(0), pointer, e.index(index));
    value = b.create<LLVM::LoadOp>(loc, pointer, address);
  }
  Value begin = b.create<mlir::arith::IndexCastOp>(loc, b.getIndexType(), entry->getArgument(1));
  Value end = b.create<mlir::arith::IndexCastOp>(loc, b.getIndexType(), entry->getArgument(2));
  for (const JobCall& job : jobs) {
    // Returns the job's part of [begin, end), in the units of its function; empty if the ranges do not
    // intersect.
    auto local = [&](Value unit, bool is_end) {
      Value offset = e.sub(unit, e.index(first));
      if (!alone) offset = e.max(offset, e.index(0));
      offset = e.mul(offset, e.index(job.unit_length));
      return is_end && (!alone || job.unit_length > 1) ? e.min(offset, e.index(job.length)) : offset;
    };
    SmallVector<Value> arguments;
    for (const Slot& slot : job.slots) arguments.push_back(pointers.at(number_of(slot)));
    arguments.push_back(entry->getArgument(3));
    arguments.push_back(local(begin, false));
    arguments.push_back(local(end, true));
    b.create<mlir::func::CallOp>(loc, job.body, mlir::TypeRange(), arguments);
    first += job.units;
  }
  b.create<mlir::func::ReturnOp>(loc);
  return function;
}

const LoopTarget& CpuLoopTarget() {
  class Target : public LoopTarget {
   public:
    const ir::TargetModel& model() const override { return ir::TargetModel::Of(ir::DeviceKind::cpu); }
    int64_t CountChunks(Job& job) const override { return codegen::CountChunks(job); }
    int64_t CountRowGroups(Job&) const override { llvm_unreachable("CPUs sum columns in jobs of their own"); }
  };
  static const Target target;
  return target;
}

}  // namespace sinter::codegen
