// Discrete Fourier transforms along one dimension: one call of a library each. The gradients are in
// fourier_ops.cc.
#ifndef SINTER_IR_FOURIER_OPS_TD
#define SINTER_IR_FOURIER_OPS_TD

include "sinter/ir/dialect/dialect.td"

def Sinter_FourierTensor : Sinter_TensorOf<[F64, F32], "f64 f32">;

// Complex numbers are pairs [re, im]: a last dimension of size 2. The leading dimensions count transforms of
// n numbers, which are not scaled: a transform of one sign and one of the other give n times the numbers.
class Sinter_FourierOp<string mnemonic, string text, list<Trait> traits = []>
    : Sinter_Op<mnemonic, traits # [Pure, LibraryInterface, DeclareOpInterfaceMethods<ShardableInterface>,
                                    DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = text;
  let hasVerifier = 1;
}

def FftOp : Sinter_FourierOp<"fft",
    "The transform of complex numbers [..., n, 2]: y[k] = sum over j of x[j] exp(-2 pi i j k / n), or with exp(+...) when "
    "`inverse`",
    [AllTypesMatch<["x", "result"]>, DeclareOpInterfaceMethods<StepInterface, ["mayUpdateInPlace"]>]> {
  let arguments = (ins Sinter_FourierTensor:$x, UnitAttr:$inverse);
  let results = (outs Sinter_FourierTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

def RfftOp : Sinter_FourierOp<"rfft",
    "The first n / 2 + 1 numbers [..., n / 2 + 1, 2] of the fft of real numbers [..., n]; the others are their conjugates"> {
  let arguments = (ins Sinter_FourierTensor:$x);
  let results = (outs Sinter_FourierTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def IrfftOp : Sinter_FourierOp<"irfft",
    "The real numbers [..., n] of the inverse fft of numbers [..., n / 2 + 1, 2] and of their conjugates; the imaginary parts of "
    "number 0, and of number n / 2 if n is even, are not read"> {
  let arguments = (ins Sinter_FourierTensor:$x);
  let results = (outs Sinter_FourierTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

#endif  // SINTER_IR_FOURIER_OPS_TD
