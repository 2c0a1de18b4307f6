// The loops of activation_rows.c for f64. A separate file, because one file cannot include the sources of
// both types.
#define SINTER_ACTIVATION_F64 1
#include "sinter/kernels/cpu/math/activation_rows.c"
