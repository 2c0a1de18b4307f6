// The part of plan_verifier.h that compares functions of one name, which run on different ranks.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"

namespace sinter {
namespace {

using PortList = flatbuffers::Vector<flatbuffers::Offset<fb::Port>>;

bool IsSameType(const fb::TensorType& a, const fb::TensorType& b) {
  if (a.dtype() != b.dtype() || SizeOrZero(a.shape()) != SizeOrZero(b.shape())) return false;
  for (uint32_t i = 0; i < SizeOrZero(a.shape()); ++i) {
    if (a.shape()->Get(i) != b.shape()->Get(i)) return false;
  }
  return true;
}

absl::Status ComparePorts(const PortList* a, const PortList* b, const char* what) {
  if (SizeOrZero(a) != SizeOrZero(b)) {
    return BadPlan("they have ", SizeOrZero(a), " and ", SizeOrZero(b), " ", what, "s");
  }
  for (uint32_t i = 0; i < SizeOrZero(a); ++i) {
    const fb::Port& one = *a->Get(i);
    const fb::Port& other = *b->Get(i);
    if (View(one.name()) != View(other.name())) return BadPlan(what, " ", i, " differs in its name");
    if (!IsSameType(*one.type(), *other.type())) return BadPlan(what, " ", i, " differs in its type");
  }
  return absl::OkStatus();
}

// Returns the exchanges over axes, in the order of the function.
std::vector<const fb::Step*> ExchangesOf(const fb::Function& function) {
  std::vector<const fb::Step*> exchanges;
  for (uint32_t i = 0; i < SizeOrZero(function.steps()); ++i) {
    const fb::Step& step = *function.steps()->Get(i);
    const fb::CollectiveStep* const collective = step.body_as_CollectiveStep();
    if (collective != nullptr && SizeOrZero(collective->axes()) > 0) exchanges.push_back(&step);
  }
  return exchanges;
}

}  // namespace

absl::Status VerifyVariantPair(const fb::Plan& plan, const fb::Function& a, const fb::Function& b) {
  SINTER_RETURN_IF_ERROR(ComparePorts(a.inputs(), b.inputs(), "input"));
  SINTER_RETURN_IF_ERROR(ComparePorts(a.outputs(), b.outputs(), "output"));
  const std::vector<const fb::Step*> one = ExchangesOf(a), other = ExchangesOf(b);
  if (one.size() != other.size()) {
    return BadPlan("they have ", one.size(), " and ", other.size(), " exchanges: some would wait forever");
  }
  const RankMesh mesh(plan);
  const RankBox box = mesh.BoxOf(a), other_box = mesh.BoxOf(b);
  for (size_t i = 0; i < one.size(); ++i) {
    const AxisMask axes = MaskOf(one[i]->body_as_CollectiveStep()->axes());
    const absl::Status same = VerifyMeeting(a, *one[i], b, *other[i], box.Meets(other_box, axes));
    if (!same.ok()) return BadPlan("exchange ", i, ": ", std::string(same.message()));
  }
  return absl::OkStatus();
}

}  // namespace sinter
