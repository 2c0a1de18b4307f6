// Functions that LLVM's back end may call implicitly, so that a plan's shared object needs no C library:
// block copies and fills, and conversions to 16-bit floats that the target lacks. It also has the functions
// that vector loops call for the few large arguments of sine, cosine and tangent. A plan links this object
// only if it calls one of them, with hidden visibility.
#include <stddef.h>
#include <stdint.h>

// Compiled into this object, which must not depend on another.
#include "sinter/kernels/cpu/math/sixteen_bit_floats.c"
#include "sinter/kernels/cpu/math/trigonometry_f64.c"

typedef uint8_t Block __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint8_t HalfBlock __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t Word __attribute__((aligned(1), may_alias));

// From this many bytes, the CPU's string instructions are at least as fast as a loop of vector moves.
enum { kStringThreshold = 2048 };

// Copies size bytes, of one to two values of the type, as the first and the last value. Both are read first.
#define COPY_ENDS(Type, target, source, size)                           \
  do {                                                                  \
    const Type first = *(const Type*)(source);                          \
    const Type last = *(const Type*)((source) + (size) - sizeof(Type)); \
    *(Type*)(target) = first;                                           \
    *(Type*)((target) + (size) - sizeof(Type)) = last;                  \
  } while (0)

// Not `restrict`: memmove also copies to a lower address that overlaps the source.
void* memcpy(void* to, const void* from, size_t size) {
  uint8_t* target = to;
  const uint8_t* source = from;
  if (size >= kStringThreshold) {
    __asm__ volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(size) : : "memory");
  } else if (size >= sizeof(Block)) {
    // The last block overlaps the one before. It is read before a block overwrites it.
    const Block last = *(const Block*)(source + size - sizeof(Block));
    uint8_t* const end = target + size - sizeof(Block);
    for (; target < end; target += sizeof(Block), source += sizeof(Block))
      *(Block*)target = *(const Block*)source;
    *(Block*)end = last;
  } else if (size >= sizeof(HalfBlock)) {
    COPY_ENDS(HalfBlock, target, source, size);
  } else if (size >= sizeof(Word)) {
    COPY_ENDS(Word, target, source, size);
  } else {
    for (; size > 0; --size) *target++ = *source++;
  }
  return to;
}

void* memmove(void* to, const void* from, size_t size) {
  if ((uintptr_t)to - (uintptr_t)from >= size) return memcpy(to, from, size);
  uint8_t* target = (uint8_t*)to + size;
  const uint8_t* source = (const uint8_t*)from + size;
  for (; size >= sizeof(Block); size -= sizeof(Block)) {
    target -= sizeof(Block);
    source -= sizeof(Block);
    Block block = *(const Block*)source;
    *(Block*)target = block;
  }
  for (; size > 0; --size) *--target = *--source;
  return to;
}

void* memset(void* to, int value, size_t size) {
  uint8_t* target = to;
  if (size >= kStringThreshold) {
    __asm__ volatile("rep stosb" : "+D"(target), "+c"(size) : "a"(value) : "memory");
    return to;
  }
  Block block = (Block){} + (uint8_t)value;
  for (; size >= sizeof(Block); size -= sizeof(Block)) {
    *(Block*)target = block;
    target += sizeof(Block);
  }
  for (; size > 0; --size) *target++ = (uint8_t)value;
  return to;
}

static __bf16 AsBf16(uint16_t bits) {
  __bf16 x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

static _Float16 AsF16(uint16_t bits) {
  _Float16 x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

__bf16 __truncsfbf2(float x) { return AsBf16(sn_bf16_from_f32(x)); }
__bf16 __truncdfbf2(double x) { return AsBf16(sn_bf16_from_f64(x)); }
_Float16 __truncsfhf2(float x) { return AsF16(sn_f16_from_f32(x)); }
_Float16 __truncdfhf2(double x) { return AsF16(sn_f16_from_f64(x)); }
