#include "sinter/codegen/cpu/fused_kernel.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cpu/job_loops.h"
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
  SlotList slots;
  int64_t first = 0;   // The kernel's unit that is this job's first.
  int64_t spread = 0;  // The kernel's units, if this job's are spread over all of them; 0: see `first`.
  int64_t units = 0;
  int64_t unit_length = 1;  // Elements a unit for functions that count elements (flat loops); else 1.
  int64_t length = 0;       // Total count that the function takes, in elements or units.
  double cost = 0;
  int64_t scratch_bytes = 0;
};

namespace {

// The most calls in one function: LLVM's compile time grows faster than linearly.
constexpr size_t kMostJobs = 64;
// The fewest calls of one function that become a loop over a table.
constexpr size_t kFewestTabled = 8;
constexpr double kWorthAThread = 65536;  // In simple operations: some microseconds.
// The fewest units of a job that are spread: fewer could not be shared evenly.
constexpr int64_t kFewestSpread = 4;

// True if all that the jobs compute are parts of the rows of one buffer.
bool ShareRows(ArrayRef<Job> jobs) {
  if (jobs.size() < 2 || jobs.size() > kMostJobs) return false;
  const Slot* rows = nullptr;
  for (const Job& job : jobs) {
    if (!job.reductions.empty() || !job.reduced_outputs.empty() || job.full_outputs.empty()) return false;
    for (const JobOutput& output : job.full_outputs) {
      if (rows == nullptr) rows = &output.slot;
      if (!output.part || output.slot.kind != rows->kind || output.slot.index != rows->index) return false;
    }
  }
  return true;
}

// Marks the function's pointers that stream. `slots` are the function's first arguments.
void SetStreamed(mlir::func::FuncOp function, const CallSlots& of_call, const SlotList& slots,
                 ArrayRef<StreamedSlot> streamed) {
  if (streamed.empty()) return;
  mlir::OpBuilder b(function.getContext());
  SmallVector<int64_t> distances(slots.size(), kNotStreamed);
  for (const StreamedSlot& s : streamed) {
    int index = slots.Find(of_call.Resolve(s.slot));
    if (index < 0 || slots.slots()[index].kind != s.slot.kind) continue;
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

KernelModule::~KernelModule() = default;

absl::StatusOr<std::vector<KernelLaunch>> KernelModule::AddCall(plan_ir::CallOp call) {
  SINTER_ASSIGN_OR_RETURN(FusedLaunches cut, SplitIntoLaunches(call, CpuLoopTarget()));
  return AddLaunches(call, cut);
}

std::vector<KernelLaunch> KernelModule::AddLaunches(plan_ir::CallOp call, FusedLaunches& cut) {
  std::vector<KernelLaunch> launches;
  known_jobs_.Clear();
  const CallSlots slots(call);
  for (std::vector<Job>& jobs : cut.launches) launches.push_back(AddLaunch(slots, jobs));
  return launches;
}

KernelLaunch KernelModule::AddLaunch(const CallSlots& slots, std::vector<Job>& jobs) {
  KernelLaunch launch;
  SlotList read, written;
  std::vector<JobCall> calls;
  double cost = 0;
  for (Job& job : jobs) {
    CollectSlots(job, read, written);
    launch.flops += JobFlops(job);
    calls.push_back(AddJob(slots, job));
    calls.back().first = launch.units;
    launch.units += calls.back().units;
    launch.scratch_bytes = std::max(launch.scratch_bytes, calls.back().scratch_bytes);
    cost += calls.back().cost;
  }
  // A thread then writes all parts of its rows, a few rows at a time. Otherwise threads would take each
  // other's cache lines where parts meet, and one thread would write a line several times.
  bool is_spread = ShareRows(jobs) && llvm::all_of(calls, [](const JobCall& job) {
                     return job.units >= kFewestSpread && job.unit_length == 1;
                   });
  if (is_spread) {
    launch.units = llvm::max_element(calls, [](auto& a, auto& b) { return a.units < b.units; })->units;
    for (JobCall& job : calls) job.spread = launch.units;
  }
  launch.inputs = read.slots();
  launch.outputs = written.slots();
  for (const Slot& slot : launch.inputs) launch.bytes += plan_ir::TensorBytes(slot.type);
  for (const Slot& slot : launch.outputs) launch.bytes += plan_ir::TensorBytes(slot.type);
  if (cost > 0) {
    double grain = std::ceil(kWorthAThread * launch.units / cost);
    launch.grain = std::clamp<int64_t>(grain, 1, std::max<int64_t>(1, launch.units));
  }
  mlir::func::FuncOp kernel = EmitKernel(slots.call().getLoc(), calls, LaunchBuffers(slots, read, written));
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
  const SlotList parameters = ParametersOf(slots, job);
  LoopSchedule schedule = MakeSchedule(job);
  const SmallVector<StreamedSlot> streamed = FindStreamedSlots(slots.call(), job, schedule);
  if (llvm::any_of(streamed, [](auto& s) { return s.distance > 0; })) schedule.prefetch_next_row = false;
  SmallVector<uint64_t> more;
  for (const StreamedSlot& s : streamed) {
    more.append({static_cast<uint64_t>(s.slot.kind), static_cast<uint64_t>(s.distance),
                 static_cast<uint64_t>(parameters.Find(slots.Resolve(s.slot)))});
  }
  JobCall result = known_jobs_.Of(slots, job, parameters, more, [&] {
    JobCall made{.slots = parameters};
    mlir::func::FuncOp function = EmitJob(slots, job, schedule, streamed, made);
    made.body = Share(function, bodies_, absl::StrCat(kBodyPrefix, bodies_.size()));
    return made;
  });
  result.slots = parameters;
  return result;
}

// Emits the function of the job, whose pointers are the slots of `result`.
mlir::func::FuncOp KernelModule::EmitJob(const CallSlots& slots, Job& job, LoopSchedule& schedule,
                                         ArrayRef<StreamedSlot> streamed, JobCall& result) {
  plan_ir::CallOp call = slots.call();
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
    int index = result.slots.Find(slots.Resolve(slot));
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

mlir::func::FuncOp KernelModule::EmitKernel(mlir::Location loc, ArrayRef<JobCall> jobs,
                                            const LaunchBuffers& buffers) {
  llvm::MapVector<llvm::StringRef, SmallVector<const JobCall*>> by_body;
  for (const JobCall& job : jobs) by_body[job.body].push_back(&job);
  SmallVector<const JobCall*> single;
  for (const JobCall& job : jobs) {
    if (job.spread > 0 || by_body[job.body].size() < kFewestTabled) single.push_back(&job);
  }
  if (jobs.size() == single.size() && jobs.size() <= kMostJobs)
    return EmitCalls(loc, single, jobs.size() == 1, buffers);
  if (single.empty() && by_body.size() == 1) return EmitLoop(loc, by_body.front().second, buffers);
  SmallVector<std::string> parts;
  auto add_part = [&](mlir::func::FuncOp function) {
    function.setPrivate();
    parts.push_back(Share(function, parts_, absl::StrCat(kBodyPrefix, "part_", parts_.size())));
  };
  for (ArrayRef<const JobCall*> rest = single; !rest.empty();
       rest = rest.drop_front(std::min(rest.size(), kMostJobs))) {
    add_part(EmitCalls(loc, rest.take_front(kMostJobs), /*alone=*/false, buffers));
  }
  for (const auto& [body, calls] : by_body) {
    if (calls.size() >= kFewestTabled) add_part(EmitLoop(loc, calls, buffers));
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

// Emits the calls of some of a kernel's jobs as a function of a kernel's type. `alone` is true if the kernel
// has no other jobs.
mlir::func::FuncOp KernelModule::EmitCalls(mlir::Location loc, ArrayRef<const JobCall*> jobs, bool alone,
                                           const LaunchBuffers& buffers) {
  auto pointer = LLVM::LLVMPointerType::get(module_->getContext());
  mlir::func::FuncOp function = AddKernel(loc);
  mlir::Block* entry = &function.getBody().front();
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(entry);
  ir::ScalarBuilder s(b, loc);
  KernelEmitter e(s);
  std::map<int, Value> pointers;  // Pointers of the buffers that the jobs use, by buffer number.
  for (const JobCall* job : jobs) {
    for (const Slot& slot : job->slots.slots()) pointers[buffers.NumberOf(slot)];
  }
  for (auto& [index, value] : pointers) {
    Value address = e.Address(entry->getArgument(0), pointer, e.index(index));
    value = b.create<LLVM::LoadOp>(loc, pointer, address);
  }
  Value begin = b.create<mlir::arith::IndexCastOp>(loc, b.getIndexType(), entry->getArgument(1));
  Value end = b.create<mlir::arith::IndexCastOp>(loc, b.getIndexType(), entry->getArgument(2));
  auto call = [&](const JobCall* job, Value from, Value to) {
    SmallVector<Value> arguments;
    for (const Slot& slot : job->slots.slots()) arguments.push_back(pointers.at(buffers.NumberOf(slot)));
    arguments.append({entry->getArgument(3), from, to});
    b.create<mlir::func::CallOp>(loc, job->body, mlir::TypeRange(), arguments);
  };
  if (jobs.front()->spread > 0) {
    auto loop = b.create<mlir::scf::ForOp>(loc, begin, end, e.index(1));
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    for (const JobCall* job : jobs) {
      auto local = [&](Value unit) { return e.div(e.mul(unit, e.index(job->units)), e.index(job->spread)); };
      Value unit = loop.getInductionVar();
      call(job, local(unit), local(e.add(unit, e.index(1))));
    }
  } else {
    for (const JobCall* job : jobs) {
      // Returns the job's part of [begin, end), in the units of its function; empty if the ranges do not
      // intersect.
      auto local = [&](Value unit, bool is_end) {
        Value offset = e.sub(unit, e.index(job->first));
        if (!alone) offset = e.max(offset, e.index(0));
        offset = e.mul(offset, e.index(job->unit_length));
        return is_end && (!alone || job->unit_length > 1) ? e.min(offset, e.index(job->length)) : offset;
      };
      call(job, local(begin, false), local(end, true));
    }
  }
  mlir::OpBuilder::atBlockEnd(entry).create<mlir::func::ReturnOp>(loc);
  return function;
}

// Emits jobs of one loop function as a loop over a table, so that the code does not grow with their number. A
// row of the table is the job's first unit, the length of a unit, the job's length, and the numbers of its
// buffers.
mlir::func::FuncOp KernelModule::EmitLoop(mlir::Location loc, ArrayRef<const JobCall*> jobs,
                                          const LaunchBuffers& buffers) {
  constexpr size_t kBuffers = 3;
  std::vector<int64_t> table;
  for (const JobCall* job : jobs) {
    table.insert(table.end(), {job->first, job->unit_length, job->length});
    for (const Slot& slot : job->slots.slots()) table.push_back(buffers.NumberOf(slot));
  }
  const size_t row = kBuffers + jobs[0]->slots.size();
  auto pointer = LLVM::LLVMPointerType::get(module_->getContext());
  LLVM::GlobalOp global = TableOf(loc, table);
  mlir::func::FuncOp function = AddKernel(loc);
  mlir::Block* entry = &function.getBody().front();
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(entry);
  auto index_of = [&](Value integer) -> Value {
    return b.create<mlir::arith::IndexCastOp>(loc, b.getIndexType(), integer);
  };
  Value rows = b.create<LLVM::AddressOfOp>(loc, global);
  Value begin = index_of(entry->getArgument(1)), end = index_of(entry->getArgument(2));
  Value zero = b.create<mlir::arith::ConstantIndexOp>(loc, 0);
  Value one = b.create<mlir::arith::ConstantIndexOp>(loc, 1);
  Value count = b.create<mlir::arith::ConstantIndexOp>(loc, jobs.size());
  auto loop = b.create<mlir::scf::ForOp>(loc, zero, count, one);
  b.setInsertionPointToStart(loop.getBody());
  ir::ScalarBuilder s(b, loc);
  KernelEmitter e(s);
  Value at = e.mul(loop.getInductionVar(), e.index(row));
  auto column = [&](size_t c) {
    Value address = e.Address(rows, b.getI64Type(), e.add(at, e.index(c)));
    return index_of(b.create<LLVM::LoadOp>(loc, b.getI64Type(), address));
  };
  Value first = column(0), unit_length = column(1), length = column(2);
  Value from = e.mul(e.max(e.sub(begin, first), e.index(0)), unit_length);
  Value to = e.min(e.mul(e.sub(end, first), unit_length), length);
  Value has_part = b.create<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::slt, from, to);
  auto part = b.create<mlir::scf::IfOp>(loc, has_part);
  b.setInsertionPointToStart(part.thenBlock());
  SmallVector<Value> arguments;
  for (size_t c = kBuffers; c < row; ++c) {
    Value address = e.Address(entry->getArgument(0), pointer, column(c));
    arguments.push_back(b.create<LLVM::LoadOp>(loc, pointer, address));
  }
  arguments.append({entry->getArgument(3), from, to});
  b.create<mlir::func::CallOp>(loc, jobs[0]->body, mlir::TypeRange(), arguments);
  b.setInsertionPointToEnd(entry);
  b.create<mlir::func::ReturnOp>(loc);
  return function;
}

// Returns the constant with these numbers. Equal tables are one constant, so that equal kernels are equal
// text.
LLVM::GlobalOp KernelModule::TableOf(mlir::Location loc, const std::vector<int64_t>& table) {
  LLVM::GlobalOp& global = tables_[table];
  if (global) return global;
  mlir::OpBuilder b = mlir::OpBuilder::atBlockBegin(module_->getBody());
  auto tensor = mlir::RankedTensorType::get({static_cast<int64_t>(table.size())}, b.getI64Type());
  global = b.create<LLVM::GlobalOp>(loc, LLVM::LLVMArrayType::get(b.getI64Type(), table.size()),
                                    /*isConstant=*/true, LLVM::Linkage::Private,
                                    absl::StrCat(kBodyPrefix, "jobs_", tables_.size()),
                                    mlir::DenseElementsAttr::get(tensor, ArrayRef<int64_t>(table)));
  return global;
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
