#include "sinter/ir/dialect/sharding.h"

#include "llvm/Support/ErrorHandling.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter::ir {

Sharding Sharding::Whole(mlir::RankedTensorType type) {
  Sharding sharding;
  for (int64_t size : type.getShape()) sharding.dims.push_back({Extent{size}});
  return sharding;
}

Sharding Sharding::Of(ShardingAttr attribute) {
  Sharding sharding;
  for (auto dim : attribute.getDims().getAsRange<mlir::ArrayAttr>()) {
    auto& extents = sharding.dims.emplace_back();
    for (auto one : dim.getAsRange<mlir::ArrayAttr>()) {
      Extent& extent = extents.emplace_back(Extent{llvm::cast<mlir::IntegerAttr>(one[0]).getInt()});
      for (mlir::Attribute axis : one.getValue().drop_front()) {
        extent.axes.push_back(llvm::cast<mlir::StringAttr>(axis));
      }
    }
  }
  sharding.combine = attribute.getCombine();
  sharding.partial.assign(attribute.getPartial().begin(), attribute.getPartial().end());
  return sharding;
}

mlir::StringAttr Sharding::repeatedAxis() const {
  llvm::SmallVector<mlir::StringAttr> all(partial.begin(), partial.end());
  for (const auto& dim : dims) {
    for (const Extent& extent : dim) llvm::append_range(all, extent.axes);
  }
  for (auto [i, axis] : llvm::enumerate(all)) {
    if (llvm::is_contained(llvm::ArrayRef(all).take_front(i), axis)) return axis;
  }
  return {};
}

ShardingAttr Sharding::attribute(mlir::MLIRContext* context) const {
  if (repeatedAxis()) llvm::report_fatal_error(llvm::Twine("an axis cuts a value twice: ") + text());
  mlir::Builder builder(context);
  llvm::SmallVector<mlir::Attribute> all;
  for (const auto& dim : dims) {
    llvm::SmallVector<mlir::Attribute> extents;
    for (const Extent& extent : dim) {
      llvm::SmallVector<mlir::Attribute> one = {builder.getI64IntegerAttr(extent.size)};
      one.append(extent.axes.begin(), extent.axes.end());
      extents.push_back(builder.getArrayAttr(one));
    }
    all.push_back(builder.getArrayAttr(extents));
  }
  return ShardingAttr::get(context, builder.getArrayAttr(all), combine, partial);
}

bool Sharding::isWhole() const {
  return partial.empty() && llvm::all_of(dims, [](const auto& dim) {
           return llvm::all_of(dim, [](const Extent& extent) { return extent.axes.empty(); });
         });
}

bool Sharding::isCutBy(mlir::StringAttr axis) const {
  return llvm::any_of(dims, [&](const auto& dim) {
    return llvm::any_of(dim, [&](const Extent& extent) { return llvm::is_contained(extent.axes, axis); });
  });
}

void Sharding::cut(int64_t dim, mlir::StringAttr axis) { dims[dim].front().axes.push_back(axis); }

// An extent in even parts takes in the uncut extents inside of it: [8 data * 4] has the parts of [32 data].
Sharding Sharding::canonical(MeshAttr mesh) const {
  Sharding result = *this;
  llvm::sort(result.partial,
             [&](mlir::StringAttr a, mlir::StringAttr b) { return *mesh.find(a) < *mesh.find(b); });
  for (auto& dim : result.dims) {
    llvm::SmallVector<Extent, 1> joined;
    for (Extent& extent : dim) {
      if (extent.size == 1 && extent.axes.empty()) continue;
      const bool joins = !joined.empty() && extent.axes.empty() &&
                         joined.back().size % CountParts(mesh, joined.back().axes) == 0;
      if (joins) {
        joined.back().size *= extent.size;
      } else {
        joined.push_back(std::move(extent));
      }
    }
    if (joined.empty()) joined.push_back(Extent{1});
    dim = std::move(joined);
  }
  return result;
}

int64_t CountParts(MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> axes) {
  int64_t count = 1;
  for (mlir::StringAttr axis : axes) count *= mesh.getSizes()[*mesh.find(axis)];
  return count;
}

std::string Sharding::text() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(dims, stream, [&](const auto& dim) {
    llvm::interleave(
        dim, stream,
        [&](const Extent& extent) {
          stream << extent.size;
          for (mlir::StringAttr axis : extent.axes) stream << ' ' << axis.getValue();
        },
        " * ");
  });
  stream << ']';
  if (!partial.empty()) stream << " partial " << stringifyReduceKind(*combine);
  for (mlir::StringAttr axis : partial) stream << ' ' << axis.getValue();
  return text;
}

Sharding ShardingOf(mlir::Value value) {
  ShardingAttr attribute;
  if (auto reshard = value.getDefiningOp<ReshardOp>()) {
    attribute = reshard.getTo();
  } else if (auto result = llvm::dyn_cast<mlir::OpResult>(value)) {
    auto all = result.getOwner()->getAttrOfType<mlir::ArrayAttr>(kShardingAttr);
    if (all) attribute = llvm::cast<ShardingAttr>(all[result.getResultNumber()]);
  } else {
    auto argument = llvm::cast<mlir::BlockArgument>(value);
    auto function = llvm::dyn_cast<mlir::FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (function) attribute = function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), kShardingAttr);
  }
  return attribute ? Sharding::Of(attribute) : Sharding::Whole(TypeOf(value));
}

void SetShardingOf(mlir::Value value, const Sharding& sharding) {
  ShardingAttr attribute = sharding.attribute(value.getContext());
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    auto function = llvm::cast<mlir::FunctionOpInterface>(argument.getOwner()->getParentOp());
    function.setArgAttr(argument.getArgNumber(), kShardingAttr, attribute);
    return;
  }
  auto result = llvm::cast<mlir::OpResult>(value);
  mlir::Operation* op = result.getOwner();
  llvm::SmallVector<mlir::Attribute> all;
  for (mlir::Value other : op->getResults()) {
    all.push_back(other == value ? attribute : ShardingOf(other).attribute(value.getContext()));
  }
  op->setDiscardableAttr(kShardingAttr, mlir::ArrayAttr::get(value.getContext(), all));
}

// <[64 data, 3 * 12 tensor * 64] partial sum data>
mlir::Attribute ShardingAttr::parse(mlir::AsmParser& parser, mlir::Type) {
  Sharding sharding;
  auto axes = [&](llvm::SmallVectorImpl<mlir::StringAttr>& names) {
    llvm::StringRef name;
    while (mlir::succeeded(parser.parseOptionalKeyword(&name))) {
      names.push_back(parser.getBuilder().getStringAttr(name));
    }
  };
  auto dim = [&]() -> mlir::ParseResult {
    auto& extents = sharding.dims.emplace_back();
    do {
      Extent& extent = extents.emplace_back(Extent{0});
      if (parser.parseInteger(extent.size)) return mlir::failure();
      llvm::SmallVector<mlir::StringAttr> names;
      axes(names);
      extent.axes.assign(names.begin(), names.end());
    } while (mlir::succeeded(parser.parseOptionalStar()));
    return mlir::success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, dim))
    return {};
  if (mlir::succeeded(parser.parseOptionalKeyword("partial"))) {
    llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef kind;
    if (parser.parseKeyword(&kind)) return {};
    sharding.combine = symbolizeReduceKind(kind);
    llvm::SmallVector<mlir::StringAttr> names;
    axes(names);
    if (!sharding.combine || names.empty()) {
      parser.emitError(loc)
          << "expected how the terms combine and the axes that have them, as in \"partial sum data\"";
      return {};
    }
    sharding.partial.assign(names.begin(), names.end());
  }
  if (mlir::StringAttr axis = sharding.repeatedAxis()) {
    parser.emitError(parser.getNameLoc())
        << "axis " << axis << " is named twice: it cuts one extent, or its ranks have terms";
    return {};
  }
  if (parser.parseGreater()) return {};
  return sharding.attribute(parser.getContext());
}

void ShardingAttr::print(mlir::AsmPrinter& printer) const {
  printer << '<' << Sharding::Of(*this).text() << '>';
}

}  // namespace sinter::ir
