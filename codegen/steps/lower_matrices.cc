// Lowers factors of matrices and triangular systems to kernels of the catalogue
// (kernels/cpu/catalog/matrices.cc, which begins with their parameters).
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/gpu_limits.h"

namespace sinter::codegen {

using flatbuffers::FlatBufferBuilder;
using ir::TypeOf;

namespace {

struct Matrices {
  int64_t dtype, batch = 1, rows, columns;

  explicit Matrices(mlir::Value a)
      : dtype(static_cast<int64_t>(codegen::DTypeOf(TypeOf(a).getElementType()))),
        rows(ir::ShapeOf(a).drop_back(1).back()),
        columns(ir::ShapeOf(a).back()) {
    for (int64_t size : ir::ShapeOf(a).drop_back(2)) batch *= size;
  }
  // The number of operations that make `factor` times the product of three sizes a matrix.
  double flops(double factor, int64_t a, int64_t b, int64_t c) const {
    return factor * static_cast<double>(batch) * static_cast<double>(a) * static_cast<double>(b) *
           static_cast<double>(c);
  }
};

absl::Status CheckDevice(mlir::Operation* op, const char* kernel, llvm::ArrayRef<int64_t> parameters) {
  const ir::TargetModel& target = TargetOf(op);
  if (target.kernels != ir::KernelForm::kCuda) return absl::OkStatus();
  const std::string problem = GpuLibraryProblem(kernel, {parameters.data(), parameters.size()});
  if (problem.empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(UserLine(op->getLoc()), ": no library computes this ", op->getName().getStringRef().str(),
                   " on ", std::string(target.name), ", because ", problem,
                   "; place it on a CPU: DeviceScope(b, Device::Cpu()) around the call, and Copy for its "
                   "operands and results"));
}

absl::StatusOr<LibraryStep> MatrixCall(const char* kernel, mlir::Operation* op, FlatBufferBuilder& builder,
                                       llvm::ArrayRef<int64_t> parameters, double flops) {
  SINTER_RETURN_IF_ERROR(CheckDevice(op, kernel, parameters));
  auto name = builder.CreateString(kernel);
  auto numbers = builder.CreateVector(parameters.data(), parameters.size());
  return LibraryStep{fb::StepBody::CatalogStep, fb::CreateCatalogStep(builder, name, numbers).Union(), flops};
}

// The kernels of square matrices have the same parameters.
absl::StatusOr<LibraryStep> SquareCall(const char* kernel, mlir::Operation* op, FlatBufferBuilder& builder,
                                       double operations) {
  const Matrices a(op->getOperand(0));
  return MatrixCall(kernel, op, builder, {a.dtype, a.batch, a.rows},
                    a.flops(operations, a.rows, a.rows, a.rows));
}
absl::StatusOr<LibraryStep> LowerCholesky(mlir::Operation* op, FlatBufferBuilder& builder) {
  return SquareCall("cholesky", op, builder, 1.0 / 3);
}
absl::StatusOr<LibraryStep> LowerEigh(mlir::Operation* op, FlatBufferBuilder& builder) {
  return SquareCall("eigh", op, builder, 9);
}
absl::StatusOr<LibraryStep> LowerLu(mlir::Operation* op, FlatBufferBuilder& builder) {
  return SquareCall("lu", op, builder, 2.0 / 3);
}

absl::StatusOr<LibraryStep> LowerTriangularSolve(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto solve = llvm::cast<ir::TriangularSolveOp>(op);
  const Matrices a(solve.getA()), b(solve.getB());
  const int64_t sides = solve.getRight() ? b.rows : b.columns;
  return MatrixCall("triangular_solve", op, builder,
                    {a.dtype, a.batch, a.rows, sides, solve.getUpper(), solve.getTranspose(),
                     solve.getUnitDiagonal(), solve.getRight()},
                    a.flops(1, a.rows, a.rows, sides));
}

absl::StatusOr<LibraryStep> QrCall(mlir::Operation* op, FlatBufferBuilder& builder, bool is_complete) {
  const Matrices a(op->getOperand(0));
  return MatrixCall("qr", op, builder, {a.dtype, a.batch, a.rows, a.columns, is_complete},
                    a.flops(4, a.rows, a.columns, std::min(a.rows, a.columns)));
}
absl::StatusOr<LibraryStep> LowerQr(mlir::Operation* op, FlatBufferBuilder& builder) {
  return QrCall(op, builder, false);
}
absl::StatusOr<LibraryStep> LowerQrComplete(mlir::Operation* op, FlatBufferBuilder& builder) {
  return QrCall(op, builder, true);
}

absl::StatusOr<LibraryStep> LowerSvd(mlir::Operation* op, FlatBufferBuilder& builder) {
  const Matrices a(op->getOperand(0));
  return MatrixCall("svd", op, builder, {a.dtype, a.batch, a.rows, a.columns},
                    a.flops(14, a.rows, a.columns, std::min(a.rows, a.columns)));
}

}  // namespace

void PopulateMatrixLowerings(LibraryLowerings& lowerings) {
  lowerings.Add<ir::CholeskyOp>(LowerCholesky);
  lowerings.Add<ir::TriangularSolveOp>(LowerTriangularSolve);
  lowerings.Add<ir::QrOp>(LowerQr);
  lowerings.Add<ir::QrCompleteOp>(LowerQrComplete);
  lowerings.Add<ir::EighOp>(LowerEigh);
  lowerings.Add<ir::SvdOp>(LowerSvd);
  lowerings.Add<ir::LuOp>(LowerLu);
}

}  // namespace sinter::codegen
