#include "sinter/tests/numerics/emulated_calls.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"
#include "sinter/codegen/cuda/catalog/cuda_catalog.h"
#include "sinter/codegen/cuda/cuda_kernels.h"
#include "sinter/codegen/cuda/cuda_schedule.h"
#include "sinter/codegen/places/buffer_region.h"
#include "sinter/codegen/plan/emit_plan.h"
#include "sinter/frontend/compile/compile.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/codegen/simt_emulator.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/compiled_values.h"
#include "sinter/tests/numerics/plan_values.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {

using codegen::CudaLaunch;
using codegen::CudaSchedule;
using codegen::Job;
using codegen::SimtBuffer;
using codegen::Slot;
using reference::Value;

namespace {

// A noted call that waits to be run: the data that is needed after its module is gone.
struct Pending {
  std::string title;
  OpClass op_class;
  std::vector<CudaLaunch> launches;
  std::vector<Value> operands, want;
  std::vector<Value> exact;                      // Exact results for bf16 or f16, else empty.
  std::vector<int64_t> in_offsets, out_offsets;  // Bytes from a multiple of 256.
  llvm::SmallVector<std::pair<int, int>> shared;
};

std::string NameOf(const Job& job, const CudaSchedule& s) {
  using Mode = CudaSchedule::Mode;
  const char* kind = job.kind == Job::Kind::kPartial   ? " partial"
                     : job.kind == Job::Kind::kCombine ? " combine"
                                                       : " whole";
  switch (s.mode) {
    case Mode::kFlat:
      return "flat";
    case Mode::kMap:
      return s.unroll > 1 ? "map unrolled" : "map";
    case Mode::kPersistentRows:
      return s.passes > 1 ? "strips in a loop" : "strips";
    case Mode::kTiles:
      return "tiles";
    case Mode::kRow:
      if (job.kind != Job::Kind::kWhole) return absl::StrCat("row", kind);
      return absl::StrCat(s.threads < 32    ? "row in part of a warp"
                          : s.threads == 32 ? "row in a warp"
                                            : "row in warps",
                          s.keeps_row ? " kept" : " read again",
                          job.column_reductions.empty() ? "" : " with columns");
    case Mode::kColumn:
      return absl::StrCat("column", kind);
  }
  return "";
}

absl::Status CountSchedules(plan_ir::CallOp call, ScheduleCounts& counts) {
  SINTER_ASSIGN_OR_RETURN(codegen::FusedLaunches cut,
                          codegen::SplitIntoLaunches(call, codegen::CudaLoopTarget()));
  for (std::vector<Job>& jobs : cut.launches) {
    for (Job& job : jobs) ++counts[NameOf(job, codegen::MakeCudaSchedule(job, jobs.size() == 1))];
  }
  return absl::OkStatus();
}

std::string Print(mlir::Operation* op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, mlir::OpPrintingFlags().elideLargeElementsAttrs());
  return text.substr(0, 3000);
}

void Fill(SimtBuffer& buffer, const Value& value) {
  absl::StatusOr<HostTensor> tensor = ToTensor(value);
  SINTER_CHECK(tensor.ok()) << tensor.status();
  if (buffer.bytes() > 0) std::memcpy(buffer.data(), tensor->data(), value.size() * SizeOf(value.dtype));
}

Value Contents(const SimtBuffer& buffer, const Value& like) {
  absl::StatusOr<HostTensor> tensor = ToTensor(like);
  SINTER_CHECK(tensor.ok()) << tensor.status();
  if (like.size() > 0) std::memcpy(tensor->mutable_data(), buffer.data(), like.size() * SizeOf(like.dtype));
  return FromTensor(*tensor);
}

int64_t BytesOf(const Value& value) { return value.size() * SizeOf(value.dtype); }

// The memory of a call: the buffers of its slots.
class CallMemory {
 public:
  explicit CallMemory(const Pending& call) {
    for (size_t i = 0; i < call.operands.size(); ++i) {
      ins_.push_back(std::make_shared<SimtBuffer>(BytesOf(call.operands[i]), call.in_offsets[i]));
    }
    for (size_t i = 0; i < call.want.size(); ++i) {
      outs_.push_back(std::make_shared<SimtBuffer>(BytesOf(call.want[i]), call.out_offsets[i]));
    }
    for (auto [in, out] : call.shared) {
      if (ins_[in]->bytes() > outs_[out]->bytes()) outs_[out] = ins_[in];
      ins_[in] = outs_[out];
    }
    for (size_t i = 0; i < call.operands.size(); ++i) Fill(*ins_[i], call.operands[i]);
    std::map<int64_t, int64_t> workspace;
    for (const CudaLaunch& launch : call.launches) {
      for (const auto* slots : {&launch.inputs, &launch.outputs}) {
        for (const Slot& slot : *slots) {
          if (slot.kind != Slot::Kind::kWorkspace) continue;
          int64_t& bytes = workspace[slot.offset];
          bytes = std::max(bytes, plan_ir::TensorBytes(slot.type));
        }
      }
    }
    for (auto [offset, bytes] : workspace) workspace_[offset] = std::make_shared<SimtBuffer>(bytes, offset);
  }

  std::vector<SimtBuffer*> BuffersOf(const CudaLaunch& launch) const {
    std::vector<SimtBuffer*> buffers;
    for (const auto* slots : {&launch.inputs, &launch.outputs}) {
      for (const Slot& slot : *slots) {
        buffers.push_back(slot.kind == Slot::Kind::kIn    ? ins_[slot.index].get()
                          : slot.kind == Slot::Kind::kOut ? outs_[slot.index].get()
                                                          : workspace_.at(slot.offset).get());
      }
    }
    return buffers;
  }
  const SimtBuffer& out(size_t i) const { return *outs_[i]; }

 private:
  std::vector<std::shared_ptr<SimtBuffer>> ins_, outs_;
  std::map<int64_t, std::shared_ptr<SimtBuffer>> workspace_;
};

Value RandomValue(mlir::Type type, double low, double high, std::mt19937_64& random) {
  Value value = reference::ZerosOf(type);
  const double unit = 0x1p-53;
  for (double& x : value.reals) {
    x = reference::Round(value.dtype, low + (high - low) * static_cast<double>(random() >> 11) * unit);
  }
  const int64_t least = std::max(static_cast<int64_t>(std::ceil(low)), reference::Lowest(value.dtype));
  const int64_t most = std::max(least, std::min(static_cast<int64_t>(high), reference::Highest(value.dtype)));
  for (int64_t& x : value.ints) x = least + static_cast<int64_t>(random() % (most - least + 1));
  return value;
}

bool IsLowPrecision(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

// Returns the reference's results with the rounding of the kernels: they compute in f32 and round only at
// casts and stores. Empty for calls that do not use bf16 or f16.
absl::StatusOr<std::vector<Value>> ExactResults(plan_ir::CallOp call, const std::vector<Value>& operands) {
  mlir::Block& body = call.getBody().front();
  const bool is_low_precision = llvm::any_of(body.without_terminator(), [](mlir::Operation& op) {
    return llvm::any_of(op.getResultTypes(), IsLowPrecision) ||
           llvm::any_of(op.getOperandTypes(), IsLowPrecision);
  });
  if (!is_low_precision) return std::vector<Value>();
  llvm::DenseMap<mlir::Value, Value> values;
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), operands)) values[argument] = value;
  auto values_of = [&](mlir::ValueRange range) {
    std::vector<Value> result;
    for (mlir::Value value : range) result.push_back(values.lookup(value));
    return result;
  };
  for (mlir::Operation& op : body.without_terminator()) {
    const reference::EvaluateOptions options{.keep_double = !llvm::isa<ir::CastOp>(op)};
    SINTER_ASSIGN_OR_RETURN(std::vector<Value> results,
                            reference::EvaluateOp(&op, values_of(op.getOperands()), options));
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results)) values[result] = value;
  }
  std::vector<Value> exact = values_of(body.getTerminator()->getOperands());
  for (Value& value : exact) {
    for (double& x : value.reals) x = reference::Round(value.dtype, x);
  }
  return exact;
}

// Returns for each element whichever of `want` and `exact` is nearer to `got`.
Value Nearer(const Value& got, const Value& want, const Value& exact) {
  Value nearer = want;
  for (size_t i = 0; i < nearer.reals.size(); ++i) {
    if (std::fabs(got.reals[i] - exact.reals[i]) < std::fabs(got.reals[i] - want.reals[i]))
      nearer.reals[i] = exact.reals[i];
  }
  return nearer;
}

void DrawInputs(plan_ir::FunctionOp function, std::map<std::string, Value>& inputs) {
  std::mt19937_64 random(3);
  auto draw = [&](llvm::StringRef name, mlir::Value buffer, double low, double high) {
    mlir::RankedTensorType type = llvm::cast<plan_ir::BufferType>(buffer.getType()).getTensor();
    if (!llvm::isa<mlir::FloatType>(type.getElementType())) low = 0, high = 5;
    inputs.try_emplace(name.str(), RandomValue(type, low, high, random));
  };
  for (mlir::Operation& op : function.getBody().front()) {
    if (auto input = llvm::dyn_cast<plan_ir::InputOp>(op)) {
      draw(input.getName(), input, -1, 1);
    } else if (auto variable = llvm::dyn_cast<plan_ir::VariableOp>(op)) {
      draw(variable.getVariable(), variable, 0.01, 0.2);
    }
  }
}

}  // namespace

struct EmulatedCalls::Impl {
  mlir::DialectRegistry registry;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::unique_ptr<codegen::CudaKernels> kernels;
  std::vector<Pending> pending;
  int fused_calls = 0, catalogue_calls = 0, launches = 0;
  ScheduleCounts schedules;
  std::function<std::string(const std::string&)> rewrite;

  Impl() {
    ir::RegisterDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    kernels = std::make_unique<codegen::CudaKernels>(&context);
  }

  // Returns the launches of a library op's kernels. The catalog numbers inputs by the op's operands; the
  // launches number them by the call's buffers. Empty if a kernel holds PTX or uses dynamic shared memory.
  absl::StatusOr<std::vector<CudaLaunch>> AddFromCatalogue(mlir::Operation* op) {
    SINTER_ASSIGN_OR_RETURN(codegen::CudaCatalogCall call, codegen::CudaCatalog::Default().Lower(op));
    std::vector<CudaLaunch> launches;
    for (const codegen::CudaCatalogLaunch& launch : call.launches) {
      if (codegen::HasPtx(launch.source()) || launch.shared_bytes > 0) return std::vector<CudaLaunch>();
    }
    for (const codegen::CudaCatalogLaunch& from : call.launches) {
      if (from.grid == 0) continue;
      CudaLaunch& launch = launches.emplace_back();
      launch.kernel = kernels->AddSource(from.source());
      launch.grid = from.grid;
      launch.block = from.block;
      launch.inputs = from.inputs;
      launch.outputs = from.outputs;
      for (Slot& slot : launch.inputs) {
        if (slot.kind != Slot::Kind::kIn) continue;
        slot.index =
            static_cast<int>(llvm::cast<mlir::BlockArgument>(op->getOperand(slot.index)).getArgNumber());
      }
    }
    return launches;
  }

  absl::Status Note(plan_ir::CallOp call, const std::vector<Value>& operands, const std::vector<Value>& want,
                    OpClass op_class, const std::string& title) {
    if (ir::DeviceOf(call).getKind() != ir::DeviceKind::gpu) return absl::OkStatus();
    Pending next{absl::StrCat(title, "\n", Print(call)), op_class, {}, operands, want, {}, {}, {}, {}};
    if (mlir::Operation* op = call.libraryOp()) {
      if (!codegen::CudaCatalog::Default().Has(op)) return absl::OkStatus();
      SINTER_ASSIGN_OR_RETURN(next.launches, AddFromCatalogue(op));
      if (next.launches.empty()) return absl::OkStatus();
      ++catalogue_calls;
    } else {
      ++fused_calls;
      SINTER_RETURN_IF_ERROR(CountSchedules(call, schedules));
      SINTER_ASSIGN_OR_RETURN(next.exact, ExactResults(call, operands));
      SINTER_ASSIGN_OR_RETURN(next.launches, kernels->AddCall(call));
    }
    launches += static_cast<int>(next.launches.size());
    for (mlir::Value in : call.getIns()) next.in_offsets.push_back(codegen::RegionOf(in).offset);
    for (mlir::Value out : call.getOuts()) next.out_offsets.push_back(codegen::RegionOf(out).offset);
    next.shared = codegen::SharedPairs(call);
    pending.push_back(std::move(next));
    return absl::OkStatus();
  }

  std::string Judge(const Pending& call, codegen::SimtEmulator& gpu) {
    CallMemory memory(call);
    for (const CudaLaunch& launch : call.launches) {
      absl::Status status = gpu.Run(launch.kernel, launch.grid, launch.block, memory.BuffersOf(launch));
      if (!status.ok()) return absl::StrCat(status.ToString(), "\n", call.title, TextsOf(call));
    }
    for (size_t i = 0; i < call.want.size(); ++i) {
      const Value got = Contents(memory.out(i), call.want[i]);
      const Value want = call.exact.empty() ? call.want[i] : Nearer(got, call.want[i], call.exact[i]);
      const std::string wrong = Disagreement(got, want, call.op_class);
      if (wrong.empty()) continue;
      return absl::StrCat("result ", i, ": ", wrong, "\n", call.title, TextsOf(call));
    }
    return "";
  }

  // Returns the kernels' names and sizes, and their text if SINTER_TEST_PRINT is set.
  std::string TextsOf(const Pending& call) const {
    std::string text;
    for (const CudaLaunch& launch : call.launches) {
      const codegen::CudaSource& source = kernels->sources()[launch.kernel];
      absl::StrAppend(&text, "\n", source.symbol, ": ", launch.grid, " blocks of ", launch.block);
      if (std::getenv("SINTER_TEST_PRINT")) absl::StrAppend(&text, "\n", source.text);
    }
    return text;
  }
};

EmulatedCalls::EmulatedCalls() : impl_(std::make_unique<Impl>()) {}
EmulatedCalls::~EmulatedCalls() = default;

absl::Status EmulatedCalls::AddPrograms(const std::string& text,
                                        const std::map<std::string, Program>& programs,
                                        CompileOptions options) {
  // Without an architecture Compile stops after the last pass with an error, and the plan has been dumped.
  // This avoids NVRTC and its time.
  options.device = Device::Gpu(0);
  options.gpu_architectures = {};
  options.dump_stages = {"verify-plan"};
  CompileReport report;
  absl::Status compiled = CompileText(text, "emulated", options, &report).status();
  if (report.dumps.empty()) return compiled;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(report.dumps.begin()->second, &impl_->context);
  if (!module) return absl::InternalError("a dumped plan does not parse");
  for (auto function : module->getOps<plan_ir::FunctionOp>()) {
    auto program = programs.find(function.getSymName().str());
    if (program == programs.end()) continue;
    Program p = program->second;
    if (p.draws_inputs) DrawInputs(function, p.inputs);
    PlanValues values(p.inputs);
    absl::Status status = values.Run(function, [&](plan_ir::CallOp call, const std::vector<Value>& operands,
                                                   const std::vector<Value>& want) {
      return impl_->Note(call, operands, want, p.op_class, p.title);
    });
    if (!status.ok()) return absl::Status(status.code(), absl::StrCat(p.title, ": ", status.message()));
  }
  return absl::OkStatus();
}

absl::Status EmulatedCalls::AddCall(const std::string& text, OpClass op_class, double low, double high) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &impl_->context);
  if (!module) return absl::InvalidArgumentError(absl::StrCat("does not parse:\n", text));
  plan_ir::CallOp call;
  module->walk([&](plan_ir::CallOp op) { call = op; });
  std::mt19937_64 random(5);
  std::vector<Value> operands;
  for (mlir::Value in : call.getIns()) {
    operands.push_back(
        RandomValue(llvm::cast<plan_ir::BufferType>(in.getType()).getTensor(), low, high, random));
  }
  SINTER_ASSIGN_OR_RETURN(std::vector<Value> want,
                          reference::EvaluateBlock(call.getBody().front(), operands));
  return impl_->Note(call, operands, want, op_class, "a call");
}

void EmulatedCalls::set_rewrite(std::function<std::string(const std::string&)> rewrite) {
  impl_->rewrite = std::move(rewrite);
}

int EmulatedCalls::fused_calls() const { return impl_->fused_calls; }
int EmulatedCalls::catalogue_calls() const { return impl_->catalogue_calls; }
int EmulatedCalls::launches() const { return impl_->launches; }
const ScheduleCounts& EmulatedCalls::schedules() const { return impl_->schedules; }

std::vector<std::string> EmulatedCalls::Judge() {
  std::vector<std::string> wrong;
  std::vector<Pending> pending = std::move(impl_->pending);
  impl_->pending.clear();
  std::vector<codegen::CudaSource> sources = impl_->kernels->sources();
  for (codegen::CudaSource& source : sources) {
    if (impl_->rewrite) source.text = impl_->rewrite(source.text);
  }
  auto gpu = codegen::SimtEmulator::Compile(sources);
  if (!gpu.ok()) wrong.push_back(gpu.status().ToString());
  for (const Pending& call : pending) {
    if (!gpu.ok()) break;
    if (std::string text = impl_->Judge(call, **gpu); !text.empty()) wrong.push_back(text);
  }
  impl_->kernels = std::make_unique<codegen::CudaKernels>(&impl_->context);
  return wrong;
}

EmulatedCall EmulateCall(const std::string& text, OpClass op_class, double low, double high) {
  EmulatedCalls calls;
  EmulatedCall result;
  if (absl::Status status = calls.AddCall(text, op_class, low, high); !status.ok()) {
    result.wrong = status.ToString();
    return result;
  }
  for (const std::string& wrong : calls.Judge()) absl::StrAppend(&result.wrong, wrong, "\n");
  result.launches = calls.launches();
  for (const auto& [name, count] : calls.schedules()) result.schedules.push_back(name);
  return result;
}

}  // namespace sinter::numerics
