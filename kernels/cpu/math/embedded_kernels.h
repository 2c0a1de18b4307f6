// Kernels embedded in the compiler: LLVM bitcode to inline into generated code, and an object to link.
//
// Contract: constant data without dependencies. kernels/CMakeLists.txt builds it with Clang.
//
//   for (const EmbeddedFile& file : VectorMathBitcode()) Parse(file.data, file.size);
#ifndef SINTER_KERNELS_CPU_MATH_EMBEDDED_KERNELS_H_
#define SINTER_KERNELS_CPU_MATH_EMBEDDED_KERNELS_H_

#include <cstddef>
#include <vector>

namespace sinter {

struct EmbeddedFile {
  const char* name;
  const char* data;
  size_t size;
};

// Returns the functions of vector_math.h for any CPU: they have no target attributes. A file uses only files
// after it.
std::vector<EmbeddedFile> VectorMathBitcode();

// Returns an ELF object for x86-64-v3 with the functions that LLVM's back end may call (memcpy, memmove,
// memset, __truncsfbf2, ...) and the functions of vector_math.h for large arguments.
EmbeddedFile FreestandingObject();

}  // namespace sinter

#endif  // SINTER_KERNELS_CPU_MATH_EMBEDDED_KERNELS_H_
