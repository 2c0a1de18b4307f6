#include "sinter/frontend/optim/rule.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/optim/touched_rows.h"
#include "sinter/frontend/optim/update.h"

namespace sinter::optim {

Parameter::Parameter(Update& update, Variable of, Tensor current, Tensor its_gradient, const Rows* rows)
    : variable(std::move(of)),
      value(std::move(current)),
      gradient(std::move(its_gradient)),
      update_(&update),
      rows_(rows) {}

Variable Parameter::SlotVariable(std::string_view slot, const Shape& shape) {
  auto found = slots_.find(slot);
  if (found == slots_.end()) {
    const Variable made = update_->Slot(variable, slot, shape);
    if (!made.ok()) return {};
    found = slots_.emplace(std::string(slot), made).first;
  }
  if (found->second.shape() == shape) return found->second;
  Fail(absl::StrCat("uses the slot \"", std::string(slot), "\" of \"", variable.name(),
                    "\" with two shapes, ", TypeString(value.dtype(), found->second.shape()), " and ",
                    TypeString(value.dtype(), shape)));
  return {};
}

Tensor Parameter::Slot(std::string_view slot) { return Slot(slot, variable.shape()); }

Tensor Parameter::Slot(std::string_view slot, const Shape& shape) {
  if (update_->failed()) return {};
  if (rows_ && shape != variable.shape() && !shape.empty()) {
    return Fail(absl::StrCat("has a slot \"", std::string(slot), "\" of \"", variable.name(),
                             "\" for all of its rows; leave out touched_rows_only"));
  }
  const Variable found = SlotVariable(slot, shape);
  if (!found.ok()) return {};
  const Tensor now = update_->Read(found);
  return rows_ && !shape.empty() ? rows_->Of(now, update_->where()) : now;
}

void Parameter::SetSlot(std::string_view slot, const Tensor& next) {
  if (!next.ok() || update_->failed()) return;
  const bool is_of_rows = rows_ && next.shape() == value.shape();
  const Variable found = SlotVariable(slot, is_of_rows ? variable.shape() : next.shape());
  if (!found.ok()) return;
  if (is_of_rows) {
    update_->AssignRows(found, *rows_, next);
  } else {
    update_->Assign(found, next);
  }
}

Operand Parameter::At(const Hyper& hyper) { return update_->Value(hyper, value); }

Operand Parameter::OneMinus(const Hyper& hyper) {
  if (hyper.is_number()) return 1 - hyper.number();
  return 1 - At(hyper);
}

Tensor Parameter::BiasCorrection(const Hyper& beta) {
  return Cast(update_->BiasCorrection(beta), value.dtype());
}

Tensor Parameter::Step() { return Cast(update_->StepNumber(), value.dtype()); }

Tensor Parameter::Fail(std::string_view message) {
  update_->Fail(message);
  return {};
}

}  // namespace sinter::optim
