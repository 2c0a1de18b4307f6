// SINTER_EMBED_PTX: the bytes of a PTX file, with a terminating zero, as a symbol of the program.
//
//   SINTER_EMBED_PTX(sinter_exchange_ptx, SINTER_EXCHANGE_PTX)       // The path that the build made.
//   const char* ExchangePtx() { return sinter_exchange_ptx; }
//
// Contract: at namespace scope, outside of all namespaces, in one source of the program.
#ifndef SINTER_KERNELS_CUDA_EMBEDDED_PTX_H_
#define SINTER_KERNELS_CUDA_EMBEDDED_PTX_H_

#define SINTER_EMBED_PTX(symbol, path)                        \
  __asm__(".pushsection .rodata." #symbol                     \
          ", \"a\", @progbits\n"                              \
          ".globl " #symbol "\n.hidden " #symbol "\n" #symbol \
          ":"                                                 \
          "\n.incbin \"" path                                 \
          "\"\n.byte 0\n"                                     \
          ".popsection\n");                                   \
  extern "C" const char symbol[];

#endif  // SINTER_KERNELS_CUDA_EMBEDDED_PTX_H_
