#include "sinter/ir/plan/plan_ops.h"

#include <numeric>

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"

// clang-format off: the dialect comes after the headers that declare it.
#include "ir/plan_dialect.cc.inc"
// clang-format on
#define GET_TYPEDEF_CLASSES
#include "ir/plan_types.cc.inc"
#define GET_OP_CLASSES
#include "ir/plan_ops.cc.inc"

namespace sinter::plan_ir {

void PlanDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/plan_types.cc.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/plan_ops.cc.inc"
      >();
}

int64_t TensorBytes(mlir::RankedTensorType type) {
  return type.getNumElements() * ir::ElementBytes(type.getElementType());
}

int64_t StartDivisor(ir::PartAttr part) {
  int64_t rows = part.getFirst();
  for (const int64_t stride : part.getStrides()) rows = std::gcd(rows, stride);
  return rows * TensorBytes(ir::Resized(part.getWhole(), 0, 1));
}

int64_t BufferType::getBytes() const { return TensorBytes(getTensor()); }

mlir::LogicalResult FunctionOp::verify() {
  llvm::SmallVector<ir::DeviceAttr> devices = deviceList();
  for (size_t i = 1; i < devices.size(); ++i) {
    if (devices[i - 1].before(devices[i])) continue;
    return emitOpError() << "names " << devices[i - 1].text() << " before " << devices[i].text()
                         << "; expected each device once, CPUs before GPUs, by index";
  }
  size_t more = getMoreArenaBytes() ? getMoreArenaBytes()->size() : 0;
  if (devices.empty() || (getArenaBytes() && more + 1 != devices.size()) || (!getArenaBytes() && more > 0)) {
    return emitOpError() << "has " << devices.size() << " device(s) and "
                         << (getArenaBytes() ? more + 1 : more) << " arena(s); expected an arena a device";
  }
  return mlir::success();
}

mlir::LogicalResult FunctionOp::verifyRegions() {
  llvm::SmallVector<ir::DeviceAttr> devices = deviceList();
  for (mlir::Operation& op : getBody().front()) {
    if (!llvm::isa_and_present<PlanDialect>(op.getDialect()) ||
        llvm::is_contained(devices, ir::DeviceOf(&op)))
      continue;
    return op.emitOpError() << "is on " << ir::DeviceOf(&op).text() << ", which '" << getSymName()
                            << "' does not name; expected one of the devices behind its `on`";
  }
  return mlir::success();
}

llvm::SmallVector<ir::DeviceAttr> FunctionOp::deviceList() {
  if (!getDevices()) return {ir::DeviceAttr::cpu(getContext())};
  return llvm::to_vector(getDevices()->getAsRange<ir::DeviceAttr>());
}

std::optional<int64_t> FunctionOp::arenaBytesOf(ir::DeviceAttr device) {
  llvm::SmallVector<ir::DeviceAttr> devices = deviceList();
  auto found = llvm::find(devices, device);
  if (found == devices.end() || !getArenaBytes()) return std::nullopt;
  if (found == devices.begin()) return static_cast<int64_t>(*getArenaBytes());
  return (*getMoreArenaBytes())[found - devices.begin() - 1];
}

namespace {

// Without a mesh there are no coordinates to multiply strides by.
mlir::LogicalResult CheckStrides(mlir::Operation* op, llvm::ArrayRef<int64_t> strides) {
  ir::MeshAttr mesh = ir::MeshOf(op);
  const size_t axes = mesh ? mesh.getSizes().size() : 0;
  if (strides.size() == axes) return mlir::success();
  return op->emitOpError() << "has " << strides.size() << " strides; expected one for each of the " << axes
                           << " axes of the module's mesh";
}

}  // namespace

mlir::LogicalResult InputOp::verify() {
  if (!getPart()) return mlir::success();
  mlir::RankedTensorType whole = getPart()->getWhole(), part = getBuffer().getType().getTensor();
  if (whole.getRank() == 0 || part.getRank() == 0 || ir::Resized(whole, 0, 0) != ir::Resized(part, 0, 0)) {
    return emitOpError() << "is a part of type " << part << " of " << whole
                         << "; expected equal types but for dimension 0";
  }
  return CheckStrides(*this, getPart()->getStrides());
}

mlir::LogicalResult RankValueOp::verify() {
  mlir::RankedTensorType type = getBuffer().getType().getTensor();
  if (type.getRank() != 0 || !type.getElementType().isSignlessInteger(64)) {
    return emitOpError() << "is of type " << type << "; expected tensor<i64>";
  }
  return CheckStrides(*this, getStrides());
}

mlir::LogicalResult ViewOp::verify() {
  int64_t offset = static_cast<int64_t>(getOffset()), bytes = getBuffer().getType().getBytes();
  int64_t source_bytes = getSource().getType().getBytes();
  if (offset < 0 || offset > source_bytes || bytes > source_bytes - offset) {
    return emitOpError() << "takes " << bytes << " bytes at offset " << offset << " of a buffer of "
                         << source_bytes << " bytes; expected bytes that lie within it";
  }
  return mlir::success();
}

mlir::LogicalResult CallOp::verify() {
  mlir::Block& block = getBody().front();
  auto yield = block.empty() ? nullptr : llvm::dyn_cast<ir::YieldOp>(block.back());
  if (!yield) return emitOpError("has a region that does not end in sinter.yield");
  if (block.getNumArguments() != getIns().size() || yield.getValues().size() != getOuts().size()) {
    return emitOpError() << "has " << getIns().size() << " ins and " << getOuts().size()
                         << " outs, its region " << block.getNumArguments() << " arguments and "
                         << yield.getValues().size() << " results";
  }
  auto matches = [](mlir::Value buffer, mlir::Value tensor) {
    return llvm::cast<BufferType>(buffer.getType()).getTensor() == tensor.getType();
  };
  for (auto [i, buffer] : llvm::enumerate(getIns())) {
    if (!matches(buffer, block.getArgument(i))) {
      return emitOpError() << "ins " << i << " is " << buffer.getType() << ", the region's argument "
                           << block.getArgument(i).getType();
    }
  }
  for (auto [i, buffer] : llvm::enumerate(getOuts())) {
    if (!matches(buffer, yield.getValues()[i])) {
      return emitOpError() << "outs " << i << " is " << buffer.getType() << ", the region's result "
                           << yield.getValues()[i].getType();
    }
  }
  llvm::ArrayRef<int64_t> pairs = getInPlace().value_or(llvm::ArrayRef<int64_t>());
  for (auto [i, number] : llvm::enumerate(pairs)) {
    int64_t count = i % 2 == 0 ? getIns().size() : getOuts().size();
    if (pairs.size() % 2 == 0 && number >= 0 && number < count) continue;
    return emitOpError() << "has in_place numbers that are not pairs of ins and outs, of which there are "
                         << getIns().size() << " and " << getOuts().size();
  }
  mlir::Operation& first = block.front();
  if (!llvm::isa<ir::StepInterface>(first)) return ir::VerifyFusedBody(*this, block);
  if (!llvm::hasNItems(block, 2)) {
    return emitOpError() << "holds '" << first.getName() << "' and other ops; expected a library op alone";
  }
  if (!llvm::equal(yield.getValues(), first.getResults())) {
    return emitOpError() << "holds '" << first.getName()
                         << "'; expected outs for its results, in their order";
  }
  return mlir::success();
}

// plan.call "name" ins(%a, %b : types) outs(%c : types) on <gpu, 0> by "cuda.fused" attributes {...} { ... }
void CallOp::print(mlir::OpAsmPrinter& p) {
  p << ' ';
  p.printAttribute(getNameAttr());
  auto group = [&](llvm::StringRef keyword, mlir::OperandRange values) {
    p << ' ' << keyword << '(';
    if (!values.empty()) p << values << " : " << values.getTypes();
    p << ')';
  };
  group("ins", getIns());
  group("outs", getOuts());
  if (getDeviceAttr()) {
    p << " on ";
    p.printStrippedAttrOrType(getDeviceAttr());
  }
  if (getBackendAttr()) p << " by " << getBackendAttr();
  llvm::SmallVector<llvm::StringRef> elided = {"name", "operandSegmentSizes", "device", "backend"};
  if (getWorkspaceBytes() == 0) elided.push_back("workspace_bytes");
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), elided);
  p << ' ';
  p.printRegion(getBody());
}

mlir::ParseResult CallOp::parse(mlir::OpAsmParser& parser, mlir::OperationState& result) {
  mlir::StringAttr name;
  if (parser.parseAttribute(name, "name", result.attributes)) return mlir::failure();
  int32_t sizes[2];
  const char* keywords[] = {"ins", "outs"};
  for (int i = 0; i < 2; ++i) {
    llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> operands;
    llvm::SmallVector<mlir::Type> types;
    auto where = parser.getCurrentLocation();
    if (parser.parseKeyword(keywords[i]) || parser.parseLParen()) return mlir::failure();
    if (parser.parseOptionalRParen()) {
      if (parser.parseOperandList(operands) || parser.parseColonTypeList(types) || parser.parseRParen() ||
          parser.resolveOperands(operands, types, where, result.operands)) {
        return mlir::failure();
      }
    }
    sizes[i] = operands.size();
  }
  result.addAttribute("operandSegmentSizes", parser.getBuilder().getDenseI32ArrayAttr(sizes));
  if (mlir::succeeded(parser.parseOptionalKeyword("on"))) {
    ir::DeviceAttr device;
    if (parser.parseCustomAttributeWithFallback(device, mlir::Type(), "device", result.attributes)) {
      return mlir::failure();
    }
  }
  if (mlir::succeeded(parser.parseOptionalKeyword("by"))) {
    mlir::StringAttr backend;
    if (parser.parseAttribute(backend, "backend", result.attributes)) return mlir::failure();
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes)) return mlir::failure();
  // Value names are local to the region; otherwise an operand could name a value that only the region
  // defines.
  return parser.parseRegion(*result.addRegion(), /*arguments=*/{}, /*enableNameShadowing=*/true);
}

mlir::Operation* CallOp::libraryOp() {
  mlir::Operation& first = getBody().front().front();
  return llvm::isa<ir::StepInterface>(first) ? &first : nullptr;
}

ir::DeviceAttr ViewOp::placedOn() { return ir::DeviceOf(getSource()); }
ir::DeviceAttr OutputOp::placedOn() { return ir::DeviceOf(getBuffer()); }

}  // namespace sinter::plan_ir
