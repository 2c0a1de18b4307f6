// Makes calls of the C library and of oneDNN fail on demand (fault_points.h).
// The program's definitions replace those of the libraries, so the runtime needs no changes. Include this
// file in one source of a program; the program must be a test of its own.
#ifndef SINTER_TESTS_RUNTIME_C_LIBRARY_FAULTS_H_
#define SINTER_TESTS_RUNTIME_C_LIBRARY_FAULTS_H_

#include <dlfcn.h>
#include <dnnl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sinter/tests/runtime/fault_points.h"

// Defines a replacement for function `name`. At its turn to fail, the replacement sets errno to `error` and
// returns `failure`; else it calls the original.
#define SINTER_FAULT_POINT(result, name, parameters, arguments, error, failure, ...)           \
  extern "C" result name parameters __VA_ARGS__ {                                              \
    static auto* const next = reinterpret_cast<result(*) parameters>(dlsym(RTLD_NEXT, #name)); \
    if (::sinter::FaultPoints::Fails(#name)) {                                                 \
      errno = error;                                                                           \
      return failure;                                                                          \
    }                                                                                          \
    return next arguments;                                                                     \
  }

// NOLINTBEGIN(misc-definitions-in-headers): one file of a program has them.
SINTER_FAULT_POINT(ssize_t, write, (int fd, const void* data, size_t bytes), (fd, data, bytes), ENOSPC, -1)
SINTER_FAULT_POINT(ssize_t, pwrite, (int fd, const void* data, size_t bytes, off_t at), (fd, data, bytes, at),
                   ENOSPC, -1)
SINTER_FAULT_POINT(ssize_t, read, (int fd, void* data, size_t bytes), (fd, data, bytes), EIO, -1)
SINTER_FAULT_POINT(ssize_t, pread, (int fd, void* data, size_t bytes, off_t at), (fd, data, bytes, at), EIO,
                   -1)
SINTER_FAULT_POINT(int, fsync, (int fd), (fd), EIO, -1)
SINTER_FAULT_POINT(int, rename, (const char* from, const char* to), (from, to), EIO, -1, noexcept)
SINTER_FAULT_POINT(int, memfd_create, (const char* name, unsigned flags), (name, flags), EMFILE, -1, noexcept)
SINTER_FAULT_POINT(void*, dlopen, (const char* path, int mode), (path, mode), ENOMEM, nullptr, noexcept)
SINTER_FAULT_POINT(void*, mmap, (void* at, size_t bytes, int protection, int flags, int fd, off_t offset),
                   (at, bytes, protection, flags, fd, offset), ENOMEM, MAP_FAILED, noexcept)

extern "C" int open(const char* path, int flags, ...) {
  static auto* const next = reinterpret_cast<int (*)(const char*, int, ...)>(dlsym(RTLD_NEXT, "open"));
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (sinter::FaultPoints::Fails("open")) {
    errno = EMFILE;
    return -1;
  }
  return next(path, flags, mode);
}

SINTER_FAULT_POINT(dnnl_status_t, dnnl_stream_create,
                   (dnnl_stream_t * stream, dnnl_engine_t engine, unsigned flags), (stream, engine, flags), 0,
                   dnnl_out_of_memory)
SINTER_FAULT_POINT(dnnl_status_t, dnnl_primitive_create,
                   (dnnl_primitive_t * made, const_dnnl_primitive_desc_t desc), (made, desc), 0,
                   dnnl_out_of_memory)
SINTER_FAULT_POINT(dnnl_status_t, dnnl_primitive_execute,
                   (const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                    const dnnl_exec_arg_t* arguments),
                   (primitive, stream, count, arguments), 0, dnnl_runtime_error)
SINTER_FAULT_POINT(dnnl_status_t, dnnl_memory_set_data_handle, (dnnl_memory_t memory, void* data),
                   (memory, data), 0, dnnl_invalid_arguments)
SINTER_FAULT_POINT(dnnl_status_t, dnnl_primitive_attr_create, (dnnl_primitive_attr_t * made), (made), 0,
                   dnnl_out_of_memory)

// Sanitizers define their own aligned_alloc.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
SINTER_FAULT_POINT(void*, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), ENOMEM,
                   nullptr, noexcept)
#endif
// NOLINTEND(misc-definitions-in-headers)
#undef SINTER_FAULT_POINT

#endif  // SINTER_TESTS_RUNTIME_C_LIBRARY_FAULTS_H_
