#include "sinter/ir/dialect/mesh.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter::ir {

MeshAttr MeshOf(mlir::Operation* op) {
  auto module = llvm::dyn_cast<mlir::ModuleOp>(op);
  if (!module) module = op->getParentOfType<mlir::ModuleOp>();
  return module ? module->getAttrOfType<MeshAttr>(kMeshAttr) : MeshAttr();
}

int64_t MeshAttr::ranks() const {
  int64_t count = 1;
  for (int64_t size : getSizes()) count *= size;
  return count;
}

std::optional<size_t> MeshAttr::find(mlir::StringAttr name) const {
  const auto* found = llvm::find(getNames(), name);
  if (found == getNames().end()) return std::nullopt;
  return found - getNames().begin();
}

mlir::LogicalResult MeshAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> error,
                                     llvm::ArrayRef<mlir::StringAttr> names, llvm::ArrayRef<int64_t> sizes) {
  constexpr int64_t kMostRanks = int64_t{1} << 20;
  if (names.empty() || names.size() != sizes.size()) {
    return error() << "a mesh has " << names.size() << " axes and " << sizes.size()
                   << " sizes; expected at least one axis, and a size for each";
  }
  int64_t ranks = 1;
  for (auto [i, name] : llvm::enumerate(names)) {
    if (llvm::is_contained(names.take_front(i), name)) {
      return error() << "a mesh has two axes named " << name.getValue();
    }
    if (sizes[i] < 1 || sizes[i] > kMostRanks / ranks) {
      return error() << "axis " << name.getValue() << " of a mesh has the size " << sizes[i]
                     << "; expected 1 or more, and at most " << kMostRanks << " ranks in all";
    }
    ranks *= sizes[i];
  }
  return mlir::success();
}

// <data 2, tensor 4>
mlir::Attribute MeshAttr::parse(mlir::AsmParser& parser, mlir::Type) {
  llvm::SmallVector<mlir::StringAttr> names;
  llvm::SmallVector<int64_t> sizes;
  auto axis = [&]() -> mlir::ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseInteger(sizes.emplace_back()))
      return mlir::failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    return mlir::success();
  };
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::LessGreater, axis)) return {};
  return parser.getChecked<MeshAttr>(loc, parser.getContext(), names, sizes);
}

void MeshAttr::print(mlir::AsmPrinter& printer) const {
  printer << '<';
  llvm::interleaveComma(llvm::zip(getNames(), getSizes()), printer, [&](auto axis) {
    printer.printKeywordOrString(std::get<0>(axis).getValue());
    printer << ' ' << std::get<1>(axis);
  });
  printer << '>';
}

}  // namespace sinter::ir
