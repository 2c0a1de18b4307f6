#include "sinter/runtime/plan/plan_verifier.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/sha256.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/plan/plan_code.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {
namespace {

template <typename... Parts>
absl::Status Malformed(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("the plan is malformed: ", parts...));
}

absl::Status Within(absl::string_view subject, const absl::Status& status) {
  if (status.ok()) return status;
  return Malformed(subject, ": ", absl::string_view(status.message()));
}

absl::Status VerifyStructure(std::span<const std::byte> bytes) {
  constexpr size_t kLeastBytes = 64;
  if (bytes.size() >= 8 && std::memcmp(bytes.data() + 4, fb::PlanIdentifier(), 4) != 0) {
    return absl::InvalidArgumentError("this is not a plan: it does not carry the identifier \"SNTR\"");
  }
  if (bytes.size() < kLeastBytes) {
    return absl::DataLossError(
        absl::StrCat("this is not a plan, or the beginning of one: it has ", bytes.size(), " bytes"));
  }
  if (bytes.size() >= kPlanMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan has ", bytes.size(), " bytes, and a plan has less than 2 GiB"));
  }
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), kPlanMaxDepth,
                                 kPlanMaxTables);
  if (!fb::VerifyPlanBuffer(verifier)) {
    return absl::DataLossError(absl::StrCat("the plan is truncated or damaged: its ", bytes.size(),
                                            " bytes do not hold the tables that they promise"));
  }
  return absl::OkStatus();
}

absl::Status VerifyHash(std::span<const std::byte> bytes, const fb::Plan& plan) {
  const flatbuffers::Vector<uint8_t>* const stored = plan.content_hash();
  if (stored == nullptr || stored->size() != kPlanHashBytes) {
    return absl::DataLossError("the plan has no content hash: it was not written to the end, or is damaged");
  }
  const Sha256::Bytes hash = PlanHash(bytes);
  if (std::memcmp(hash.data(), stored->data(), kPlanHashBytes) == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the plan is damaged: its content hash is ", HexText(hash).substr(0, 16), "..., and ",
                   HexText({stored->data(), kPlanHashBytes}).substr(0, 16), "... is written in it"));
}

// Returns the dense bytes of a type, or an error if the type is invalid.
absl::StatusOr<uint64_t> VerifyType(const fb::TensorType* type) {
  if (type == nullptr) return absl::InvalidArgumentError("it has no type");
  if (static_cast<int>(type->dtype()) >= kNumDTypes) {
    return absl::InvalidArgumentError(
        absl::StrCat("element type ", static_cast<int>(type->dtype()), " does not exist in this build"));
  }
  if (!IsAligned(type->shape())) return absl::InvalidArgumentError("its shape is not aligned to 8 bytes");
  std::span<const int64_t> shape;
  if (type->shape() != nullptr) shape = {type->shape()->data(), type->shape()->size()};
  if (shape.size() > HostTensor::kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("its rank is ", shape.size(), ": at most ", HostTensor::kMaxRank));
  }
  SINTER_ASSIGN_OR_RETURN(const int64_t bytes, DenseBytes(static_cast<DType>(type->dtype()), shape));
  if (static_cast<uint64_t>(bytes) > kPlanMaxMemoryBytes) {
    return absl::InvalidArgumentError(absl::StrCat("it has ", bytes, " bytes, more than an address space"));
  }
  return static_cast<uint64_t>(bytes);
}

bool SameType(const fb::TensorType& a, const fb::TensorType& b) {
  const size_t rank_a = a.shape() == nullptr ? 0 : a.shape()->size();
  const size_t rank_b = b.shape() == nullptr ? 0 : b.shape()->size();
  if (a.dtype() != b.dtype() || rank_a != rank_b) return false;
  for (size_t i = 0; i < rank_a; ++i) {
    if (a.shape()->Get(i) != b.shape()->Get(i)) return false;
  }
  return true;
}

// Checks that names are not empty, not repeated, and without control characters.
class Names {
 public:
  // `may_repeat`: the name may be there already.
  absl::Status Add(const flatbuffers::String* name, bool may_repeat = false) {
    if (name == nullptr || name->size() == 0) return absl::InvalidArgumentError("it has no name");
    for (const char c : *name) {
      if (static_cast<unsigned char>(c) < 0x20) {
        return absl::InvalidArgumentError("its name holds a control character");
      }
    }
    if (!seen_.emplace(name->c_str(), name->size()).second && !may_repeat) {
      return absl::InvalidArgumentError(absl::StrCat("the name \"", name->c_str(), "\" is used twice"));
    }
    return absl::OkStatus();
  }

 private:
  std::set<std::string_view> seen_;
};

absl::Status VerifyDevice(const fb::Plan& plan, uint32_t index) {
  if (index < NumDevices(plan)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("device ", index, " of ", NumDevices(plan)));
}

absl::Status VerifyDevices(const fb::Plan& plan) {
  if (NumDevices(plan) > kPlanMaxDevices) {
    return Malformed("it names ", NumDevices(plan), " devices: at most ", kPlanMaxDevices);
  }
  std::set<Device> seen;
  for (uint32_t i = 0; plan.devices() != nullptr && i < plan.devices()->size(); ++i) {
    const fb::DeviceName& name = *plan.devices()->Get(i);
    SINTER_RETURN_IF_ERROR(Within(absl::StrCat("device ", i), VerifyDeviceName(name)));
    if (name.index() < 0 || name.index() > kPlanMaxDeviceIndex) {
      return Malformed("device ", i, ": index ", name.index(), " is outside 0..", kPlanMaxDeviceIndex);
    }
    if (!seen.insert(DeviceOf(plan, i)).second) {
      return Malformed("device ", i, ": ", DeviceOf(plan, i).ToString(), " is named twice");
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyImages(const fb::GpuKernel& kernel) {
  const size_t count = kernel.images() == nullptr ? 0 : kernel.images()->size();
  if (count == 0) return absl::InvalidArgumentError("it has no image");
  std::set<std::string_view> seen;
  for (size_t i = 0; i < count; ++i) {
    const fb::GpuImage& image = *kernel.images()->Get(i);
    if (image.architecture() == nullptr || image.architecture()->size() == 0) {
      return absl::InvalidArgumentError(absl::StrCat("image ", i, " does not say for which architecture"));
    }
    if (image.cubin() == nullptr || image.cubin()->size() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("its image for ", image.architecture()->c_str(), " is empty"));
    }
    if (!seen.emplace(image.architecture()->c_str(), image.architecture()->size()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has two images for ", image.architecture()->c_str()));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyGpuKernels(const fb::Plan& plan) {
  for (size_t i = 0; plan.gpu_kernels() != nullptr && i < plan.gpu_kernels()->size(); ++i) {
    const fb::GpuKernel& kernel = *plan.gpu_kernels()->Get(i);
    const std::string subject = absl::StrCat("GPU kernel ", i);
    if (kernel.symbol() == nullptr || kernel.symbol()->size() == 0) {
      return Malformed(subject, ": it has no symbol");
    }
    SINTER_RETURN_IF_ERROR(
        Within(absl::StrCat(subject, " (", kernel.symbol()->c_str(), ")"), VerifyImages(kernel)));
  }
  return absl::OkStatus();
}

absl::Status VerifyLocation(const fb::Plan& plan, uint32_t index) {
  const size_t count = plan.locations() == nullptr ? 0 : plan.locations()->size();
  if (index < count || (index == 0 && count == 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("source location ", index, " of ", count));
}

absl::Status VerifyInitializer(const fb::Variable& variable) {
  const fb::Initializer* const init = variable.initializer();
  if (init == nullptr) return absl::InvalidArgumentError("it has no initializer");
  if (init->kind() > fb::InitializerKind::MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("initializer kind ", static_cast<int>(init->kind()), " does not exist"));
  }
  if (init->kind() == fb::InitializerKind::Constant) return absl::OkStatus();
  if (init->kind() == fb::InitializerKind::Values) return VerifyInitialValues(variable);
  if (!IsFloat(static_cast<DType>(variable.type()->dtype()))) {
    return absl::InvalidArgumentError("only floats have random initial values");
  }
  if (!std::isfinite(init->a()) || !std::isfinite(init->b())) {
    return absl::InvalidArgumentError("its initializer's parameters are not finite");
  }
  if (init->kind() == fb::InitializerKind::TruncatedNormal &&
      !(init->low() < init->high() && std::isfinite(init->high() - init->low()))) {
    return absl::InvalidArgumentError("its truncated normal initializer has no range");
  }
  const size_t rank = variable.type()->shape() == nullptr ? 0 : variable.type()->shape()->size();
  if (init->kind() == fb::InitializerKind::Orthogonal && rank < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("orthogonal initial values need rank 2 or more, not ", rank));
  }
  return absl::OkStatus();
}

absl::Status VerifyVariable(const fb::Plan& plan, const fb::Variable& variable, Names& names,
                            uint64_t& total) {
  SINTER_RETURN_IF_ERROR(names.Add(variable.name()));
  SINTER_ASSIGN_OR_RETURN(const uint64_t bytes, VerifyType(variable.type()));
  if (bytes != variable.bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", variable.bytes(), " bytes, and its type has ", bytes));
  }
  total += bytes;
  if (total > kPlanMaxMemoryBytes) return absl::InvalidArgumentError("all variables exceed an address space");
  SINTER_RETURN_IF_ERROR(VerifyVariableBox(plan, variable));
  SINTER_RETURN_IF_ERROR(VerifyInitializer(variable));
  SINTER_RETURN_IF_ERROR(VerifySumAxes(plan, variable));
  SINTER_RETURN_IF_ERROR(VerifyDevice(plan, variable.device()));
  return VerifyLocation(plan, variable.location());
}

absl::Status VerifyBuffer(const fb::Plan& plan, const fb::Function& function, const fb::Buffer& buffer) {
  SINTER_ASSIGN_OR_RETURN(const uint64_t bytes, VerifyType(buffer.type()));
  if (bytes != buffer.bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", buffer.bytes(), " bytes, and its type has ", bytes));
  }
  SINTER_RETURN_IF_ERROR(VerifyDevice(plan, buffer.device()));
  SINTER_RETURN_IF_ERROR(VerifyRankBuffer(plan, buffer));
  if (buffer.space() == fb::Space::RankValue) return absl::OkStatus();
  uint64_t room = 0;
  size_t count = 1;
  const char* where = "arena";
  switch (buffer.space()) {
    case fb::Space::Arena:
      room = ArenaBytes(function, buffer.device());
      break;
    case fb::Space::Constant:
      room = plan.constants() == nullptr ? 0 : plan.constants()->size();
      where = "constants";
      break;
    case fb::Space::Variable:
      count = plan.variables() == nullptr ? 0 : plan.variables()->size();
      if (buffer.index() < count) room = plan.variables()->Get(buffer.index())->bytes();
      where = "variable";
      break;
    case fb::Space::Input:
      count = function.inputs() == nullptr ? 0 : function.inputs()->size();
      if (buffer.index() < count) room = *VerifyType(function.inputs()->Get(buffer.index())->type());
      where = "input";
      break;
    case fb::Space::Parameter:
      count = function.parameters() == nullptr ? 0 : function.parameters()->size();
      if (buffer.index() < count) room = function.parameters()->Get(buffer.index())->bytes();
      where = "parameter";
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("space ", static_cast<int>(buffer.space()), " does not exist"));
  }
  if (buffer.index() >= count)
    return absl::InvalidArgumentError(absl::StrCat(where, " ", buffer.index(), " of ", count));
  const uint64_t element = static_cast<uint64_t>(SizeOf(static_cast<DType>(buffer.type()->dtype())));
  if (buffer.rank_strides() != nullptr) return VerifyRankOffsets(plan, function, buffer, room, element);
  if (buffer.offset() > room || bytes > room - buffer.offset()) {
    return absl::InvalidArgumentError(absl::StrCat("bytes ", buffer.offset(), " to ", buffer.offset(), " + ",
                                                   bytes, " are outside its ", where, " of ", room,
                                                   " bytes"));
  }
  if (buffer.space() == fb::Space::Variable &&
      buffer.device() != plan.variables()->Get(buffer.index())->device()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is on ", DeviceOf(plan, buffer.device()).ToString(), ", and its variable on ",
                     DeviceOf(plan, plan.variables()->Get(buffer.index())->device()).ToString()));
  }
  if (buffer.offset() % element != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("offset ", buffer.offset(), " is not aligned to its elements of ", element, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status VerifyPort(const fb::Function& function, const fb::Port& port) {
  const size_t count = function.buffers() == nullptr ? 0 : function.buffers()->size();
  if (port.buffer() >= count)
    return absl::InvalidArgumentError(absl::StrCat("buffer ", port.buffer(), " of ", count));
  if (!SameType(*port.type(), *function.buffers()->Get(port.buffer())->type())) {
    return absl::InvalidArgumentError("its type is not that of its buffer");
  }
  return absl::OkStatus();
}

// Verifies the buffers that replicate an output, each on its own device.
absl::Status VerifyReplicas(const fb::Plan& plan, const fb::Function& function, const fb::Port& port) {
  const size_t count = function.buffers() == nullptr ? 0 : function.buffers()->size();
  if (!IsAligned(port.replicas()))
    return absl::InvalidArgumentError("its replicas are not aligned to 4 bytes");
  std::set<uint32_t> devices = {function.buffers()->Get(port.buffer())->device()};
  for (size_t i = 0; port.replicas() != nullptr && i < port.replicas()->size(); ++i) {
    const uint32_t index = port.replicas()->Get(i);
    if (index >= count) {
      return absl::InvalidArgumentError(absl::StrCat("replica ", i, " is buffer ", index, " of ", count));
    }
    const fb::Buffer& buffer = *function.buffers()->Get(index);
    if (!SameType(*port.type(), *buffer.type())) {
      return absl::InvalidArgumentError(absl::StrCat("replica ", i, " is of another type"));
    }
    if (!devices.insert(buffer.device()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("replica ", i, " is a second buffer on ", DeviceOf(plan, buffer.device()).ToString()));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyPorts(const fb::Plan& plan, const fb::Function& function) {
  Names outputs;
  for (size_t i = 0; function.inputs() != nullptr && i < function.inputs()->size(); ++i) {
    const fb::Port& port = *function.inputs()->Get(i);
    const std::string subject = absl::StrCat("input ", i);
    SINTER_RETURN_IF_ERROR(Within(subject, VerifyPort(function, port)));
    const fb::Buffer& buffer = *function.buffers()->Get(port.buffer());
    if (buffer.space() != fb::Space::Input || buffer.index() != i || buffer.offset() != 0 ||
        buffer.rank_strides() != nullptr) {
      return Malformed(subject, ": its buffer is not the input itself");
    }
    if (port.replicas() != nullptr && port.replicas()->size() > 0) {
      return Malformed(subject, ": it has replicas, which only outputs have");
    }
  }
  for (size_t i = 0; function.outputs() != nullptr && i < function.outputs()->size(); ++i) {
    const fb::Port& port = *function.outputs()->Get(i);
    const std::string subject = absl::StrCat("output ", i);
    SINTER_RETURN_IF_ERROR(Within(subject, outputs.Add(port.name())));
    SINTER_RETURN_IF_ERROR(Within(subject, VerifyType(port.type()).status()));
    SINTER_RETURN_IF_ERROR(Within(subject, VerifyPort(function, port)));
    SINTER_RETURN_IF_ERROR(Within(subject, VerifyReplicas(plan, function, port)));
  }
  return absl::OkStatus();
}

absl::Status VerifyArenas(const fb::Plan& plan, const fb::Function& function) {
  const flatbuffers::Vector<uint64_t>* const more = function.more_arena_bytes();
  if (!IsAligned(more)) return Malformed("its list of arenas is not aligned to 8 bytes");
  const size_t count = 1 + (more == nullptr ? 0 : more->size());
  if (count != NumDevices(plan)) {
    return Malformed("it has arenas on ", count, " devices, and the plan has ", NumDevices(plan));
  }
  for (uint32_t d = 0; d < count; ++d) {
    if (ArenaBytes(function, d) > kPlanMaxMemoryBytes) return Malformed("its arena exceeds an address space");
  }
  return absl::OkStatus();
}

const char* StepName(const fb::Function& function, uint32_t step) {
  const flatbuffers::String* const name = function.steps()->Get(step)->name();
  return name == nullptr ? "" : name->c_str();
}

absl::Status VerifyFunction(const fb::Plan& plan, const fb::Function& function) {
  SINTER_RETURN_IF_ERROR(VerifyRanks(plan, function));
  SINTER_RETURN_IF_ERROR(VerifyArenas(plan, function));
  // Buffers refer to the inputs' types, so verify the inputs first.
  Names names;
  for (size_t i = 0; function.inputs() != nullptr && i < function.inputs()->size(); ++i) {
    const fb::Port& port = *function.inputs()->Get(i);
    SINTER_RETURN_IF_ERROR(Within(absl::StrCat("input ", i), names.Add(port.name())));
    SINTER_RETURN_IF_ERROR(Within(absl::StrCat("input ", i), VerifyType(port.type()).status()));
  }
  for (size_t i = 0; function.buffers() != nullptr && i < function.buffers()->size(); ++i) {
    SINTER_RETURN_IF_ERROR(
        Within(absl::StrCat("buffer ", i), VerifyBuffer(plan, function, *function.buffers()->Get(i))));
  }
  SINTER_RETURN_IF_ERROR(VerifyPorts(plan, function));
  for (uint32_t i = 0; function.steps() != nullptr && i < function.steps()->size(); ++i) {
    const fb::Step& step = *function.steps()->Get(i);
    const std::string subject = absl::StrCat("step ", i, " (", StepName(function, i), ")");
    for (size_t k = 0; step.locations() != nullptr && k < step.locations()->size(); ++k) {
      SINTER_RETURN_IF_ERROR(Within(subject, VerifyLocation(plan, step.locations()->Get(k))));
    }
    SINTER_RETURN_IF_ERROR(Within(subject, VerifyStep(plan, function, step)));
  }
  CollectiveOrder order;
  for (uint32_t i = 0; function.steps() != nullptr && i < function.steps()->size(); ++i) {
    SINTER_RETURN_IF_ERROR(Within(absl::StrCat("step ", i, " (", StepName(function, i), ")"),
                                  VerifyCollectiveOrder(function, i, order)));
  }
  return absl::OkStatus();
}

// Nested calls each add "malformed": keep only the first.
absl::Status Flatten(const absl::Status& status) {
  constexpr absl::string_view kPrefix = "the plan is malformed: ";
  if (status.ok()) return status;
  std::string text;
  absl::string_view rest = status.message();
  for (size_t at; (at = rest.find(kPrefix)) != absl::string_view::npos;
       rest.remove_prefix(at + kPrefix.size())) {
    absl::StrAppend(&text, rest.substr(0, at));
  }
  return absl::InvalidArgumentError(absl::StrCat(kPrefix, text, rest));
}

absl::Status VerifyContents(std::span<const std::byte> bytes, const fb::Plan& plan) {
  if (plan.constants() != nullptr && plan.constants()->size() > 0) {
    const std::byte* const constants = reinterpret_cast<const std::byte*>(plan.constants()->data());
    if ((constants - bytes.data()) % 64 != 0) return Malformed("its constants are not aligned to 64 bytes");
  }
  SINTER_RETURN_IF_ERROR(VerifyDevices(plan));
  SINTER_RETURN_IF_ERROR(VerifyMesh(plan));
  if (const absl::Status reasons = VerifyExchangeReasons(plan); !reasons.ok()) {
    return Malformed(absl::string_view(reasons.message()));
  }
  SINTER_RETURN_IF_ERROR(VerifyPlanCode(plan));
  SINTER_RETURN_IF_ERROR(VerifyGpuKernels(plan));
  Names variables, functions, fragments;
  uint64_t total = 0;
  for (size_t i = 0; plan.variables() != nullptr && i < plan.variables()->size(); ++i) {
    SINTER_RETURN_IF_ERROR(Within(absl::StrCat("variable ", i),
                                  VerifyVariable(plan, *plan.variables()->Get(i), variables, total)));
  }
  SINTER_RETURN_IF_ERROR(VerifyVariableReplicas(plan));
  for (uint32_t i = 0; plan.fragments() != nullptr && i < plan.fragments()->size(); ++i) {
    const fb::Function& fragment = *plan.fragments()->Get(i);
    const std::string subject = absl::StrCat("fragment ", i);
    SINTER_RETURN_IF_ERROR(Within(subject, fragments.Add(fragment.name())));
    SINTER_RETURN_IF_ERROR(Within(subject, VerifyFragment(plan, i)));
    SINTER_RETURN_IF_ERROR(Within(subject, VerifyFunction(plan, fragment)));
  }
  for (size_t i = 0; plan.functions() != nullptr && i < plan.functions()->size(); ++i) {
    const fb::Function& function = *plan.functions()->Get(i);
    SINTER_RETURN_IF_ERROR(Within(absl::StrCat("function ", i),
                                  functions.Add(function.name(), /*may_repeat=*/plan.mesh() != nullptr)));
    SINTER_RETURN_IF_ERROR(
        Within(absl::StrCat("function \"", function.name()->c_str(), "\""), VerifyFunction(plan, function)));
  }
  SINTER_RETURN_IF_ERROR(VerifyFunctionRanks(plan));
  const absl::Status runs = VerifyFragmentRuns(plan);
  return runs.ok() ? runs : Malformed(absl::string_view(runs.message()));
}

}  // namespace

absl::Status VerifyDeviceName(const fb::DeviceName& name) {
  if (name.kind() > fb::DeviceKind::MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("kind ", static_cast<int>(name.kind()), " does not exist"));
  }
  const bool is_named = name.kind() == fb::DeviceKind::Named;
  if (is_named != (name.kind_name() != nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat("its kind, ", static_cast<int>(name.kind()),
                                                   is_named ? ", has no name" : ", has a name"));
  }
  const std::optional<DeviceKind> kind = DeviceKindOf(name);
  if (!kind.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "this program knows no devices of kind \"", PrintableText(name.kind_name()->string_view()),
        "\": it knows ", DeviceKindNames(), ", and others once they are registered (RegisterDeviceKind)"));
  }
  // Only one way to write a device.
  if (is_named && (*kind == DeviceKind::kCpu || *kind == DeviceKind::kGpu)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it names its kind, ", std::string(DeviceKindName(*kind)), ", which has a number"));
  }
  return absl::OkStatus();
}

Sha256::Bytes PlanHash(std::span<const std::byte> bytes) {
  const uint8_t* const field = fb::GetPlan(bytes.data())->content_hash()->data();
  const size_t before = static_cast<size_t>(reinterpret_cast<const std::byte*>(field) - bytes.data());
  const std::byte zeros[kPlanHashBytes] = {};
  Sha256 hash;
  hash.Update(bytes.first(before));
  hash.Update(zeros);
  hash.Update(bytes.subspan(before + kPlanHashBytes));
  return hash.Digest();
}

absl::Status VerifyPlan(std::span<const std::byte> bytes) {
  SINTER_RETURN_IF_ERROR(VerifyStructure(bytes));
  const fb::Plan& plan = *fb::GetPlan(bytes.data());
  if (plan.version() < 1 || plan.version() > Plan::kVersion) {
    return absl::InvalidArgumentError(absl::StrCat("the plan has format version ", plan.version(),
                                                   ", and this build reads versions 1 to ", Plan::kVersion,
                                                   ": compile it anew, or use a build of its own version"));
  }
  SINTER_RETURN_IF_ERROR(VerifyHash(bytes, plan));
  return Flatten(VerifyContents(bytes, plan));
}

}  // namespace sinter
