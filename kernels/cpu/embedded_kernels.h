// The kernels that travel inside the compiler: LLVM bitcode to inline into generated code, and an object to
// link.
//
// Contract: constant data; depends on nothing. Built by kernels/CMakeLists.txt with Clang.
//
//   for (const EmbeddedFile& file : VectorMathBitcode()) Parse(file.data, file.size);
#ifndef SINTER_KERNELS_CPU_EMBEDDED_KERNELS_H_
#define SINTER_KERNELS_CPU_EMBEDDED_KERNELS_H_

#include <cstddef>
#include <vector>

namespace sinter {

struct EmbeddedFile {
  const char* name;
  const char* data;
  size_t size;
};

// The functions of vector_math.h, for any CPU: no target attributes. A file uses only files after it.
std::vector<EmbeddedFile> VectorMathBitcode();

// An ELF object for x86-64-v3 with what LLVM's back end may call (memcpy, memmove, memset,
// __truncsfbf2, ...) and the functions of vector_math.h for far arguments.
EmbeddedFile FreestandingObject();

}  // namespace sinter

#endif  // SINTER_KERNELS_CPU_EMBEDDED_KERNELS_H_
