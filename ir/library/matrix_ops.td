// Factors of matrices, and systems of linear equations: one call of a library each. The gradients are in
// matrix_gradients.cc.
#ifndef SINTER_IR_MATRIX_OPS_TD
#define SINTER_IR_MATRIX_OPS_TD

include "sinter/ir/dialect/dialect.td"

def Sinter_MatrixTensor : Sinter_TensorOf<[F64, F32], "f64 f32">;

// Operands are [..., m, n]: matrices, and leading dimensions that count them. Where a factor does not exist
// or an iteration does not converge, all elements of the results of that matrix are NaN.
class Sinter_MatrixOp<string mnemonic, string text, list<Trait> traits = []>
    : Sinter_Op<mnemonic, traits # [Pure, LibraryInterface, DeclareOpInterfaceMethods<ShardableInterface>]> {
  let summary = text;
  let hasVerifier = 1;
}

def CholeskyOp : Sinter_MatrixOp<"cholesky",
    "The lower triangular L with L L^T = A of symmetric matrices [..., n, n], of which the lower triangle is read; NaN if A is "
    "not positive definite. The gradient is symmetric",
    [AllTypesMatch<["a", "result"]>, DeclareOpInterfaceMethods<StepInterface, ["mayUpdateInPlace"]>,
     DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let arguments = (ins Sinter_MatrixTensor:$a);
  let results = (outs Sinter_MatrixTensor:$result);
  let assemblyFormat = "$a attr-dict `:` type($result)";
}

def TriangularSolveOp : Sinter_MatrixOp<"triangular_solve",
    "X with A X = B, or X A = B when `right`, for triangular matrices A [..., n, n]: lower, or upper when `upper`; of their "
    "transposes when `transpose`; with a diagonal of ones that is not read when `unit_diagonal`. The other triangle is not read",
    [AllTypesMatch<["b", "result"]>, DeclareOpInterfaceMethods<StepInterface, ["mayUpdateInPlace"]>,
     DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let arguments = (ins Sinter_MatrixTensor:$a, Sinter_MatrixTensor:$b, UnitAttr:$upper, UnitAttr:$transpose,
                   UnitAttr:$unit_diagonal, UnitAttr:$right);
  let results = (outs Sinter_MatrixTensor:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a) `,` type($result)";
}

// The signs of the factors are those of LAPACK's Householder reflections.
def QrOp : Sinter_MatrixOp<"qr",
    "Q [..., m, k] with orthonormal columns and upper triangular R [..., k, n] with Q R = A, for k = min(m, n)",
    [DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let arguments = (ins Sinter_MatrixTensor:$a);
  let results = (outs Sinter_MatrixTensor:$q, Sinter_MatrixTensor:$r);
  let assemblyFormat = "$a attr-dict `:` type($a) `->` type($q) `,` type($r)";
}
// It has no gradient: the columns of Q behind the first n are not a function of A.
def QrCompleteOp : Sinter_MatrixOp<"qr_complete",
    "Orthogonal Q [..., m, m] and upper triangular R [..., m, n] with Q R = A"> {
  let arguments = (ins Sinter_MatrixTensor:$a);
  let results = (outs Sinter_MatrixTensor:$q, Sinter_MatrixTensor:$r);
  let assemblyFormat = "$a attr-dict `:` type($a) `->` type($q) `,` type($r)";
}

def EighOp : Sinter_MatrixOp<"eigh",
    "Eigenvalues [..., n], ascending, and orthonormal eigenvectors, the columns of V [..., n, n], of symmetric matrices "
    "[..., n, n], of which the lower triangle is read; the gradient is symmetric, and NaN or infinite where it reaches the "
    "vectors of equal eigenvalues",
    [DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let arguments = (ins Sinter_MatrixTensor:$a);
  let results = (outs Sinter_MatrixTensor:$values, Sinter_MatrixTensor:$vectors);
  let assemblyFormat = "$a attr-dict `:` type($a) `->` type($values) `,` type($vectors)";
}

def SvdOp : Sinter_MatrixOp<"svd",
    "U [..., m, k] and V^T [..., k, n] with orthonormal columns and rows, and descending singular values S [..., k], with "
    "U diag(S) V^T = A, for k = min(m, n)",
    [DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let arguments = (ins Sinter_MatrixTensor:$a);
  let results = (outs Sinter_MatrixTensor:$u, Sinter_MatrixTensor:$s, Sinter_MatrixTensor:$vt);
  let assemblyFormat = "$a attr-dict `:` type($a) `->` type($u) `,` type($s) `,` type($vt)";
}

def LuOp : Sinter_MatrixOp<"lu",
    "Unit lower triangular L and upper triangular U in one tensor, and the permutation p, with rows p of A = L U, of matrices "
    "[..., n, n]; pivots are the largest of their column",
    [DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let arguments = (ins Sinter_MatrixTensor:$a);
  let results = (outs Sinter_MatrixTensor:$lu, Sinter_TensorOf<[I32], "i32">:$permutation);
  let assemblyFormat = "$a attr-dict `:` type($a) `->` type($lu) `,` type($permutation)";
}

// It becomes lu and two triangular_solve.
def SolveOp : Sinter_Op<"solve", [Pure, AllTypesMatch<["b", "result"]>, DeclareOpInterfaceMethods<CompositeInterface>,
                                  DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "X with A X = B, or A^T X = B when `transpose`, of matrices A [..., n, n] and B [..., n, k]";
  let hasVerifier = 1;
  let arguments = (ins Sinter_MatrixTensor:$a, Sinter_MatrixTensor:$b, UnitAttr:$transpose);
  let results = (outs Sinter_MatrixTensor:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a) `,` type($result)";
}

#endif  // SINTER_IR_MATRIX_OPS_TD
