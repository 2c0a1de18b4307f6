// Kernels in the form of a plan's shared object: void kernel(void* const* buffers, int64 begin, int64 end,
// void* scratch).
#include <stdint.h>

// buffers[2][i] = buffers[0][i] + buffers[1][i]; buffers[2] may be one of the others.
void add_f32(void* const* buffers, int64_t begin, int64_t end, void* scratch) {
  const float* a = buffers[0];
  const float* b = buffers[1];
  float* out = buffers[2];
  for (int64_t i = begin; i < end; ++i) out[i] = a[i] + b[i];
}

// buffers[2][i] = buffers[0][i] * buffers[1][0]
void scale_f32(void* const* buffers, int64_t begin, int64_t end, void* scratch) {
  const float* a = buffers[0];
  const float* factor = buffers[1];
  float* out = buffers[2];
  for (int64_t i = begin; i < end; ++i) out[i] = a[i] * factor[0];
}

// buffers[1][i] = buffers[0][i], copied through 128 bytes of the thread's scratch memory.
void through_scratch_f32(void* const* buffers, int64_t begin, int64_t end, void* scratch) {
  const float* a = buffers[0];
  float* out = buffers[1];
  float* own = scratch;
  for (int64_t i = begin; i < end; i += 32) {
    int64_t count = end - i < 32 ? end - i : 32;
    for (int64_t k = 0; k < count; ++k) own[k] = a[i + k];
    for (int64_t k = 0; k < count; ++k) out[i + k] = own[k];
  }
}

// buffers[0][i] = i; reads nothing.
void count_f32(void* const* buffers, int64_t begin, int64_t end, void* scratch) {
  float* out = buffers[0];
  for (int64_t i = begin; i < end; ++i) out[i] = (float)i;
}
