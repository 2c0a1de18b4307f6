// Verifies the untrusted bytes of a plan. Afterwards the runtime may use every index and pointer unchecked.
//
//   SINTER_RETURN_IF_ERROR(VerifyPlan(bytes));
//   const fb::Plan* plan = fb::GetPlan(bytes.data());
//
// Checks, in this order: size and identifier, FlatBuffers structure (bounded depth and tables), version,
// content hash. Then the rules that the schema cannot express: names, types, every index, offset and size,
// and alignment. For each step: the number, types and sizes of the operands against the step's parameters.
// After a successful check:
//  - These fields are set: content_hash (32 bytes), names of variables, functions and ports, every
//    TensorType, Initializer and Step body, symbols of kernels, names of catalogue kernels. A null vector
//    means an empty one; elements are never null.
//  - Lists of numbers are aligned to their element size. VerifyPlan requires `bytes` to be aligned to 64.
//  - A buffer is inside its arena, variable, constants or input, aligned to its element size; `bytes` matches
//    its type.
//  - No step writes to constants or inputs. No step accesses memory outside its buffers, if its kernel does
//    as declared.
//  - Every device index is valid (runtime/plan/plan_devices.h), and no device is listed twice. A step's
//    operands and workspace are on the step's device, except the input of a copy.
//  - The members of a collective are adjacent, in the order of their ranks, one on each device of the group.
//    They differ only in rank and elements. Their operands fit each other and overlap only as plan.fbs
//    allows.
//  - A replica of a variable has the variable's shape. It has the same type and is on a device without
//    another copy of that type; or it is a bf16 or f16 copy of an f32 variable, the only one of its type on
//    its device, which then also has an f32 copy.
//  - The parts of a variable that the ranks of a mesh hold are equal or disjoint, and together the whole. A
//    replica has the parts of its original. A variable of which ranks hold terms starts at zero, has no
//    replica, and is cut along no axis of its terms.
//  - In a plan with a mesh, every function runs on each rank once. For all of its ranks, its buffers are
//    inside their inputs. All ranks have the same exchanges over axes in the same order, and members of one
//    exchange agree on the sizes (docs/collectives.md says why no rank then waits forever).
//  - Fragments have no ports, spaces or exchanges of functions; loops run fragments of lower indices, within
//    their operands in every trip, and their workspace has room for the fragment's arena.
//  - A replica of an output's buffer has the same type. The output's buffers are all on different devices.
//
// Not checked: the code in shared_object. Trust a plan as far as you trust its source.
#ifndef SINTER_RUNTIME_PLAN_PLAN_VERIFIER_H_
#define SINTER_RUNTIME_PLAN_PLAN_VERIFIER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/sha256.h"

namespace sinter {

struct FunctionInfo;
struct VariableInfo;

namespace fb {
struct Buffer;
struct DeviceName;
struct Function;
struct Plan;
struct Step;
struct Variable;
}  // namespace fb

inline constexpr size_t kPlanMaxBytes = (size_t{1} << 31) - 1;  // Limit of FlatBuffers itself.
inline constexpr uint32_t kPlanMaxDepth = 16;
inline constexpr uint32_t kPlanMaxTables = 1u << 24;
inline constexpr uint64_t kPlanMaxMemoryBytes = uint64_t{1} << 47;  // The address space of a process.
inline constexpr size_t kPlanHashBytes = sizeof(Sha256::Bytes);

// Returns the required value of Plan.content_hash: SHA-256 of `bytes`, computed with the bytes of that field
// zero. The plan's field must have kPlanHashBytes bytes.
Sha256::Bytes PlanHash(std::span<const std::byte> bytes);
inline constexpr uint32_t kPlanMaxDevices = 256;
inline constexpr int32_t kPlanMaxDeviceIndex = 65535;

// The verifiers' error for a malformed plan, from message parts such as "it has ", 3, " inputs".
template <typename... Parts>
absl::Status BadPlan(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// InvalidArgument: not a plan, an unknown version, or malformed. DataLoss: truncated or altered.
absl::Status VerifyPlan(std::span<const std::byte> bytes);

// True if the list's numbers are aligned to their size. FlatBuffers' own verifier does not check this
// alignment, and FlatBuffers does not align empty lists.
template <typename List>
bool IsAligned(const List* list) {
  return list == nullptr || list->size() == 0 ||  // An empty list has no numbers to align.
         reinterpret_cast<uintptr_t>(list->Data()) % sizeof(typename List::return_type) == 0;
}

// Verifies one step. The function's buffers must be verified. The message has no subject: the caller names
// the step.
absl::Status VerifyStep(const fb::Plan& plan, const fb::Function& function, const fb::Step& step);

// For VerifyPlan: verifies replicas of variables. Each variable alone must be verified.
absl::Status VerifyVariableReplicas(const fb::Plan& plan);

// The collectives of a function up to a step.
struct CollectiveOrder {
  std::set<uint32_t> channels;
  std::optional<uint64_t> epoch;  // The epoch of the last exchange over axes.
};

// Verifies the position of any step among the function's steps, which have passed VerifyStep, and adds the
// step to `order`.
absl::Status VerifyCollectiveOrder(const fb::Function& function, uint32_t step, CollectiveOrder& order);

inline constexpr size_t kPlanMaxVariants = 64;  // Functions of one name.

// Verifies one entry of a list of devices, but for its index.
absl::Status VerifyDeviceName(const fb::DeviceName& name);

inline constexpr size_t kPlanMaxReasons = 65536;
inline constexpr size_t kPlanMaxReasonBytes = 1024;
inline constexpr size_t kPlanMaxReasonLines = 8;

inline constexpr uint32_t kPlanMaxFragmentDepth = 8;
inline constexpr uint64_t kPlanMaxRunSteps = uint64_t{1} << 44;  // Steps that a run of a function makes.

// For VerifyPlan (fragment_verifier.cc): that a fragment has what fragments may have, before VerifyFunction.
absl::Status VerifyFragment(const fb::Plan& plan, uint32_t index);
// Verifies the depth to which fragments run others, and that no function is practically endless. All loops
// must be verified.
absl::Status VerifyFragmentRuns(const fb::Plan& plan);

// For VerifyPlan: Plan.exchange_reasons and Plan.whole_notes.
absl::Status VerifyExchangeReasons(const fb::Plan& plan);

// For VerifyPlan (mesh_verifier.cc): the mesh and the rank values, after Plan.devices.
absl::Status VerifyMesh(const fb::Plan& plan);
// Verifies the box, if there is one, of a variable whose type is verified (variable_box.cc).
absl::Status VerifyVariableBox(const fb::Plan& plan, const fb::Variable& variable);
// InvalidArgument if the variable's initial values, which its initializer says the plan has, are not those of
// all elements of its whole. Call after VerifyVariableBox.
absl::Status VerifyInitialValues(const fb::Variable& variable);
// Verifies the axes over which ranks hold terms of a variable whose type, box and initializer are verified.
absl::Status VerifySumAxes(const fb::Plan& plan, const fb::Variable& variable);
// True if the ranks' parts of both are the same places of tensors of one shape.
bool HaveEqualBoxes(const fb::Variable& a, const fb::Variable& b);
// Verifies the ranks of a function, before its buffers.
absl::Status VerifyRanks(const fb::Plan& plan, const fb::Function& function);
// Verifies the parts of a buffer that only plans with a mesh have, but for the offsets that its strides make.
absl::Status VerifyRankBuffer(const fb::Plan& plan, const fb::Buffer& buffer);
// Verifies the offsets of a buffer with strides, for all ranks of the function: inside `room` bytes and
// aligned to elements of `element` bytes.
absl::Status VerifyRankOffsets(const fb::Plan& plan, const fb::Function& function, const fb::Buffer& buffer,
                               uint64_t room, uint64_t element);
// Verifies that each function runs on every rank once, and that ranks which run different functions of one
// name meet in all exchanges. Each function alone must be verified.
absl::Status VerifyFunctionRanks(const fb::Plan& plan);
// Verifies that two functions of one name have the same ports and exchanges (variant_verifier.cc).
absl::Status VerifyVariantPair(const fb::Plan& plan, const fb::Function& a, const fb::Function& b);
// Verifies that two steps over axes, of two functions of one name, are the same exchange. `has_common_group`:
// some ranks of the two are members of one group, so that their sizes fit.
absl::Status VerifyMeeting(const fb::Function& function, const fb::Step& step, const fb::Function& other,
                           const fb::Step& other_step, bool has_common_group);

// Returns "lenet.cc:12: Linear(128)" for an index into Plan.locations; empty if the index is out of range.
std::string LocationText(const fb::Plan& plan, uint32_t index);

// Describes a function or variable (also a replica) as in plan.h.
FunctionInfo DescribeFunction(const fb::Plan& plan, const fb::Function& function);
VariableInfo DescribeVariable(const fb::Plan& plan, const fb::Variable& variable);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_PLAN_VERIFIER_H_
