#include "sinter/passes/layout/image_groups.h"

#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/ir/target/tf32_kernels.h"
#include "sinter/passes/input_parts.h"

namespace sinter {

using ir::TypeOf;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

namespace {

// Times on an H200, in nanoseconds: from one kernel to the next, and for a byte that is copied.
constexpr double kKernelTime = 2000, kByteTime = 1 / 4200.0;
// Loss of cuDNN against an own kernel for few channels: at least, and for an operation
// (docs/performance-notes.md: convolutions of few channels on a GPU).
constexpr double kLibraryLoss = 20000, kLibraryFlopTime = 1 / 20000.0;

bool IsSplat(ir::ConstantOp op) {
  auto values = llvm::dyn_cast<mlir::DenseElementsAttr>(op.getValue());
  return values && values.isSplat();
}

bool IsTied(Operation* op, Value value, const ImageOrder& order) {
  return llvm::is_contained(TiedBy(op, order), value);
}

// True if a transpose of images between these layouts leaves the elements where they are.
bool MovesNothing(RankedTensorType user) {
  return user.getDimSize(1) == 1 || user.getDimSize(2) * user.getDimSize(3) == 1;
}

double ImageBytes(RankedTensorType type) {
  return static_cast<double>(type.getNumElements() * ir::ElementBytes(type.getElementType()));
}

// Time of a transpose of images of `type`: a kernel of its own, or part of a kernel that would read or write
// the images anyway, at about half the rate.
double TransposeTime(RankedTensorType type, bool is_kernel) {
  if (MovesNothing(type) || type.getNumElements() == 0) return 0;
  return is_kernel ? kKernelTime + 2 * ImageBytes(type) * kByteTime : ImageBytes(type) * kByteTime;
}

bool IsTranspose(Operation* op, llvm::ArrayRef<int64_t> permutation) {
  auto transpose = llvm::dyn_cast_or_null<ir::TransposeOp>(op);
  return transpose && transpose.getPermutation() == permutation;
}

struct Times {
  double nchw = 0, nhwc = 0;
};

// Adds the transposes where `value` enters and leaves its group.
void AddBorders(Value value, const ImageOrder& order, Times& times) {
  Operation* producer = value.getDefiningOp();
  const bool is_made = producer && IsTied(producer, value, order);
  bool feeds_images = false, leaves = false, leaves_transposed = true;
  for (Operation* user : value.getUsers()) {
    if (IsTied(user, value, order)) {
      feeds_images |= IsImageOp(user);
    } else {
      leaves = true;
      leaves_transposed = leaves_transposed && IsTranspose(user, {0, 2, 3, 1});
    }
  }
  const RankedTensorType type = TypeOf(value);
  if (!is_made)
    (IsTranspose(producer, {0, 3, 1, 2}) ? times.nchw : times.nhwc) += TransposeTime(type, feeds_images);
  if (leaves)
    (leaves_transposed ? times.nchw : times.nhwc) += TransposeTime(type, is_made && IsImageOp(producer));
}

// Returns the time that a gradient of a convolution loses in nhwc, where cuDNN computes it, if an own kernel
// does in nchw.
double LossOfOwnKernel(Operation* op) {
  llvm::ArrayRef<int64_t> weights = TypeOf(WeightsOf(op)).getShape();
  if (weights[0] > ir::tf32::kMostOut || weights[1] > ir::tf32::kMostOut) return 0;
  return llvm::TypeSwitch<Operation*, double>(op)
      .Case<ir::Conv2dInputGradOp, ir::Conv2dWeightGradOp>([&](auto grad) -> double {
        if (!ir::tf32::IsPlain(grad)) return 0;
        const auto products =
            static_cast<double>(TypeOf(grad.getG()).getNumElements() * weights[1] * weights[2] * weights[3]);
        return kLibraryLoss + 2 * products * kLibraryFlopTime;
      })
      .Default(0.0);
}

// Adds the times of a convolution that an own kernel computes in some layout, and what others lose in each.
// Libraries transpose the operands and the result of those whose matrix units need the target's other layout.
void AddConvolution(Operation* op, const ir::TargetModel& target, Times& times) {
  if (!WeightsOf(op)) return;
  if (auto conv = llvm::dyn_cast<ir::Conv2dOp>(op)) {
    const double nhwc = ir::tf32::TimeOf(conv, ir::ImageLayout::nhwc);
    times.nchw += ir::tf32::TimeOf(conv, ir::ImageLayout::nchw);
    times.nhwc += nhwc;
    if (nhwc > 0) return;
  }
  const bool is_low = TypeOf(op->getResult(0)).getElementTypeBitWidth() == 16;
  if (!is_low || target.low_precision_layout != ir::ImageLayout::nhwc) {
    times.nhwc += LossOfOwnKernel(op);
    return;
  }
  SmallVector<Value> images(op->getOperands());
  llvm::append_range(images, op->getResults());
  for (Value value : images) {
    if (TypeOf(value).getRank() == 4) times.nchw += TransposeTime(TypeOf(value), /*is_kernel=*/true);
  }
}

}  // namespace

bool IsImageOp(Operation* op) {
  auto image = llvm::dyn_cast<ir::ImageOpInterface>(op);
  return image && image.getLayout() == ir::ImageLayout::nchw;
}

Value WeightsOf(Operation* op) {
  auto image = llvm::dyn_cast<ir::ImageOpInterface>(op);
  return image ? image.getWeights() : Value();
}

SmallVector<Value> TiedBy(Operation* op, const ImageOrder& order) {
  SmallVector<Value> tied;
  // Each device gets its part of an input in the user's order, and converts only that part.
  auto copy = llvm::dyn_cast<ir::CopyOp>(op);
  if (IsInputPart(op) || (copy && copy.getCause() == ir::CopyCause::input)) return tied;
  if (!order.canExpress(op)) return tied;
  auto add_images = [&](mlir::ValueRange values) {
    for (Value value : values) {
      if (TypeOf(value).getRank() == 4 && value != WeightsOf(op)) tied.push_back(value);
    }
  };
  bool moves_all = llvm::isa<ir::PointwiseInterface, ir::PadOp, ir::SliceOp, ir::ConcatOp, ir::ReverseOp,
                             ir::CopyOp, ir::CloneOp>(op);
  bool makes = llvm::isa<ir::BroadcastOp, ir::IotaOp>(op) ||
               (llvm::isa<ir::ConstantOp>(op) && IsSplat(llvm::cast<ir::ConstantOp>(op)));
  if (IsImageOp(op) || moves_all) {
    add_images(op->getOperands());
    add_images(op->getResults());
  } else if (makes) {
    add_images(op->getResults());
  } else if (llvm::isa<ir::ReductionInterface>(op)) {
    add_images(op->getOperands());
  }
  return tied;
}

SmallVector<ImageGroup> ImageGroupsOf(mlir::func::FuncOp function, const ImageOrder& order) {
  SmallVector<ImageGroup> groups;
  llvm::DenseSet<Operation*> visited;
  for (Operation& first : function.getBody().front()) {
    if (!IsImageOp(&first) || !visited.insert(&first).second) continue;
    ImageGroup& group = groups.emplace_back();
    SmallVector<Operation*> work = {&first};
    const auto reach = [&](Operation* op, Value value) {
      if (IsTied(op, value, order) && visited.insert(op).second) work.push_back(op);
    };
    while (!work.empty()) {
      Operation* op = work.pop_back_val();
      if (IsImageOp(op)) group.images.insert(op);
      for (Value value : TiedBy(op, order)) {
        if (!group.values.insert(value)) continue;
        if (Operation* producer = value.getDefiningOp()) reach(producer, value);
        for (Operation* user : value.getUsers()) reach(user, value);
      }
    }
  }
  return groups;
}

ir::ImageLayout FasterLayout(const ImageGroup& group, const ImageOrder& nhwc) {
  const ir::TargetModel& target = ir::TargetModel::Of(group.images.front());
  Times times;
  for (Value value : group.values) AddBorders(value, nhwc, times);
  for (Operation* op : group.images) AddConvolution(op, target, times);
  if (times.nchw != times.nhwc)
    return times.nchw < times.nhwc ? ir::ImageLayout::nchw : ir::ImageLayout::nhwc;
  const bool is_low = TypeOf(group.images.front()->getOperand(0)).getElementTypeBitWidth() == 16;
  return (is_low ? target.low_precision_layout : target.f32_layout).value_or(ir::ImageLayout::nhwc);
}

}  // namespace sinter
