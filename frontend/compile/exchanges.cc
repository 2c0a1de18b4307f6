#include "sinter/frontend/compile/exchanges.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/frontend/compile/find_exchanges.h"
#include "sinter/frontend/graph/diagnostics.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/program/collective.h"

namespace sinter {

namespace {

Exchange Describe(const ir::Collective& collective, std::string function) {
  mlir::Operation* op = collective.op;
  Exchange exchange{.function = std::move(function),
                    .kind = op->getName().stripDialect().str(),
                    .ranks = collective.Size(),
                    .tensors = op->getNumOperands(),
                    .line = LocationString(op->getLoc())};
  for (mlir::StringAttr axis : collective.axes) exchange.axes.push_back(axis.str());
  for (mlir::Value operand : op->getOperands()) {
    exchange.bytes += plan_ir::TensorBytes(ir::TypeOf(operand));
  }
  if (auto because = op->getAttrOfType<mlir::ArrayAttr>(ir::kBecauseAttr)) {
    exchange.because = absl::StrCat(llvm::cast<mlir::StringAttr>(because[0]).str(), " (",
                                    LocationString(llvm::cast<mlir::LocationAttr>(because[1])), ")");
  }
  return exchange;
}

}  // namespace

std::vector<Exchange> FindExchanges(mlir::ModuleOp module) {
  std::vector<Exchange> exchanges;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    const auto variant = function->getAttrOfType<mlir::StringAttr>(ir::kVariantOfAttr);
    if (variant && function.getSymName() != variant.str() + "#0") continue;
    function.walk([&](mlir::Operation* op) {
      const auto collective = ir::Collective::Of(op);
      if (!collective || collective->axes.empty()) return;
      exchanges.push_back(Describe(*collective, variant ? variant.str() : function.getSymName().str()));
    });
  }
  return exchanges;
}

std::string Exchange::ToString() const {
  std::string text =
      absl::StrCat(line, ": ", function, ": ", kind, " over ", absl::StrJoin(axes, ", "), " (", ranks,
                   " ranks), ", tensors, tensors == 1 ? " tensor, " : " tensors, ", bytes, " bytes");
  if (!because.empty()) absl::StrAppend(&text, ": ", because);
  return text;
}

int64_t ExchangedBytes(const std::vector<Exchange>& exchanges, std::string_view kind, std::string_view axis) {
  int64_t bytes = 0;
  for (const Exchange& exchange : exchanges) {
    if (!kind.empty() && exchange.kind != kind) continue;
    if (!axis.empty() && std::find(exchange.axes.begin(), exchange.axes.end(), axis) == exchange.axes.end())
      continue;
    bytes += exchange.bytes;
  }
  return bytes;
}

}  // namespace sinter
