// Verifies the bytes of a plan, which nobody vouches for. After it, the runtime indexes and dereferences freely.
//
//   SINTER_RETURN_IF_ERROR(VerifyPlan(bytes));
//   const fb::Plan* plan = fb::GetPlan(bytes.data());
//
// In this order: size and identifier, the FlatBuffers structure (bounded depth and tables), version, content hash, then
// what the schema cannot say: names, types, every index, offset and size, alignment, and for each step the number, types
// and sizes of its operands against its parameters. Then these hold:
//  - Set: content_hash (32 bytes), names of variables, functions and ports, every TensorType, Initializer and Step body,
//    symbols of kernels, names of catalogue kernels. Vectors may be null, which means empty; elements are never null.
//  - Lists of numbers begin at a multiple of their size; VerifyPlan wants `bytes` at a multiple of 64.
//  - A buffer lies in its arena, variable, constants or input, aligned to its element size; `bytes` is its type's.
//  - No step writes to constants or inputs; no step reads or writes outside its buffers if its kernel does as declared.
//  - Every index of a device is one of the plan's (runtime/plan/plan_devices.h), which are named once each. A step's operands and
//    workspace are on its own device, but for the input of a copy.
//
//  - The members of a collective are neighbours, in the order of their ranks, one on each device of their group; they agree in
//    all but rank and elements, and their operands fit each other and overlap only as plan.fbs says.
//  - A replica of a variable has its type, and is on another device than it and the other replicas of that type. Or it has the
//    shape in bf16 or f16, of a variable of f32; then one of f32 is on its device, and no second one of its type.
//  - A replica of an output's buffer has its type, and is on another device than it and the others.
//
// Not looked at: the code in shared_object. A plan is as trustworthy as where it came from.
#ifndef SINTER_RUNTIME_PLAN_PLAN_VERIFIER_H_
#define SINTER_RUNTIME_PLAN_PLAN_VERIFIER_H_

#include <cstddef>
#include <cstdint>
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
struct Function;
struct Plan;
struct Step;
struct Variable;
}  // namespace fb

inline constexpr size_t kPlanMaxBytes = (size_t{1} << 31) - 1;  // FlatBuffers' own limit.
inline constexpr uint32_t kPlanMaxDepth = 16;
inline constexpr uint32_t kPlanMaxTables = 1u << 24;
inline constexpr size_t kPlanHashBytes = sizeof(Sha256::Bytes);

// What Plan.content_hash must be: SHA-256 of the bytes, taken with those of the field zero. For a plan that has the field,
// of kPlanHashBytes.
Sha256::Bytes PlanHash(std::span<const std::byte> bytes);
inline constexpr uint32_t kPlanMaxDevices = 256;
inline constexpr int32_t kPlanMaxDeviceIndex = 65535;

// "it has ", 3, " inputs": what a verifier says of a malformed plan.
template <typename... Parts>
absl::Status BadPlan(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// InvalidArgument: not a plan, an unknown version, or malformed. DataLoss: truncated or altered.
absl::Status VerifyPlan(std::span<const std::byte> bytes);

// FlatBuffers' own verifier leaves out where the numbers of a list begin, and FlatBuffers aligns them only if there are any.
template <typename List>
bool IsAligned(const List* list) {
  return list == nullptr || list->size() == 0 ||  // An empty list has no numbers to align.
         reinterpret_cast<uintptr_t>(list->Data()) % sizeof(typename List::return_type) == 0;
}

// One step of a function whose buffers are verified. The message has no subject: the caller names the step.
absl::Status VerifyStep(const fb::Plan& plan, const fb::Function& function, const fb::Step& step);

// For VerifyPlan: replicas of variables, each of which is verified.
absl::Status VerifyVariableReplicas(const fb::Plan& plan);

// For VerifyStep: a step that is a collective.
absl::Status VerifyCollective(const fb::Plan& plan, const fb::Function& function, const fb::Step& step);
// Any step, among its function's, which have passed VerifyStep. `channels`: of the collectives before it.
absl::Status VerifyCollectiveOrder(const fb::Function& function, uint32_t step, std::set<uint32_t>& channels);

// "lenet.cc:12: Linear(128)" for an index into Plan.locations; empty when there is no such place.
std::string LocationText(const fb::Plan& plan, uint32_t index);

// What plan.h says of a function, and of a variable, replica or not.
FunctionInfo DescribeFunction(const fb::Plan& plan, const fb::Function& function);
VariableInfo DescribeVariable(const fb::Plan& plan, const fb::Variable& variable);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_PLAN_VERIFIER_H_
