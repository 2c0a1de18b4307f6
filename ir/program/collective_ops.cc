
#include <numeric>

#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/program/collective.h"

#define GET_OP_CLASSES
#include "ir/collective_ops.cc.inc"

namespace sinter::ir {

using mlir::LogicalResult;
using mlir::RankedTensorType;

void AddCollectiveOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/collective_ops.cc.inc"
      >();
}

std::optional<Collective> Collective::Of(mlir::Operation* op) {
  auto member = llvm::dyn_cast<CollectiveInterface>(op);
  if (!member) return std::nullopt;
  Collective collective{op, {}, {}, member.getChannel()};
  for (mlir::Attribute one : member.getGroup()) {
    if (auto device = llvm::dyn_cast<DeviceAttr>(one)) collective.group.push_back(device);
    if (auto axis = llvm::dyn_cast<mlir::StringAttr>(one)) collective.axes.push_back(axis);
  }
  return collective;
}

int64_t Collective::Rank() const {
  auto found = llvm::find(group, DeviceOf(op));
  return found == group.end() ? -1 : found - group.begin();
}

int64_t Collective::Size() const {
  if (axes.empty()) return static_cast<int64_t>(group.size());
  MeshAttr mesh = MeshOf(op);
  int64_t size = 1;
  for (mlir::StringAttr axis : axes) size *= mesh.getSizes()[*mesh.find(axis)];
  return size;
}

std::string Collective::MembersText() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(group, stream, [&](DeviceAttr device) { stream << device.text(); });
  llvm::interleaveComma(axes, stream, [&](mlir::StringAttr axis) {
    MeshAttr mesh = MeshOf(op);
    stream << axis.getValue() << " (" << mesh.getSizes()[*mesh.find(axis)] << ")";
  });
  return text;
}

namespace {

// Axes must be of the module's mesh, in its order, so that equal groups have equal text.
LogicalResult CheckAxes(mlir::Operation* op, const Collective& collective) {
  if (!collective.group.empty()) {
    return op->emitOpError("names devices and axes in its group; expected one or the other");
  }
  MeshAttr mesh = MeshOf(op);
  if (!mesh) {
    return op->emitOpError() << "is over axis " << collective.axes[0] << ", and the module has no mesh; "
                             << "expected the attribute " << kMeshAttr;
  }
  std::optional<size_t> last;
  for (mlir::StringAttr axis : collective.axes) {
    std::optional<size_t> position = mesh.find(axis);
    if (!position) return op->emitOpError() << "is over axis " << axis << ", which " << mesh << " lacks";
    if (last && *position <= *last) {
      return op->emitOpError() << "is over axis " << axis
                               << " out of order; expected each once, in the order of " << mesh;
    }
    last = position;
  }
  return mlir::success();
}

LogicalResult CheckGroup(mlir::Operation* op) {
  Collective collective = *Collective::Of(op);
  if (!collective.axes.empty()) return CheckAxes(op, collective);
  if (collective.group.empty()) {
    return op->emitOpError("has an empty group; expected the devices that take part");
  }
  for (auto [i, device] : llvm::enumerate(collective.group)) {
    if (llvm::is_contained(llvm::ArrayRef(collective.group).take_front(i), device)) {
      return op->emitOpError() << "names " << device.text() << " twice in its group";
    }
  }
  if (DeviceOf(op) && collective.Rank() < 0) {
    return op->emitOpError() << "is on " << DeviceOf(op).text() << ", which is not in its group";
  }
  return mlir::success();
}

LogicalResult CheckRoot(mlir::Operation* op, int64_t root) {
  int64_t members = Collective::Of(op)->Size();
  if (root >= 0 && root < members) return mlir::success();
  return op->emitOpError() << "has root " << root << "; expected a rank from 0 to " << members - 1;
}

LogicalResult CheckSameTypes(mlir::Operation* op) {
  if (op->getOperandTypes() == op->getResultTypes()) return mlir::success();
  return op->emitOpError("has results of other types than its operands; expected the same");
}

// The root has equally many results and operands; on other members one of both lists is empty.
LogicalResult CheckRooted(mlir::Operation* op, int64_t root, bool root_reads) {
  if (mlir::failed(CheckGroup(op)) || mlir::failed(CheckRoot(op, root))) return mlir::failure();
  mlir::Operation::operand_range operands = op->getOperands();
  int64_t rank = Collective::Of(op)->Rank();
  bool is_root = op->getNumResults() > 0 && !operands.empty();
  if (rank < 0) return is_root ? CheckSameTypes(op) : mlir::success();
  bool fits = rank == root ? op->getNumResults() == operands.size()
                           : (root_reads ? operands.empty() : op->getNumResults() == 0);
  if (fits) return is_root ? CheckSameTypes(op) : mlir::success();
  return op->emitOpError() << "of rank " << rank << " has " << operands.size() << " operands and "
                           << op->getNumResults() << " results; expected "
                           << (rank == root ? "as many of each on the root"
                               : root_reads ? "no operands: the root alone has them"
                                            : "no results: the root alone has them");
}

// `whole` is the parts of `sizes` along dimension 0; `part` is the member's part.
LogicalResult CheckParts(mlir::Operation* op, RankedTensorType whole, RankedTensorType part,
                         llvm::ArrayRef<int64_t> sizes) {
  if (mlir::failed(CheckGroup(op))) return mlir::failure();
  Collective collective = *Collective::Of(op);
  const int64_t members = collective.Size();
  if (sizes.empty() && !collective.axes.empty()) {
    const bool fits = part.getRank() > 0 && whole == Resized(part, 0, part.getDimSize(0) * members);
    if (fits) return mlir::success();
    return op->emitOpError() << "has " << members << " equal parts of type " << part << " of a whole of type "
                             << whole << "; expected equal types but for dimension 0, which the parts divide";
  }
  if (static_cast<int64_t>(sizes.size()) != members ||
      llvm::any_of(sizes, [](int64_t size) { return size < 0; })) {
    return op->emitOpError() << "has " << sizes.size() << " sizes; expected one of 0 or more for each of "
                             << members << " devices";
  }
  bool same = whole.getRank() > 0 && part.getRank() == whole.getRank() &&
              whole.getElementType() == part.getElementType() &&
              whole.getShape().drop_front() == part.getShape().drop_front() &&
              whole.getDimSize(0) == std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  int64_t rank = collective.Rank();
  if (same && (rank < 0 || part.getDimSize(0) == sizes[rank])) return mlir::success();
  return op->emitOpError() << "has parts of type " << part << " of a whole of type " << whole
                           << "; expected equal types but for dimension 0, which `sizes` divides";
}

// A collective of one member has nothing to exchange.
bool IsAlone(mlir::Operation* op) { return Collective::Of(op)->Size() == 1; }

}  // namespace

LogicalResult AllReduceOp::verify() {
  return mlir::success(mlir::succeeded(CheckGroup(*this)) && mlir::succeeded(CheckSameTypes(*this)));
}
LogicalResult ReduceOp::verify() { return CheckRooted(*this, getRoot(), /*root_reads=*/false); }
LogicalResult BroadcastFromOp::verify() { return CheckRooted(*this, getRoot(), /*root_reads=*/true); }
LogicalResult AllGatherOp::verify() { return CheckParts(*this, getType(), getX().getType(), getSizes()); }
LogicalResult ReduceScatterOp::verify() { return CheckParts(*this, getX().getType(), getType(), getSizes()); }
LogicalResult AllToAllOp::verify() {
  if (mlir::failed(CheckGroup(*this)) || mlir::failed(CheckSameTypes(*this))) return mlir::failure();
  int64_t members = Collective::Of(*this)->Size();
  if (getType().getRank() > 0 && getType().getDimSize(0) % members == 0) return mlir::success();
  return emitOpError() << "cuts " << getType() << " for " << members
                       << " devices; expected a dimension 0 that is a multiple of their number";
}
LogicalResult RingShiftOp::verify() {
  if (mlir::failed(CheckGroup(*this)) || mlir::failed(CheckSameTypes(*this))) return mlir::failure();
  int64_t members = Collective::Of(*this)->Size(), by = static_cast<int64_t>(getBy());
  if (by >= 0 && by < members) return mlir::success();
  return emitOpError() << "shifts by " << by << "; expected 0 to " << members - 1;
}
LogicalResult SendOp::verify() {
  if (mlir::failed(CheckGroup(*this))) return mlir::failure();
  const Collective collective = *Collective::Of(*this);
  if (collective.group.size() == 2 && collective.Rank() <= 0) return mlir::success();
  return emitOpError("expects a group of two devices, sender and receiver, and to be on the first");
}
LogicalResult RecvOp::verify() {
  if (mlir::failed(CheckGroup(*this))) return mlir::failure();
  const Collective collective = *Collective::Of(*this);
  if (collective.group.size() == 2 && collective.Rank() != 0) return mlir::success();
  return emitOpError("expects a group of two devices, sender and receiver, and to be on the second");
}

bool AllReduceOp::mayUpdateInPlace(unsigned operand, unsigned result) { return operand == result; }
bool ReduceOp::mayUpdateInPlace(unsigned operand, unsigned result) { return operand == result; }
bool BroadcastFromOp::mayUpdateInPlace(unsigned operand, unsigned result) { return operand == result; }
bool AllGatherOp::mayUpdateInPlace(unsigned, unsigned) { return false; }
bool ReduceScatterOp::mayUpdateInPlace(unsigned, unsigned) { return false; }
bool AllToAllOp::mayUpdateInPlace(unsigned, unsigned) { return false; }
bool RingShiftOp::mayUpdateInPlace(unsigned, unsigned) { return false; }
bool SendOp::mayUpdateInPlace(unsigned, unsigned) { return false; }
bool RecvOp::mayUpdateInPlace(unsigned, unsigned) { return false; }

LogicalResult AllReduceOp::fold(FoldAdaptor, llvm::SmallVectorImpl<mlir::OpFoldResult>& results) {
  if (!IsAlone(*this)) return mlir::failure();
  llvm::append_range(results, getXs());
  return mlir::success();
}
mlir::OpFoldResult AllGatherOp::fold(FoldAdaptor) {
  return IsAlone(*this) ? mlir::OpFoldResult(getX()) : mlir::OpFoldResult();
}
mlir::OpFoldResult ReduceScatterOp::fold(FoldAdaptor) {
  return IsAlone(*this) ? mlir::OpFoldResult(getX()) : mlir::OpFoldResult();
}
mlir::OpFoldResult AllToAllOp::fold(FoldAdaptor) {
  return IsAlone(*this) ? mlir::OpFoldResult(getX()) : mlir::OpFoldResult();
}
LogicalResult RingShiftOp::fold(FoldAdaptor, llvm::SmallVectorImpl<mlir::OpFoldResult>& results) {
  if (getBy() != 0) return mlir::failure();
  llvm::append_range(results, getXs());
  return mlir::success();
}

mlir::Operation* AllReduceOp::buildGradientMember(GraphBuilder& b, mlir::ValueRange gradients,
                                                  int64_t channel) {
  return b.builder().create<AllReduceOp>(b.loc(), getOperandTypes(), gradients, getGroup(), channel,
                                         getCombine());
}
mlir::Operation* ReduceOp::buildGradientMember(GraphBuilder& b, mlir::ValueRange gradients, int64_t channel) {
  return b.builder().create<BroadcastFromOp>(b.loc(), getOperandTypes(), gradients, getGroup(), channel,
                                             getRoot());
}
mlir::Operation* BroadcastFromOp::buildGradientMember(GraphBuilder& b, mlir::ValueRange gradients,
                                                      int64_t channel) {
  return b.builder().create<ReduceOp>(b.loc(), getOperandTypes(), gradients, getGroup(), channel,
                                      ReduceKind::sum, getRoot());
}
mlir::Operation* AllGatherOp::buildGradientMember(GraphBuilder& b, mlir::ValueRange gradients,
                                                  int64_t channel) {
  return b.builder().create<ReduceScatterOp>(b.loc(), getX().getType(), gradients[0], getGroup(), channel,
                                             ReduceKind::sum, getSizes());
}
mlir::Operation* ReduceScatterOp::buildGradientMember(GraphBuilder& b, mlir::ValueRange gradients,
                                                      int64_t channel) {
  return b.builder().create<AllGatherOp>(b.loc(), getX().getType(), gradients[0], getGroup(), channel,
                                         getSizes());
}
mlir::Operation* AllToAllOp::buildGradientMember(GraphBuilder& b, mlir::ValueRange gradients,
                                                 int64_t channel) {
  return b.builder().create<AllToAllOp>(b.loc(), getX().getType(), gradients[0], getGroup(), channel);
}
mlir::Operation* RingShiftOp::buildGradientMember(GraphBuilder& b, mlir::ValueRange gradients,
                                                  int64_t channel) {
  const int64_t members = Collective::Of(*this)->Size();
  return b.builder().create<RingShiftOp>(b.loc(), getOperandTypes(), gradients, getGroup(), channel,
                                         (members - static_cast<int64_t>(getBy())) % members);
}

namespace {

// Each element of a result is made of those at its place. The tensors of one exchange are cut independently.
FactorRule FactorsOfPlaces(mlir::Operation* op) {
  FactorRule rule = WholeFactors(op);
  for (auto [i, x] : llvm::enumerate(op->getOperands())) {
    for (auto [d, size] : llvm::enumerate(llvm::cast<RankedTensorType>(x.getType()).getShape())) {
      rule.operands[i][d] = rule.results[i][d] = {static_cast<unsigned>(rule.factors.size())};
      rule.factors.push_back({size, FactorKind::kParallel, DimName(static_cast<int64_t>(d))});
    }
  }
  return rule;
}

}  // namespace

FactorRule RingShiftOp::getFactorRule() {
  FactorRule rule = FactorsOfPlaces(*this);
  rule.linear_in = {llvm::to_vector(llvm::seq(getNumOperands()))};
  return rule;
}
FactorRule AllReduceOp::getFactorRule() {
  FactorRule rule = FactorsOfPlaces(*this);
  if (getCombine() == ReduceKind::sum || getCombine() == ReduceKind::mean) {
    rule.linear_in = {llvm::to_vector(llvm::seq(getNumOperands()))};
  }
  return rule;
}
// The others move parts of dimension 0 between members, or run on some members only.
FactorRule ReduceOp::getFactorRule() { return WholeFactors(*this); }
FactorRule BroadcastFromOp::getFactorRule() { return WholeFactors(*this); }
FactorRule AllGatherOp::getFactorRule() { return WholeFactors(*this); }
FactorRule ReduceScatterOp::getFactorRule() { return WholeFactors(*this); }
FactorRule AllToAllOp::getFactorRule() { return WholeFactors(*this); }
FactorRule SendOp::getFactorRule() { return WholeFactors(*this); }
FactorRule RecvOp::getFactorRule() { return WholeFactors(*this); }

}  // namespace sinter::ir
