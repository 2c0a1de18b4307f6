#include "sinter/kernels/cpu/math/embedded_kernels.h"

// embedded_paths.h is written by the build; it defines a macro with the path of each file. SINTER_EMBED
// places a file's bytes in read-only data.
#include "sinter/kernels/cpu/embedded_paths.h"

#define SINTER_EMBED(name, path)                                                               \
  __asm__(".pushsection .rodata." #name                                                        \
          ", \"a\", @progbits\n"                                                               \
          ".balign 16\n.globl sinter_embedded_" #name "_begin\n.hidden sinter_embedded_" #name \
          "_begin\n"                                                                           \
          "sinter_embedded_" #name "_begin:\n.incbin \"" path                                  \
          "\"\n"                                                                               \
          ".globl sinter_embedded_" #name "_end\n.hidden sinter_embedded_" #name               \
          "_end\n"                                                                             \
          "sinter_embedded_" #name "_end:\n.popsection\n");                                    \
  extern "C" const char sinter_embedded_##name##_begin[];                                      \
  extern "C" const char sinter_embedded_##name##_end[];

SINTER_EMBED(random_words, SINTER_PATH_random_words)
SINTER_EMBED(vector_math_f32, SINTER_PATH_vector_math_f32)
SINTER_EMBED(vector_math_f64, SINTER_PATH_vector_math_f64)
SINTER_EMBED(trigonometry_f32, SINTER_PATH_trigonometry_f32)
SINTER_EMBED(trigonometry_f64, SINTER_PATH_trigonometry_f64)
SINTER_EMBED(sixteen_bit_floats, SINTER_PATH_sixteen_bit_floats)
SINTER_EMBED(remainder, SINTER_PATH_remainder)
SINTER_EMBED(freestanding, SINTER_PATH_freestanding)

#define SINTER_EMBEDDED_FILE(name)                                                         \
  EmbeddedFile {                                                                           \
    #name, sinter_embedded_##name##_begin,                                                 \
        static_cast<size_t>(sinter_embedded_##name##_end - sinter_embedded_##name##_begin) \
  }

namespace sinter {

std::vector<EmbeddedFile> VectorMathBitcode() {
  return {SINTER_EMBEDDED_FILE(random_words),     SINTER_EMBEDDED_FILE(vector_math_f32),
          SINTER_EMBEDDED_FILE(vector_math_f64),  SINTER_EMBEDDED_FILE(trigonometry_f32),
          SINTER_EMBEDDED_FILE(trigonometry_f64), SINTER_EMBEDDED_FILE(sixteen_bit_floats),
          SINTER_EMBEDDED_FILE(remainder)};
}

EmbeddedFile FreestandingObject() { return SINTER_EMBEDDED_FILE(freestanding); }

}  // namespace sinter
