// Lets LLVM vectorise short loops whose length is known.
//
// LLVM unrolls a loop of up to about 40 iterations completely before its vectoriser runs, which then has no
// loop: an addition of rows of 9 to 33 floats took ten times as long as one of rows of 50. After vectorising,
// the loop may still be unrolled. Where whole vectors would leave many elements to a loop of single elements,
// the last vector is a masked one instead.
//
//   llvm::PassBuilder builder(...);
//   VectoriseShortLoops(builder, target.vector_bits);
//   builder.buildPerModuleDefaultPipeline(...);
//
// Contract: changes hints of innermost loops alone, so no result. Masked vectors need AVX-512, which has
// masks for elements of all sizes. Loops of four iterations and fewer are unrolled as before, so that the
// loop around them can become the vector loop.
#ifndef SINTER_CODEGEN_CPU_SHORT_LOOPS_H_
#define SINTER_CODEGEN_CPU_SHORT_LOOPS_H_

namespace llvm {
class PassBuilder;
}  // namespace llvm

namespace sinter::codegen {

// Floats of a vector of 512 bits.
inline constexpr unsigned kVectorFloats = 16;
// The longest row, in elements, whose last elements a masked vector computes. In longer rows it gains less
// than the masks of the other vectors cost.
inline constexpr unsigned kLongestMaskedRow = 512;

void VectoriseShortLoops(llvm::PassBuilder& builder, int vector_bits);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_SHORT_LOOPS_H_
