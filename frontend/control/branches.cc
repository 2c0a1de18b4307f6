#include "sinter/frontend/control/branches.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::internal_branches {

bool CheckTypes(const char* name, const std::vector<Tensor>& tensors, const std::vector<Tensor>& others,
                Where where) {
  if (tensors.empty() && others.empty()) return true;
  std::vector<Tensor> all = others;
  all.insert(all.end(), tensors.begin(), tensors.end());
  Call call(absl::StrCat("return of a body of ", name), where, std::move(all));
  if (!call.ok()) return false;
  if (tensors.size() != others.size()) {
    call.Fail(absl::StrCat("gives ", tensors.size(), " tensors, and another body ", others.size(),
                           "; expected the same tree"));
    return false;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dtype() == others[i].dtype() && tensors[i].shape() == others[i].shape()) continue;
    call.Fail(absl::StrCat("gives ", tensors[i].ToString(), " as tensor ", i, ", and another body ",
                           others[i].ToString(), "; expected the same types"));
    return false;
  }
  return true;
}

Tensor IsChosen(const Tensor& index, int64_t i, int64_t count, Where where) {
  Call call("Switch", where, {index});
  if (!call.ok()) return {};
  if (index.rank() != 0 || (index.dtype() != DType::kI32 && index.dtype() != DType::kI64)) {
    return call.Fail("expected an index of type i32[] or i64[]");
  }
  const LocationScope scope(&call.graph(), where, "Switch");
  if (count == 1) return Equal(index, index);
  if (i == 0) return index <= 0;
  return i == count - 1 ? index >= i : Equal(index, i);
}

Tensor IsNot(const Tensor& condition, Where where) {
  Call call("Cond", where, {condition});
  if (!call.ok()) return {};
  if (std::string why = internal_loops::WhyNoGuard(condition); !why.empty()) return call.Fail(why);
  const LocationScope scope(&call.graph(), where, "Cond");
  return !condition;
}

void FailWithoutBranches(const Tensor& index, Where where) {
  Call call("Switch", where, {index});
  if (call.ok()) call.Fail("has no bodies; expected at least one");
}

}  // namespace sinter::internal_branches
