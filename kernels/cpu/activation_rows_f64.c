// The loop of activation_rows.c for f64: one file cannot include the texts for both types.
#define SINTER_ACTIVATION_F64 1
#include "sinter/kernels/cpu/activation_rows.c"
