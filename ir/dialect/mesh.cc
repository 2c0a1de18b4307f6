#include "sinter/ir/dialect/mesh.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

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
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    llvm::ArrayRef<mlir::StringAttr>(names), llvm::ArrayRef<int64_t>(sizes));
}

void MeshAttr::print(mlir::AsmPrinter& printer) const {
  printer << '<';
  llvm::interleaveComma(llvm::zip(getNames(), getSizes()), printer, [&](auto axis) {
    printer.printKeywordOrString(std::get<0>(axis).getValue());
    printer << ' ' << std::get<1>(axis);
  });
  printer << '>';
}

// box
// -----------------------------------------------------------------------------------------------------------

namespace {

// Multiplies the sizes of the extents of each dimension: the shape of the part. nullopt if the extents are
// not a view of the shape. Extents of 1 belong to either neighbour.
std::optional<llvm::SmallVector<int64_t>> PartShape(llvm::ArrayRef<int64_t> shape,
                                                    llvm::ArrayRef<int64_t> extents,
                                                    llvm::ArrayRef<int64_t> sizes) {
  llvm::SmallVector<int64_t> part;
  size_t i = 0;
  for (int64_t size : shape) {
    int64_t product = 1;
    part.push_back(1);
    for (; i < extents.size() && (product < size || extents[i] == 1); ++i) {
      product = MultiplySizes(product, extents[i]);
      part.back() *= sizes[i];
    }
    if (product != size) return std::nullopt;
  }
  if (i < extents.size()) return std::nullopt;
  return part;
}

// True if the first iterations are all multiples of `size` below `extent`, and no other number. An axis of n
// ranks with a step of t parts goes on from the parts before it without a gap if t is at most their number.
bool CoversExtent(int64_t extent, int64_t size, llvm::ArrayRef<int64_t> first,
                  llvm::ArrayRef<int64_t> ranks) {
  if (first.empty()) return size == extent;
  if (extent % size != 0) return false;
  llvm::SmallVector<std::pair<int64_t, int64_t>> steps;  // In parts, and their number.
  int64_t negative = 0;                                  // Sum of the strides that lead down.
  for (auto [stride, count] : llvm::zip(first.drop_front(), ranks)) {
    if (stride == 0 || count == 1) continue;
    if (stride % size != 0 || stride <= -extent || stride >= extent) return false;
    if (stride < 0) negative = AddSizes(negative, MultiplySizes(-stride, count - 1));
    steps.push_back({std::abs(stride) / size, count - 1});
  }
  llvm::sort(steps);
  int64_t parts = 1;
  for (auto [step, count] : steps) {
    if (step > parts) return false;
    parts = AddSizes(parts, MultiplySizes(step, count));
  }
  return first[0] == negative && parts == extent / size;
}

}  // namespace

mlir::RankedTensorType BoxAttr::partType() const {
  return mlir::RankedTensorType::get(*PartShape(getWhole().getShape(), getExtents(), getSizes()),
                                     getWhole().getElementType());
}

BoxAttr BoxAttr::withElement(mlir::Type element) const {
  auto whole = mlir::RankedTensorType::get(getWhole().getShape(), element);
  return get(getContext(), whole, getExtents(), getSizes(), getFirsts());
}

mlir::LogicalResult BoxAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> error,
                                    mlir::RankedTensorType whole, llvm::ArrayRef<int64_t> extents,
                                    llvm::ArrayRef<int64_t> sizes,
                                    llvm::ArrayRef<mlir::DenseI64ArrayAttr> firsts) {
  if (!whole.hasStaticShape()) return error() << "a box of " << whole << "; expected a static shape";
  if (const std::string fault = ShapeFault(whole.getShape()); !fault.empty()) {
    return error() << "a box of " << whole << ", which " << fault;
  }
  if (sizes.size() != extents.size() || firsts.size() != extents.size()) {
    return error() << "a box has " << extents.size() << " extents, " << sizes.size() << " sizes and "
                   << firsts.size() << " firsts; expected a size and a first for each extent";
  }
  for (auto [extent, size] : llvm::zip(extents, sizes)) {
    if (size >= 1 && size <= extent) continue;
    return error() << "a box has " << size << " of " << extent
                   << " iterations of an extent; expected at least one and at most all";
  }
  if (PartShape(whole.getShape(), extents, sizes)) return mlir::success();
  return error() << "a box has the extents [" << extents << "], which are no view of " << whole
                 << "; expected for each dimension extents whose product it is";
}

mlir::LogicalResult CheckBox(mlir::Operation* variable, mlir::RankedTensorType type, mlir::Attribute box) {
  auto attribute = llvm::dyn_cast<BoxAttr>(box);
  if (!attribute) {
    return variable->emitOpError()
           << "has " << kBoxAttr << " = " << box
           << "; expected a box, such as #sinter.box<[2 of 4 from [0, 2]] of tensor<4xf32>>";
  }
  if (type != attribute.partType()) {
    return variable->emitOpError() << "is of type " << type << ", and its box is of type "
                                   << attribute.partType() << "; expected equal types";
  }
  MeshAttr mesh = MeshOf(variable);
  const size_t axes = mesh ? mesh.getSizes().size() : 0;
  llvm::SmallVector<int64_t> moved(axes, -1);  // The extent along which an axis moves the box.
  for (size_t i = 0; i < attribute.getExtents().size(); ++i) {
    llvm::ArrayRef<int64_t> first = attribute.getFirsts()[i];
    if (!first.empty() && first.size() != axes + 1) {
      return variable->emitOpError() << "has a box whose extent " << i << " begins at [" << first
                                     << "]; expected a constant, and a stride for each of the " << axes
                                     << " axes of the module's mesh";
    }
    for (size_t axis = 0; !first.empty() && axis < axes; ++axis) {
      if (first[axis + 1] == 0 || mesh.getSizes()[axis] == 1) continue;
      if (moved[axis] >= 0) {
        return variable->emitOpError()
               << "has a box that axis " << mesh.getNames()[axis] << " moves along extents " << moved[axis]
               << " and " << i << "; expected one extent";
      }
      moved[axis] = i;
    }
    const int64_t extent = attribute.getExtents()[i], size = attribute.getSizes()[i];
    if (CoversExtent(extent, size, first, mesh ? mesh.getSizes() : llvm::ArrayRef<int64_t>())) continue;
    return variable->emitOpError() << "has a box with " << size << " of " << extent
                                   << " iterations of extent " << i << ", from [" << first
                                   << "]; expected parts that begin at the multiples of " << size << " below "
                                   << extent << ", and nowhere else";
  }
  return mlir::success();
}

mlir::LogicalResult CheckSumAxes(mlir::Operation* variable, mlir::RankedTensorType type,
                                 mlir::Attribute axes) {
  if (!type.getElementType().isF32() && !type.getElementType().isF64()) {
    return variable->emitOpError() << "of type " << type << " has the attribute " << kSumAxesAttr
                                   << "; expected it on variables of f32 and f64";
  }
  MeshAttr mesh = MeshOf(variable);
  auto list = llvm::dyn_cast<mlir::ArrayAttr>(axes);
  std::optional<size_t> last;
  bool is_list = mesh && list && !list.empty();
  for (size_t i = 0; is_list && i < list.size(); ++i) {
    auto name = llvm::dyn_cast<mlir::StringAttr>(list[i]);
    const std::optional<size_t> axis = name ? mesh.find(name) : std::nullopt;
    is_list = axis && (!last || *axis > *last);
    last = axis;
  }
  if (is_list) return mlir::success();
  return variable->emitOpError() << "has " << kSumAxesAttr << " = " << axes
                                 << "; expected axes of the module's mesh, in its order";
}

// <[768, 3, 6 of 12 from [0, 0, 6], 64] of tensor<768x2304xf32>>
mlir::Attribute BoxAttr::parse(mlir::AsmParser& parser, mlir::Type) {
  llvm::SmallVector<int64_t> extents, sizes;
  llvm::SmallVector<mlir::DenseI64ArrayAttr> firsts;
  auto extent = [&]() -> mlir::ParseResult {
    llvm::SmallVector<int64_t> first;
    if (parser.parseInteger(sizes.emplace_back())) return mlir::failure();
    extents.push_back(sizes.back());
    if (mlir::succeeded(parser.parseOptionalKeyword("of")) && parser.parseInteger(extents.back())) {
      return mlir::failure();
    }
    if (mlir::succeeded(parser.parseOptionalKeyword("from")) &&
        parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square,
                                       [&] { return parser.parseInteger(first.emplace_back()); })) {
      return mlir::failure();
    }
    firsts.push_back(mlir::DenseI64ArrayAttr::get(parser.getContext(), first));
    return mlir::success();
  };
  llvm::SMLoc loc = parser.getCurrentLocation();
  mlir::RankedTensorType whole;
  if (parser.parseLess() || parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, extent) ||
      parser.parseKeyword("of") || parser.parseType(whole) || parser.parseGreater()) {
    return {};
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), whole,
                    llvm::ArrayRef<int64_t>(extents), llvm::ArrayRef<int64_t>(sizes),
                    llvm::ArrayRef<mlir::DenseI64ArrayAttr>(firsts));
}

void BoxAttr::print(mlir::AsmPrinter& printer) const {
  printer << "<[";
  llvm::interleaveComma(llvm::zip(getExtents(), getSizes(), getFirsts()), printer, [&](auto one) {
    auto [extent, size, first] = one;
    printer << size;
    if (size != extent) printer << " of " << extent;
    if (first.empty()) return;
    printer << " from [";
    llvm::interleaveComma(first.asArrayRef(), printer);
    printer << ']';
  });
  printer << "] of " << getWhole() << '>';
}

}  // namespace sinter::ir
