// The C interface of the compiler: makes plans from the text of programs.
//
//   const char text[] = "func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> { ... }";
//   sn_compile_options options = {.size = sizeof options};
//   sn_plan* plan;
//   if (sn_compile_text(text, sizeof text - 1, "double.mlir", &options, &plan, NULL) != SN_OK)
//     return puts(sn_last_error()), 1;
//
// The text is that of Graph::ToString() in C++, MLIR with the ops of docs/ops.md. Errors, ownership and
// stability are as sinter/c/sinter.h says; symbols have the version SINTER_COMPILER_1. The library
// libsinter_compiler_c needs libsinter_c, and a program links both. Several threads may compile at a time.
#ifndef SINTER_FRONTEND_C_COMPILER_H_
#define SINTER_FRONTEND_C_COMPILER_H_

#include "sinter/runtime/c/sinter.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sn_compile_report sn_compile_report;  // The compiler's log: decisions and times.

typedef struct {
  uint32_t size;                  // sizeof(sn_compile_options).
  int32_t threads;                // Compiler threads; 0: one per core. The plan does not depend on it.
  const char* device;             // Device of all that the program does not place; null: "cpu:0".
  const char* target_cpus;        // CPUs that the code is for, "x86-64-v3,x86-64-v4"; null: this one.
  const char* gpu_architectures;  // Such as "sm_80,sm_90"; null: this machine's GPUs.
  int64_t memory_limit;           // Most bytes of each device that the plan may need; 0: no limit.
  int32_t check_indices;          // 1: a run returns SN_OUT_OF_RANGE for an index out of range.
  int32_t automatic_copies;       // 1: the compiler inserts copies between devices.
} sn_compile_options;

// Compiles the program of `size` bytes of text. `name` is the text's origin, such as a file: messages begin
// with it. Options may be null. `report` may be null; else it gets the log, also after an error.
// SN_INVALID_ARGUMENT: the text has each mistake, with its line. SN_FAILED_PRECONDITION: this CPU is below
// the level x86-64-v3. SN_RESOURCE_EXHAUSTED: the plan does not fit in the memory limit.
SN_API sn_code sn_compile_text(const char* text, size_t size, const char* name,
                               const sn_compile_options* options, sn_plan** out, sn_compile_report** report);

// Returns a part of a report, one decision a line; empty if there was none. `part` is "fusion", "memory",
// "casts", "kernels", "copies", "times" (milliseconds of each stage) or "all". SN_NOT_FOUND: another part.
// The text lives as long as the report.
SN_API sn_code sn_compile_report_text(sn_compile_report* report, const char* part, const char** text);
SN_API void sn_compile_report_free(sn_compile_report* report);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SINTER_FRONTEND_C_COMPILER_H_
