// Collectives: fb::CollectiveStep, and the part of plan_verifier.h that checks their order.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/buffer_range.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind_functions.h"

namespace sinter {
namespace {

constexpr uint64_t kFlatGap = 512;  // Flat tensors have only alignment gaps between them.

std::string Name(fb::CollectiveKind kind) { return std::string(CollectiveName(kind)); }

using Parts = CollectiveTraits::Parts;

const CollectiveTraits& TraitsOf(const fb::CollectiveStep& s) { return sinter::TraitsOf(s.kind()); }

// Returns the buffers of a list of operands, which VerifyStep has checked.
std::vector<const fb::Buffer*> BuffersOf(const fb::Function& function,
                                         const flatbuffers::Vector<uint32_t>* indices) {
  std::vector<const fb::Buffer*> buffers;
  for (uint32_t i = 0; i < SizeOrZero(indices); ++i) {
    buffers.push_back(function.buffers()->Get(indices->Get(i)));
  }
  return buffers;
}

absl::Status CheckEnums(const fb::CollectiveStep& s) {
  if (s.kind() > fb::CollectiveKind::MAX) {
    return BadPlan("collective kind ", static_cast<int>(s.kind()), " does not exist");
  }
  if (s.combine() > fb::ReduceOp::MAX) {
    return BadPlan("combination ", static_cast<int>(s.combine()), " does not exist");
  }
  if (static_cast<int>(s.dtype()) >= kNumDTypes) {
    return BadPlan("element type ", static_cast<int>(s.dtype()), " does not exist in this build");
  }
  const DType dtype = static_cast<DType>(s.dtype());
  if (TraitsOf(s).combines && !CanCombine(s.combine(), dtype)) {
    return BadPlan("elements of type ", std::string(DTypeName(dtype)),
                   IsStored(dtype) ? " are not combined" : " have no sum and no mean");
  }
  if (s.is_flat() && !TraitsOf(s).has_list) {
    return BadPlan("it is flat, and ", Name(s.kind()), " has one tensor");
  }
  if (!IsAligned(s.group()) || !IsAligned(s.elements()) || !IsAligned(s.parts()) || !IsAligned(s.axes())) {
    return BadPlan("its lists are not aligned to their numbers");
  }
  return absl::OkStatus();
}

// The members of a collective, as one member's step knows them.
struct Members {
  uint32_t count = 0;
  // The member's rank among them. nullopt if the step runs on several ranks, which differ in it.
  std::optional<uint32_t> rank;
  bool has_inputs = true, has_outputs = true;
};

absl::Status CheckCount(const fb::CollectiveStep& s, uint32_t count) {
  if (s.root() >= count) return BadPlan("its root is rank ", s.root(), " of ", count);
  if (const uint32_t members = TraitsOf(s).members; members > 0 && count != members) {
    return BadPlan(Name(s.kind()), " has ", count, " members, not ", members);
  }
  return absl::OkStatus();
}

absl::StatusOr<Members> MembersOfGroup(const fb::Plan& plan, const fb::Step& step,
                                       const fb::CollectiveStep& s) {
  const uint32_t count = SizeOrZero(s.group());
  if (count == 0) {
    return BadPlan(plan.mesh() == nullptr ? "its group is empty" : "it has neither axes nor a group");
  }
  std::vector<bool> seen(NumDevices(plan));
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t device = s.group()->Get(i);
    if (device >= seen.size()) return BadPlan("its group names device ", device, " of ", seen.size());
    const std::string name = DeviceOf(plan, device).ToString();
    if (seen[device]) return BadPlan("its group names ", name, " twice");
    seen[device] = true;
    if (DeviceOf(plan, device).kind() != DeviceOf(plan, s.group()->Get(0)).kind()) {
      return BadPlan("its group names ", DeviceOf(plan, s.group()->Get(0)).ToString(), " and ", name,
                     ": a collective is one of CPUs or of GPUs");
    }
  }
  if (s.rank() >= count) return BadPlan("its rank is ", s.rank(), " of ", count);
  SINTER_RETURN_IF_ERROR(CheckCount(s, count));
  if (s.group()->Get(s.rank()) != step.device()) {
    return BadPlan("it runs on ", DeviceOf(plan, step.device()).ToString(), ", and rank ", s.rank(),
                   " of its group is on ", DeviceOf(plan, s.group()->Get(s.rank())).ToString());
  }
  return Members{.count = count,
                 .rank = s.rank(),
                 .has_inputs = CollectiveTraits::Has(TraitsOf(s).inputs, s.rank(), s.root()),
                 .has_outputs = CollectiveTraits::Has(TraitsOf(s).outputs, s.rank(), s.root())};
}

// True if the step's ranks have operands, which `owners` alone have. An error if some have and some do not.
absl::StatusOr<bool> HaveOperands(const RankMesh& mesh, const RankBox& box, const fb::CollectiveStep& s,
                                  CollectiveTraits::Owners owners) {
  using Owners = CollectiveTraits::Owners;
  if (owners == Owners::kAll) return true;
  const AxisMask axes = MaskOf(s.axes());
  const uint32_t owner = owners == Owners::kRoot ? s.root() : owners == Owners::kRank0 ? 0 : 1;
  if (!mesh.HasPosition(box, axes, owner)) return false;
  if (mesh.OnlyPosition(box, axes).has_value()) return true;
  return BadPlan("member ", owner, " alone has some operands, and it shares a function with others");
}

absl::StatusOr<Members> MembersOverAxes(const fb::Plan& plan, const fb::Function& function,
                                        const fb::CollectiveStep& s) {
  if (plan.mesh() == nullptr) return BadPlan("it exchanges over axes, and the plan has no mesh");
  if (SizeOrZero(s.group()) > 0 || s.rank() != 0) return BadPlan("it has axes, and also a group or a rank");
  const RankMesh mesh(plan);
  for (uint32_t i = 0; i < s.axes()->size(); ++i) {
    if (s.axes()->Get(i) >= mesh.num_axes()) {
      return BadPlan("it exchanges over axis ", s.axes()->Get(i), " of ", mesh.num_axes());
    }
    if (i > 0 && s.axes()->Get(i) <= s.axes()->Get(i - 1)) return BadPlan("its axes do not rise");
  }
  const RankBox box = mesh.BoxOf(function);
  const AxisMask axes = MaskOf(s.axes());
  Members members = {.count = mesh.GroupSize(axes), .rank = mesh.OnlyPosition(box, axes)};
  SINTER_RETURN_IF_ERROR(CheckCount(s, members.count));
  SINTER_ASSIGN_OR_RETURN(members.has_inputs, HaveOperands(mesh, box, s, TraitsOf(s).inputs));
  SINTER_ASSIGN_OR_RETURN(members.has_outputs, HaveOperands(mesh, box, s, TraitsOf(s).outputs));
  return members;
}

// Checks the operands against the element counts, one operand per count.
absl::Status CheckOperands(const std::vector<const fb::Buffer*>& buffers, const char* what, fb::DType dtype,
                           const std::vector<int64_t>& elements) {
  if (buffers.size() != elements.size()) {
    return BadPlan("it has ", buffers.size(), " ", what, "s, not ", elements.size());
  }
  uint64_t total = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const fb::Buffer& buffer = *buffers[i];
    if (buffer.type()->dtype() != dtype) {
      return BadPlan(what, " ", i, " holds ",
                     std::string(DTypeName(static_cast<DType>(buffer.type()->dtype()))), ", not ",
                     std::string(DTypeName(static_cast<DType>(dtype))));
    }
    const uint64_t held = buffer.bytes() / static_cast<uint64_t>(SizeOf(static_cast<DType>(dtype)));
    if (elements[i] < 0 || static_cast<uint64_t>(elements[i]) != held) {
      return BadPlan(what, " ", i, " has ", held, " elements, and the step's parameters make ", elements[i]);
    }
    total += buffer.bytes();
    if (total > kPlanMaxMemoryBytes) return BadPlan("its ", what, "s exceed an address space");
  }
  return absl::OkStatus();
}

// A whole tensor that is gathered or scattered, and the member's part of it, in elements.
struct WholeAndPart {
  int64_t whole = 0, part = 0;
};

absl::StatusOr<WholeAndPart> EqualParts(const fb::CollectiveStep& s, uint32_t members) {
  const int64_t given = s.elements()->Get(0), count = members;
  if (given < 0 || static_cast<uint64_t>(given) > kPlanMaxMemoryBytes / members) {
    return BadPlan(given, " elements for each of ", count, " members");
  }
  if (TraitsOf(s).parts == Parts::kInputs) return WholeAndPart{.whole = given * count, .part = given};
  if (given % count != 0) return BadPlan(given, " elements cannot be cut in ", count, " equal parts");
  return WholeAndPart{.whole = given, .part = given / count};
}

// Returns the part that all of the step's ranks have.
absl::StatusOr<int64_t> CommonPart(const StepToVerify& o, const fb::CollectiveStep& s) {
  const RankMesh mesh(o.plan);
  std::optional<int64_t> part, other;
  mesh.ForEachPosition(mesh.BoxOf(o.function), MaskOf(s.axes()), [&](uint32_t position) {
    const int64_t own = s.parts()->Get(position);
    if (!part.has_value()) part = own;
    if (own != *part) other = own;
    return !other.has_value();
  });
  if (!other.has_value()) return *part;
  return BadPlan("its ranks have parts of ", *part, " and ", *other, " elements, and share a function");
}

absl::StatusOr<WholeAndPart> WholeAndPartOf(const StepToVerify& o, const fb::CollectiveStep& s,
                                            const Members& members) {
  const uint32_t count = SizeOrZero(s.parts());
  if (count == 0 && SizeOrZero(s.axes()) > 0) return EqualParts(s, members.count);
  if (count != members.count) return BadPlan("it has ", count, " parts for ", members.count, " members");
  WholeAndPart sizes;
  for (const int64_t part : *s.parts()) {
    if (part < 0 || static_cast<uint64_t>(part) > kPlanMaxMemoryBytes)
      return BadPlan("a part of ", part, " elements");
    sizes.whole += part;  // Cannot overflow: at most 2^20 parts, all but the last of 2^47 together.
    if (static_cast<uint64_t>(sizes.whole) > kPlanMaxMemoryBytes) {
      return BadPlan("its parts exceed an address space");
    }
  }
  if (SizeOrZero(s.axes()) == 0) {
    sizes.part = s.parts()->Get(s.rank());
  } else {
    SINTER_ASSIGN_OR_RETURN(sizes.part, CommonPart(o, s));
  }
  return sizes;
}

absl::Status CheckNumbers(const StepToVerify& o, const fb::CollectiveStep& s, const Members& members) {
  std::vector<int64_t> elements, in, out;
  if (s.elements() != nullptr) elements.assign(s.elements()->begin(), s.elements()->end());
  if (!TraitsOf(s).has_list && elements.size() != 1) {
    return BadPlan("it has ", elements.size(), " numbers of elements, and ", Name(s.kind()),
                   " has one tensor");
  }
  in = out = elements;
  if (TraitsOf(s).parts != Parts::kNone) {
    SINTER_ASSIGN_OR_RETURN(const WholeAndPart sizes, WholeAndPartOf(o, s, members));
    const bool gathers = TraitsOf(s).parts == Parts::kInputs;
    in = {gathers ? sizes.part : sizes.whole};
    out = {gathers ? sizes.whole : sizes.part};
    if (elements != in) return BadPlan("it has ", elements[0], " elements, and its parts make ", in[0]);
  } else if (SizeOrZero(s.parts()) > 0) {
    return BadPlan("it has parts, and ", Name(s.kind()), " has none");
  }
  if (TraitsOf(s).has_equal_parts && elements[0] % members.count != 0) {
    return BadPlan(elements[0], " elements cannot be cut in ", members.count, " equal parts");
  }
  if (!members.has_inputs) in.clear();
  if (!members.has_outputs) out.clear();
  SINTER_RETURN_IF_ERROR(CheckOperands(o.inputs, "input", s.dtype(), in));
  return CheckOperands(o.outputs, "output", s.dtype(), out);
}

// The bytes of one operand.
struct Piece : BufferRange {
  size_t operand;

  static Piece Of(const fb::Buffer& buffer, size_t operand) { return {RangeOf(buffer), operand}; }
  bool Before(const Piece& other) const {
    return std::tie(space, index, begin) < std::tie(other.space, other.index, other.begin);
  }
};

// True if the output may overlap the input at these positions. Buffers of ranks that share a function have
// the same offsets, and their parts begin at others.
bool MayBeInPlace(const fb::CollectiveStep& s, const Members& members, const Piece& input,
                  const Piece& output) {
  if (!TraitsOf(s).may_be_in_place) return false;
  if (TraitsOf(s).has_list) return input.operand == output.operand && input.begin == output.begin;
  if (!members.rank.has_value()) return false;
  int64_t before = 0;
  for (uint32_t i = 0; i < *members.rank; ++i) {
    before += SizeOrZero(s.parts()) > 0             ? s.parts()->Get(i)
              : TraitsOf(s).parts == Parts::kInputs ? s.elements()->Get(0)
                                                    : s.elements()->Get(0) / members.count;
  }
  const uint64_t start =
      static_cast<uint64_t>(before) * static_cast<uint64_t>(SizeOf(static_cast<DType>(s.dtype())));
  return TraitsOf(s).parts == Parts::kInputs ? input.begin == output.begin + start
                                             : output.begin == input.begin + start;
}

absl::Status CheckOverlaps(const fb::CollectiveStep& s, const Members& members,
                           const std::vector<const fb::Buffer*>& inputs,
                           const std::vector<const fb::Buffer*>& outputs) {
  std::vector<Piece> written;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]->bytes() > 0) written.push_back(Piece::Of(*outputs[i], i));
  }
  std::ranges::sort(written, [](const Piece& a, const Piece& b) { return a.Before(b); });
  for (size_t i = 1; i < written.size(); ++i) {
    if (!written[i].Overlaps(written[i - 1])) continue;
    return BadPlan("its outputs ", std::min(written[i - 1].operand, written[i].operand), " and ",
                   std::max(written[i - 1].operand, written[i].operand), " overlap");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->bytes() == 0) continue;
    const Piece read = Piece::Of(*inputs[i], i);
    // Outputs do not overlap each other. So the outputs that overlap the input are consecutive, starting at
    // the output before the input's position.
    auto at =
        std::ranges::upper_bound(written, read, [](const Piece& a, const Piece& b) { return a.Before(b); });
    if (at != written.begin()) --at;
    for (; at != written.end() && (at->Overlaps(read) || at->Before(read)); ++at) {
      if (at->Overlaps(read) && !MayBeInPlace(s, members, read, *at)) {
        return BadPlan("its input ", i, " and output ", at->operand, " overlap, and are not in one place");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFlat(const std::vector<const fb::Buffer*>& buffers, const char* what) {
  for (size_t i = 1; i < buffers.size(); ++i) {
    const Piece before = Piece::Of(*buffers[i - 1], i - 1), next = Piece::Of(*buffers[i], i);
    const bool follows = before.space == next.space && before.index == next.index &&
                         next.begin >= before.end && next.begin - before.end < kFlatGap;
    if (!follows) return BadPlan("it is flat, and its ", what, " ", i, " does not follow the one before");
  }
  return absl::OkStatus();
}

// Compares the distances between flat tensors, up to the shorter list.
absl::Status CheckDistances(const std::vector<const fb::Buffer*>& a,
                            const std::vector<const fb::Buffer*>& b) {
  for (size_t i = 1; i < std::min(a.size(), b.size()); ++i) {
    if (a[i]->offset() - a[0]->offset() == b[i]->offset() - b[0]->offset()) continue;
    return BadPlan("it is flat, and its tensor ", i, " is not as far from the first everywhere");
  }
  return absl::OkStatus();
}

// Returns the member's list of tensors, which is the same on all members.
std::vector<const fb::Buffer*> TensorsOf(const fb::Function& function, const fb::Step& step) {
  return BuffersOf(function, SizeOrZero(step.inputs()) > 0 ? step.inputs() : step.outputs());
}

template <typename List>
bool SameList(const List* a, const List* b) {
  if (SizeOrZero(a) != SizeOrZero(b)) return false;
  return SizeOrZero(a) == 0 || std::equal(a->begin(), a->end(), b->begin());
}

// Names the first property in which two members differ that is no size. Empty if they agree.
std::string DifferenceOfKind(const fb::CollectiveStep& a, const fb::CollectiveStep& b) {
  if (a.kind() != b.kind()) return "kind";
  if (a.combine() != b.combine()) return "combination";
  if (a.dtype() != b.dtype()) return "element type";
  if (!SameList(a.group(), b.group())) return "group";
  if (!SameList(a.axes(), b.axes())) return "axes";
  if (a.root() != b.root()) return "root";
  if (a.is_flat() != b.is_flat()) return "flatness";
  return SizeOrZero(a.elements()) == SizeOrZero(b.elements()) ? "" : "number of tensors";
}

// The same for the sizes. Members of a gather with a list of parts have elements of their own.
std::string DifferenceOfSizes(const fb::CollectiveStep& a, const fb::CollectiveStep& b) {
  if (!SameList(a.parts(), b.parts())) return "parts";
  const bool has_own = TraitsOf(a).parts == Parts::kInputs && SizeOrZero(a.parts()) > 0;
  return has_own || SameList(a.elements(), b.elements()) ? "" : "elements";
}

std::string Difference(const fb::CollectiveStep& a, const fb::CollectiveStep& b) {
  const std::string of_kind = DifferenceOfKind(a, b);
  return of_kind.empty() ? DifferenceOfSizes(a, b) : of_kind;
}

// Checks that the preceding step is the member of the previous rank.
absl::Status CheckFollows(const fb::Function& function, uint32_t index, const fb::CollectiveStep& s) {
  const fb::CollectiveStep* const before =
      index == 0 ? nullptr : function.steps()->Get(index - 1)->body_as_CollectiveStep();
  if (before == nullptr || before->channel() != s.channel() || before->rank() + 1 != s.rank()) {
    return BadPlan("it is rank ", s.rank(), " of channel ", s.channel(), ", and the step before is not rank ",
                   s.rank() - 1);
  }
  if (const std::string difference = Difference(*before, s); !difference.empty()) {
    return BadPlan("it differs from rank ", before->rank(), " of channel ", s.channel(), " in its ",
                   difference);
  }
  if (!s.is_flat()) return absl::OkStatus();
  // All lower ranks are adjacent.
  const fb::Step& first = *function.steps()->Get(index - s.rank());
  return CheckDistances(TensorsOf(function, first), TensorsOf(function, *function.steps()->Get(index)));
}

absl::Status CheckIsFollowed(const fb::Function& function, uint32_t index, const fb::CollectiveStep& s) {
  if (s.rank() + 1 == s.group()->size()) return absl::OkStatus();
  const bool is_last = index + 1 == function.steps()->size();
  const fb::CollectiveStep* const next =
      is_last ? nullptr : function.steps()->Get(index + 1)->body_as_CollectiveStep();
  if (next != nullptr && next->channel() == s.channel()) return absl::OkStatus();
  return BadPlan("it is rank ", s.rank(), " of channel ", s.channel(), ", and the step behind is not rank ",
                 s.rank() + 1);
}

absl::Status CheckReasonText(const flatbuffers::String* text) {
  if (SizeOrZero(text) == 0 || text->size() > kPlanMaxReasonBytes) {
    return BadPlan("its text has ", SizeOrZero(text), " bytes, not 1 to ", kPlanMaxReasonBytes);
  }
  const bool is_plain =
      std::ranges::all_of(*text, [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
  return is_plain ? absl::OkStatus() : BadPlan("its text holds a control character");
}

absl::Status CheckReason(const fb::Plan& plan, const fb::ExchangeReason& reason) {
  SINTER_RETURN_IF_ERROR(CheckReasonText(reason.text()));
  if (!IsAligned(reason.locations())) return BadPlan("its list of lines is not aligned");
  if (SizeOrZero(reason.locations()) > kPlanMaxReasonLines) {
    return BadPlan("it has ", reason.locations()->size(), " lines: at most ", kPlanMaxReasonLines);
  }
  for (uint32_t i = 0; i < SizeOrZero(reason.locations()); ++i) {
    const uint32_t location = reason.locations()->Get(i);
    if (location < SizeOrZero(plan.locations())) continue;
    return BadPlan("source location ", location, " of ", SizeOrZero(plan.locations()));
  }
  return absl::OkStatus();
}

absl::Status InReason(const char* what, uint32_t index, const absl::Status& status) {
  return status.ok() ? status : BadPlan(what, " ", index, ": ", std::string(status.message()));
}

}  // namespace

absl::Status VerifyExchangeReasons(const fb::Plan& plan) {
  const uint32_t reasons = SizeOrZero(plan.exchange_reasons()), notes = SizeOrZero(plan.whole_notes());
  if (std::max(reasons, notes) > kPlanMaxReasons) {
    return BadPlan("it has ", std::max(reasons, notes), " reasons: at most ", kPlanMaxReasons);
  }
  for (uint32_t i = 0; i < reasons; ++i) {
    SINTER_RETURN_IF_ERROR(
        InReason("exchange reason", i, CheckReason(plan, *plan.exchange_reasons()->Get(i))));
  }
  for (uint32_t i = 0; i < notes; ++i) {
    SINTER_RETURN_IF_ERROR(InReason("note", i, CheckReasonText(plan.whole_notes()->Get(i))));
  }
  return absl::OkStatus();
}

absl::Status VerifyCollective(const StepToVerify& o) {
  const fb::CollectiveStep& s = *o.step.body_as_CollectiveStep();
  SINTER_RETURN_IF_ERROR(CheckEnums(s));
  if (s.reason() > SizeOrZero(o.plan.exchange_reasons())) {
    return BadPlan("its reason is ", s.reason(), " of ", SizeOrZero(o.plan.exchange_reasons()));
  }
  SINTER_ASSIGN_OR_RETURN(const Members members, SizeOrZero(s.axes()) > 0
                                                     ? MembersOverAxes(o.plan, o.function, s)
                                                     : MembersOfGroup(o.plan, o.step, s));
  SINTER_RETURN_IF_ERROR(CheckNumbers(o, s, members));
  SINTER_RETURN_IF_ERROR(CheckOverlaps(s, members, o.inputs, o.outputs));
  if (!s.is_flat()) return absl::OkStatus();
  SINTER_RETURN_IF_ERROR(CheckFlat(o.inputs, "input"));
  SINTER_RETURN_IF_ERROR(CheckFlat(o.outputs, "output"));
  return CheckDistances(o.inputs, o.outputs);
}

std::string CollectiveText(const fb::Plan& plan, const fb::Step& step) {
  const fb::CollectiveStep& s = *step.body_as_CollectiveStep();
  if (SizeOrZero(s.group()) == 0) {
    return absl::StrCat(Name(s.kind()), " over ", AxisNames(plan, s.axes()), ", epoch ", s.epoch());
  }
  return absl::StrCat(Name(s.kind()), ", rank ", s.rank(), " of ", s.group()->size());
}

std::string_view CollectiveStepName(const fb::Step& step) {
  return CollectiveName(step.body_as_CollectiveStep()->kind());
}

absl::Status VerifyCollectiveOrder(const fb::Function& function, uint32_t step, CollectiveOrder& order) {
  const fb::CollectiveStep* const s = function.steps()->Get(step)->body_as_CollectiveStep();
  if (s == nullptr) return absl::OkStatus();
  const bool is_first = SizeOrZero(s->axes()) > 0 || s->rank() == 0;
  if (is_first && !order.channels.insert(s->channel()).second) {
    return BadPlan("channel ", s->channel(), " is used twice");
  }
  if (SizeOrZero(s->axes()) > 0) {
    if (order.epoch.has_value() && s->epoch() <= *order.epoch) {
      return BadPlan("its epoch is ", s->epoch(), ", and the exchange before has epoch ", *order.epoch,
                     ": epochs rise");
    }
    order.epoch = s->epoch();
    return absl::OkStatus();
  }
  if (!is_first) SINTER_RETURN_IF_ERROR(CheckFollows(function, step, *s));
  return CheckIsFollowed(function, step, *s);
}

absl::Status VerifyMeeting(const fb::Function& function, const fb::Step& step, const fb::Function& other,
                           const fb::Step& other_step, bool has_common_group) {
  const fb::CollectiveStep& a = *step.body_as_CollectiveStep();
  const fb::CollectiveStep& b = *other_step.body_as_CollectiveStep();
  std::string difference = a.epoch() != b.epoch()                 ? "epoch"
                           : a.channel() != b.channel()           ? "channel"
                           : step.device() != other_step.device() ? "device"
                                                                  : DifferenceOfKind(a, b);
  if (difference.empty() && has_common_group) difference = DifferenceOfSizes(a, b);
  if (!difference.empty()) return BadPlan(Name(a.kind()), " differs in its ", difference);
  if (!a.is_flat() || !has_common_group) return absl::OkStatus();
  return CheckDistances(TensorsOf(function, step), TensorsOf(other, other_step));
}

}  // namespace sinter
