#include "sinter/tools/roofline.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/tools/plan_text.h"

namespace sinter::tools {

namespace {

// Much larger than the caches.
constexpr int64_t kCpuCopyFloats = 1 << 25, kGpuCopyFloats = 1 << 26;
// Copies per run. A GPU reaches only two thirds of the rate if a graph contains a single copy.
constexpr int kCopies = 4;
// Larger matmuls than these are not faster.
constexpr int64_t kCpuMatmulSize = 1024, kGpuMatmulSize = 8192, kGpuDoubleMatmulSize = 4096;
constexpr int kMostRuns = 20, kLeastRuns = 3;
constexpr double kSeconds = 0.5;

// A plan with a copy or a matmul, built by hand. It needs no generated code.
class RooflinePlan {
 public:
  explicit RooflinePlan(Device device) : device_(device) {
    table_.version = Plan::LeastVersion(/*has_mesh=*/false);
    table_.producer = "sinter profile";
    table_.name = "roofline";
    table_.content_hash.resize(32);
    table_.devices.push_back(MakeDeviceName(device));
  }

  int64_t CopyFloats() const { return device_.is_host() ? kCpuCopyFloats : kGpuCopyFloats; }
  int64_t SizeOf(const ContractionType& type) const {
    if (device_.is_host()) return kCpuMatmulSize;
    return type.dtype == DType::kF64 ? kGpuDoubleMatmulSize : kGpuMatmulSize;
  }

  void AddCopy() {
    fb::FunctionT& function = AddFunction("copy");
    const uint32_t from = Variable(function, AddVariable(DType::kF32, {CopyFloats()}));
    fb::CopyStepT copy;
    copy.bytes = function.buffers[from]->bytes;
    const double bytes = 2 * static_cast<double>(copy.bytes);
    const uint32_t to = Result(function, from);
    for (int i = 0; i < kCopies; ++i) AddStep(function, copy, {from, to}, 0, bytes);
  }

  void AddMatmul(const ContractionType& type) {
    const int64_t size = SizeOf(type);
    fb::FunctionT& function = AddFunction(type.ToString());
    const uint32_t a = Variable(function, AddVariable(type.dtype, {size, size}));
    const uint32_t b = Variable(function, AddVariable(type.dtype, {size, size}));
    fb::MatmulStepT matmul;
    matmul.batch = 1;
    matmul.m = matmul.n = matmul.k = size;
    matmul.dtype = static_cast<fb::DType>(type.dtype);
    matmul.math = type.math;
    const double n = static_cast<double>(size);
    AddStep(function, std::move(matmul), {a, b, Result(function, a)}, 2 * n * n * n,
            3 * static_cast<double>(function.buffers[a]->bytes));
  }

  absl::StatusOr<Plan> Make() const {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Plan::Pack(builder, &table_), fb::PlanIdentifier());
    std::string bytes(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
    SINTER_RETURN_IF_ERROR(SealPlan(bytes));
    return Plan::FromBytes(bytes);
  }

 private:
  static std::unique_ptr<fb::TensorTypeT> MakeType(DType dtype, std::vector<int64_t> shape) {
    auto type = std::make_unique<fb::TensorTypeT>();
    type->dtype = static_cast<fb::DType>(dtype);
    type->shape = std::move(shape);
    return type;
  }

  // Random values: a matmul of zeros runs at another speed.
  uint32_t AddVariable(DType dtype, const std::vector<int64_t>& shape) {
    auto variable = std::make_unique<fb::VariableT>();
    variable->name = absl::StrCat("v", table_.variables.size());
    variable->type = MakeType(dtype, shape);
    variable->bytes = static_cast<uint64_t>(*DenseBytes(dtype, shape));
    variable->initializer = std::make_unique<fb::InitializerT>();
    variable->initializer->kind = fb::InitializerKind::Uniform;
    variable->initializer->a = -1;
    variable->initializer->b = 1;
    variable->initializer->seed = static_cast<int64_t>(table_.variables.size());
    table_.variables.push_back(std::move(variable));
    return static_cast<uint32_t>(table_.variables.size() - 1);
  }

  fb::FunctionT& AddFunction(const std::string& name) {
    table_.functions.push_back(std::make_unique<fb::FunctionT>());
    table_.functions.back()->name = name;
    return *table_.functions.back();
  }

  static uint32_t AddBuffer(fb::FunctionT& function, fb::BufferT buffer) {
    function.buffers.push_back(std::make_unique<fb::BufferT>(std::move(buffer)));
    return static_cast<uint32_t>(function.buffers.size() - 1);
  }
  uint32_t Variable(fb::FunctionT& function, uint32_t index) const {
    const fb::VariableT& variable = *table_.variables[index];
    fb::BufferT buffer;
    buffer.space = fb::Space::Variable;
    buffer.index = index;
    buffer.type = std::make_unique<fb::TensorTypeT>(*variable.type);
    buffer.bytes = variable.bytes;
    return AddBuffer(function, std::move(buffer));
  }
  // Adds a buffer with the type of `like` that covers the whole arena.
  static uint32_t Result(fb::FunctionT& function, uint32_t like) {
    fb::BufferT buffer;
    buffer.type = std::make_unique<fb::TensorTypeT>(*function.buffers[like]->type);
    buffer.bytes = function.arena_bytes = function.buffers[like]->bytes;
    return AddBuffer(function, std::move(buffer));
  }

  template <typename Body>
  static void AddStep(fb::FunctionT& function, Body body, std::vector<uint32_t> operands, double flops,
                      double bytes) {
    auto step = std::make_unique<fb::StepT>();
    step->name = function.name;
    step->body.Set(std::move(body));
    step->outputs = {operands.back()};
    operands.pop_back();
    step->inputs = std::move(operands);
    step->flops = flops;
    step->bytes = bytes;
    function.steps.push_back(std::move(step));
  }

  Device device_;
  fb::PlanT table_;
};

// Returns the times of the fastest step. All steps of the function are identical.
absl::StatusOr<StepTimes> BestTimes(Session& session, const std::string& name) {
  SINTER_ASSIGN_OR_RETURN(BoundFunction function, session.Bind(name));
  SINTER_RETURN_IF_ERROR(function.Run());
  SINTER_RETURN_IF_ERROR(session.Synchronize());
  Profile profile;
  for (int run = 0; run < kMostRuns; ++run) {
    if (run >= kLeastRuns && profile.seconds_total > kSeconds) break;
    SINTER_RETURN_IF_ERROR(function.Run(&profile));
  }
  return *std::ranges::min_element(profile.steps, {}, &StepTimes::seconds_min);
}

absl::StatusOr<Roofline> MeasureRoofline(Device device, const std::set<ContractionType>& types, int threads) {
  Roofline roofline{.device = device, .bytes_per_second = 0, .copied_bytes = 0, .matmuls = {}};
  {
    RooflinePlan plan(device);
    plan.AddCopy();
    SINTER_ASSIGN_OR_RETURN(Plan made, plan.Make());
    SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(made), {.threads = threads}));
    SINTER_ASSIGN_OR_RETURN(const StepTimes copy, BestTimes(session, "copy"));
    roofline.bytes_per_second = copy.bytes / copy.seconds_min;
    roofline.copied_bytes = copy.bytes / 2;
  }
  for (const ContractionType& type : types) {
    RooflinePlan plan(device);
    plan.AddMatmul(type);
    SINTER_ASSIGN_OR_RETURN(Plan made, plan.Make());
    SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(made), {.threads = threads}));
    SINTER_ASSIGN_OR_RETURN(const StepTimes matmul, BestTimes(session, type.ToString()));
    roofline.matmuls[type] = {matmul.flops / matmul.seconds_min, plan.SizeOf(type)};
  }
  return roofline;
}

}  // namespace

absl::StatusOr<std::vector<Roofline>> MeasureRooflines(const fb::Plan& plan, const fb::Function& function,
                                                       int threads) {
  std::map<uint32_t, std::set<ContractionType>> types;
  for (const fb::Step* step : OrEmpty(function.steps())) {
    std::set<ContractionType>& of_device = types[step->device()];
    if (const std::optional<ContractionType> type = ContractionTypeOf(*step); type.has_value()) {
      of_device.insert(*type);
    }
  }
  std::vector<Roofline> rooflines;
  for (const auto& [device, of_device] : types) {
    SINTER_ASSIGN_OR_RETURN(Roofline roofline, MeasureRoofline(DeviceOf(plan, device), of_device, threads));
    rooflines.push_back(std::move(roofline));
  }
  return rooflines;
}

StepBound BoundOf(const fb::Function& function, const fb::Step& step, const Roofline& roofline) {
  if (StepKindOf(step).is_exchange || IsBetweenDevices(function, step)) return {};
  StepBound bound;
  if (step.bytes() > 0) bound = {step.bytes() / roofline.bytes_per_second, "memory"};
  const std::optional<ContractionType> type = ContractionTypeOf(step);
  if (!type.has_value() || !roofline.matmuls.contains(*type)) return bound;
  const double seconds = step.flops() / roofline.matmuls.at(*type).flops_per_second;
  return seconds > bound.seconds ? StepBound{seconds, "compute"} : bound;
}

}  // namespace sinter::tools
