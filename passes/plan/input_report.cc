#include "sinter/passes/plan/input_report.h"

#include <algorithm>
#include <limits>

#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

// The range of a buffer's bytes that steps read.
struct BytesRead {
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;

  void add(Value buffer, int64_t offset) {
    for (Operation* user : buffer.getUsers()) {
      if (auto view = llvm::dyn_cast<plan_ir::ViewOp>(user)) {
        add(view.getBuffer(), offset + view.getOffset());
      } else if (BytesOf(buffer) > 0) {
        begin = std::min(begin, offset);
        end = std::max(end, offset + BytesOf(buffer));
      }
    }
  }
  int64_t count() const { return std::max<int64_t>(end - begin, 0); }
};

}  // namespace

void ReportInputs(mlir::Block* function, llvm::ArrayRef<GivenInput> given) {
  if (ir::MeshOf(function->getParentOp())) {
    for (auto input : function->getOps<plan_ir::InputOp>()) {
      if (input->use_empty()) continue;
      auto remark = mlir::emitRemark(input.getLoc()) << "gives ";
      const mlir::RankedTensorType type = input.getBuffer().getType().getTensor();
      if (std::optional<ir::PartAttr> part = input.getPart()) {
        remark << "a part of input \"" << input.getName() << "\" of " << part->getWhole() << ", "
               << plan_ir::TensorBytes(type) << " of " << plan_ir::TensorBytes(part->getWhole());
      } else {
        remark << "input \"" << input.getName() << "\" of " << type << ", " << plan_ir::TensorBytes(type);
      }
      remark << " bytes, from the caller to each rank";
    }
  }
  for (GivenInput one : given) {
    Value buffer = one.input.getBuffer();
    BytesRead read;
    read.add(buffer, 0);
    bool whole = read.count() == BytesOf(buffer);
    auto remark = mlir::emitRemark(one.loc)
                  << "gives " << (whole ? "" : "a part of ") << "input \"" << one.input.getName() << "\" of "
                  << llvm::cast<plan_ir::BufferType>(buffer.getType()).getTensor() << ", " << read.count();
    if (!whole) remark << " of " << BytesOf(buffer);
    remark << " bytes, from the caller to " << ir::DeviceOf(buffer).text() << ": " << ReasonOfCopy(one.cause);
  }
}

llvm::StringRef ReasonOfCopy(ir::CopyCause cause) {
  switch (cause) {
    case ir::CopyCause::asked:
      return "asked for here";
    case ir::CopyCause::gradient:
      return "the gradient of the copy here";
    case ir::CopyCause::scalar:
      return "nothing places the scalar, which is read there";
    case ir::CopyCause::input:
      return "nothing places the input, which is read there";
    case ir::CopyCause::automatic:
      return "it is read there, and copies are automatic";
  }
  return "";
}

}  // namespace sinter
