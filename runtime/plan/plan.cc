#include "sinter/runtime/plan/plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/sha256.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan_code.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {
namespace {

constexpr size_t kPlanAlignment = 64;

void SetType(const fb::TensorType& type, TensorInfo* info) {
  info->dtype = static_cast<DType>(type.dtype());
  if (type.shape() != nullptr) info->shape.assign(type.shape()->begin(), type.shape()->end());
}

TensorInfo PortInfo(const fb::Port& port) {
  TensorInfo info;
  info.name = port.name()->str();
  SetType(*port.type(), &info);
  return info;
}

}  // namespace

std::string TensorInfo::TypeString() const { return ShapeToString(dtype, shape); }

std::string LocationText(const fb::Plan& plan, uint32_t index) {
  if (plan.locations() == nullptr || index >= plan.locations()->size()) return "";
  const fb::SourceLocation& location = *plan.locations()->Get(index);
  const std::string file = Text(location.file());
  std::string what = Text(location.what());
  if (file.empty()) return what;
  return absl::StrCat(file, ":", location.line(), what.empty() ? "" : ": ", what);
}

FunctionInfo DescribeFunction(const fb::Plan& plan, const fb::Function& function) {
  FunctionInfo info;
  info.name = function.name()->str();
  if (function.inputs() != nullptr) {
    for (const fb::Port* port : *function.inputs()) info.inputs.push_back(PortInfo(*port));
  }
  if (function.outputs() != nullptr) {
    for (const fb::Port* port : *function.outputs()) info.outputs.push_back(PortInfo(*port));
  }
  for (uint32_t d = 0; d < NumDevices(plan); ++d) {
    info.device_arena_bytes.push_back(static_cast<int64_t>(ArenaBytes(function, d)));
    info.arena_bytes += info.device_arena_bytes.back();
  }
  info.steps = function.steps() == nullptr ? 0 : function.steps()->size();
  return info;
}

namespace {

// Describes the function that rank 0 runs, with the arenas of all ranks.
FunctionInfo DescribeVariants(const fb::Plan& plan, const std::vector<const fb::Function*>& variants) {
  const RankMesh mesh(plan);
  FunctionInfo info = DescribeFunction(plan, *VariantOf(mesh, variants, 0));
  info.device_arena_bytes.clear();
  info.arena_bytes = 0;
  for (uint32_t rank = 0; rank < mesh.num_ranks(); ++rank) {
    const fb::Function& function = *VariantOf(mesh, variants, rank);
    for (uint32_t d = 0; d < NumDevices(plan); ++d) {
      info.device_arena_bytes.push_back(static_cast<int64_t>(ArenaBytes(function, d)));
      info.arena_bytes += info.device_arena_bytes.back();
    }
  }
  return info;
}

}  // namespace

VariableInfo DescribeVariable(const fb::Plan& plan, const fb::Variable& variable) {
  VariableInfo info;
  info.name = variable.name()->str();
  SetType(*variable.type(), &info);
  info.shape = WholeShape(variable);
  info.part_bytes = static_cast<int64_t>(variable.bytes());
  info.is_cut = IsCut(variable);
  info.is_sum = SizeOrZero(variable.sum_axes()) > 0;
  info.bytes = *DenseBytes(info.dtype, info.shape);
  info.trainable = variable.trainable();
  info.location = LocationText(plan, variable.location());
  info.device = DeviceOf(plan, variable.device());
  return info;
}

struct Plan::Data {
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::optional<FileBytes> file;
  std::unique_ptr<std::byte, Free> copy;
  std::span<const std::byte> bytes;
};

Plan::Plan(std::shared_ptr<const Data> data)
    : data_(std::move(data)), table_(fb::GetPlan(data_->bytes.data())) {}

absl::StatusOr<Plan> Plan::Verified(std::shared_ptr<const Data> data) {
  SINTER_RETURN_IF_ERROR(WithinMemory("a plan", [&] { return VerifyPlan(data->bytes); }));
  return Plan(std::move(data));
}

absl::StatusOr<Plan> Plan::FromBytes(std::string_view bytes) {
  auto data = std::make_shared<Data>();
  const size_t rounded = (bytes.size() + kPlanAlignment) / kPlanAlignment * kPlanAlignment;
  data->copy.reset(static_cast<std::byte*>(std::aligned_alloc(kPlanAlignment, rounded)));
  if (data->copy == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("main memory has no room for a plan of ", bytes.size(), " bytes"));
  }
  if (!bytes.empty()) std::memcpy(data->copy.get(), bytes.data(), bytes.size());
  data->bytes = {data->copy.get(), bytes.size()};
  return Verified(std::move(data));
}

absl::StatusOr<Plan> Plan::Load(const std::string& path) {
  auto data = std::make_shared<Data>();
  SINTER_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Read(path, kPlanMaxBytes));
  data->file = std::move(file);
  data->bytes = data->file->bytes();
  absl::StatusOr<Plan> plan = Verified(std::move(data));
  if (plan.ok()) return plan;
  return absl::Status(plan.status().code(),
                      absl::StrCat("cannot load the plan '", path, "': ", plan.status().message()));
}

absl::Status Plan::Save(const std::string& path) const {
  return WriteFileAtomically(path,
                             std::string_view(reinterpret_cast<const char*>(bytes().data()), bytes().size()));
}

std::span<const std::byte> Plan::bytes() const { return data_->bytes; }

std::string Plan::hash() const {
  return HexText({table_->content_hash()->data(), table_->content_hash()->size()});
}

std::string_view Plan::path() const {
  return data_->file.has_value() ? std::string_view(data_->file->path()) : std::string_view();
}
std::string_view Plan::name() const { return View(table_->name()); }
std::string_view Plan::producer() const { return View(table_->producer()); }
std::string_view Plan::target_cpu() const {
  return table_->target() == nullptr ? std::string_view() : View(table_->target()->cpu());
}

std::vector<Device> Plan::Devices() const {
  std::vector<Device> devices;
  const uint32_t ranks = RankMesh(*table_).num_ranks();
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    for (uint32_t d = 0; d < NumDevices(*table_); ++d) devices.push_back(DeviceOfRank(*table_, rank, d));
  }
  return devices;
}

std::vector<MeshAxisInfo> Plan::Mesh() const {
  std::vector<MeshAxisInfo> axes;
  if (table_->mesh() == nullptr) return axes;
  for (const fb::MeshAxis* axis : *table_->mesh()->axes())
    axes.push_back({axis->name()->str(), axis->size()});
  return axes;
}

std::vector<FunctionInfo> Plan::Functions() const {
  std::vector<FunctionInfo> functions;
  if (table_->functions() == nullptr) return functions;
  if (table_->mesh() == nullptr) {
    for (const fb::Function* function : *table_->functions())
      functions.push_back(DescribeFunction(*table_, *function));
    return functions;
  }
  for (const std::vector<const fb::Function*>& variants : FunctionVariants(*table_)) {
    functions.push_back(DescribeVariants(*table_, variants));
  }
  return functions;
}

absl::StatusOr<FunctionInfo> Plan::Function(std::string_view name) const {
  std::vector<std::string> names;
  for (FunctionInfo& function : Functions()) {
    if (function.name == name) return std::move(function);
    names.push_back(function.name);
  }
  return absl::NotFoundError(absl::StrCat("the plan has no function \"", std::string(name), "\"; it has ",
                                          names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

std::vector<VariableInfo> Plan::Variables() const {
  std::vector<VariableInfo> variables;
  if (table_->variables() == nullptr) return variables;
  for (const fb::Variable* variable : *table_->variables()) {
    if (variable->replica_of() == 0) variables.push_back(DescribeVariable(*table_, *variable));
  }
  return variables;
}

absl::Status Plan::CheckTarget() const { return CodeForThisCpu(*table_).status(); }

absl::Status SealPlan(std::string& bytes) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), kPlanMaxDepth,
                                 kPlanMaxTables);
  if (bytes.size() >= kPlanMaxBytes || !fb::VerifyPlanBuffer(verifier)) {
    return absl::InvalidArgumentError("cannot seal a plan: these bytes are not a plan of less than 2 GiB");
  }
  const flatbuffers::Vector<uint8_t>* field = fb::GetPlan(bytes.data())->content_hash();
  if (field == nullptr || field->size() != kPlanHashBytes) {
    return absl::InvalidArgumentError("cannot seal a plan: its content_hash must hold 32 bytes");
  }
  const Sha256::Bytes hash = PlanHash(AsBytes(bytes));
  std::memcpy(bytes.data() + (reinterpret_cast<const char*>(field->data()) - bytes.data()), hash.data(),
              kPlanHashBytes);
  return absl::OkStatus();
}

}  // namespace sinter
