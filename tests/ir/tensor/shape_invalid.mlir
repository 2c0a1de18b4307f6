// RUN: sinter-opt %s -split-input-file -verify-diagnostics

func.func @rank_9(%x: tensor<1x1x1x1x1x1x1x1x1xf32>) {
  // expected-error @+1 {{operand #0 must be a static tensor of rank 0 to 8 of f64 f32 bf16 f16 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1 f8E4M3FN f8E5M2}}
  %0 = sinter.reshape %x : tensor<1x1x1x1x1x1x1x1x1xf32> -> tensor<1xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be a static tensor}}
  %0 = sinter.reverse %x [0] : tensor<?xf32>
  return
}

// -----

func.func @iota() {
  // expected-error @+1 {{'sinter.iota' op has dimension 2, but 'tensor<2x3xi32>' has rank 2}}
  %0 = sinter.iota 2 : tensor<2x3xi32>
  return
}

// -----

func.func @reshape_count(%x: tensor<2x3x4xf32>) {
  // expected-error @+1 {{'sinter.reshape' op is a reshape of 24 elements to 20: 'tensor<2x3x4xf32>' to 'tensor<5x4xf32>'}}
  %0 = sinter.reshape %x : tensor<2x3x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @reshape_element(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.reshape' op of 'tensor<4xf32>' gives 'tensor<2x2xf32>', not 'tensor<2x2xi32>'}}
  %0 = sinter.reshape %x : tensor<4xf32> -> tensor<2x2xi32>
  return
}

// -----

func.func @transpose_length(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.transpose' op has 1 numbers in `permutation` for rank 2}}
  %0 = sinter.transpose %x [0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @transpose_twice(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.transpose' op names dimension 1 twice}}
  %0 = sinter.transpose %x [1, 1] : tensor<2x3xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @transpose_result(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.transpose' op of 'tensor<2x3xf32>' gives 'tensor<3x2xf32>', not 'tensor<2x3xf32>'}}
  %0 = sinter.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_size(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.broadcast' op of 'tensor<2x3xf32>' to 'tensor<4x3xf32>' maps dimension 0 of size 2 to dimension 0 of size 4: sizes must be equal, or the first 1}}
  %0 = sinter.broadcast %x [0, 1] : tensor<2x3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @broadcast_dim(%x: tensor<3xf32>) {
  // expected-error @+1 {{'sinter.broadcast' op has dimension -1, but 'tensor<4x3xf32>' has rank 2}}
  %0 = sinter.broadcast %x [-1] : tensor<3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @slice_range(%x: tensor<5xf32>) {
  // expected-error @+1 {{'sinter.slice' op takes 2 to 6 of dimension 0 of 'tensor<5xf32>'}}
  %0 = sinter.slice %x [2] [6] [1] : tensor<5xf32> -> tensor<4xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<5xf32>) {
  // expected-error @+1 {{'sinter.slice' op has stride 0 in dimension 0: strides start at 1}}
  %0 = sinter.slice %x [0] [5] [0] : tensor<5xf32> -> tensor<5xf32>
  return
}

// -----

func.func @slice_result(%x: tensor<5xf32>) {
  // expected-error @+1 {{'sinter.slice' op of 'tensor<5xf32>' gives 'tensor<3xf32>', not 'tensor<2xf32>'}}
  %0 = sinter.slice %x [0] [5] [2] : tensor<5xf32> -> tensor<2xf32>
  return
}

// -----

func.func @concat_none() {
  // expected-error @+1 {{'sinter.concat' op has no operands}}
  %0 = "sinter.concat"() {dim = 0 : i64} : () -> tensor<2xf32>
  return
}

// -----

func.func @concat_shapes(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{'sinter.concat' op along dimension 0 joins 'tensor<2x3xf32>' and operand 1, 'tensor<2x4xf32>': only that dimension may differ}}
  %0 = sinter.concat %x, %y dim 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @split_part(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'sinter.split' op of 'tensor<4x3xf32>' along dimension 0 has part 1, 'tensor<2x2xf32>': only that dimension may differ}}
  %0:2 = sinter.split %x dim 0 : tensor<4x3xf32> -> tensor<2x3xf32>, tensor<2x2xf32>
  return
}

// -----

func.func @split_total(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'sinter.split' op has parts of 3 in all, dimension 0 of 'tensor<4x3xf32>' is of size 4}}
  %0:2 = sinter.split %x dim 0 : tensor<4x3xf32> -> tensor<2x3xf32>, tensor<1x3xf32>
  return
}

// -----

func.func @pad_negative(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.pad' op has low -1 in dimension 0: a slice removes}}
  %0 = sinter.pad %x value 0.0 low [-1] high [0] interior [0] : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----

func.func @pad_result(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.pad' op of 'tensor<4xf32>' gives 'tensor<10xf32>', not 'tensor<9xf32>'}}
  %0 = sinter.pad %x value 0.0 low [1] high [2] interior [1] : tensor<4xf32> -> tensor<9xf32>
  return
}

// -----

func.func @reverse_dim(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.reverse' op has dimension 1, but 'tensor<4xf32>' has rank 1}}
  %0 = sinter.reverse %x [1] : tensor<4xf32>
  return
}

// -----

func.func @gather_empty(%x: tensor<0x4xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{'sinter.gather' op takes elements along dimension 0 of 'tensor<0x4xf32>', which has none}}
  %0 = sinter.gather %x[%i] dim 0 : tensor<0x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
  return
}

// -----

func.func @gather_result(%x: tensor<5x4xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{'sinter.gather' op of 'tensor<5x4xf32>' gives 'tensor<5x2xf32>', not 'tensor<2x4xf32>'}}
  %0 = sinter.gather %x[%i] dim 1 : tensor<5x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
  return
}

// -----

func.func @take_along_indices(%x: tensor<5x4xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+1 {{'sinter.take_along' op along dimension 0 of 'tensor<5x4xf32>' has indices 'tensor<2x3xi64>': only that dimension may differ}}
  %0 = sinter.take_along %x[%i] dim 0 : tensor<5x4xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  return
}

// -----

func.func @take_along_empty(%x: tensor<0x4xf32>, %i: tensor<2x4xi64>) {
  // expected-error @+1 {{'sinter.take_along' op takes elements along dimension 0 of 'tensor<0x4xf32>', which has none}}
  %0 = sinter.take_along %x[%i] dim 0 : tensor<0x4xf32>, tensor<2x4xi64> -> tensor<2x4xf32>
  return
}

// -----

func.func @scatter_add_updates(%x: tensor<5x4xf32>, %i: tensor<2xi64>, %u: tensor<4x2xf32>) {
  // expected-error @+1 {{'sinter.scatter_add' op to 'tensor<5x4xf32>' at 'tensor<2xi64>' along dimension 0 takes updates 'tensor<2x4xf32>', not 'tensor<4x2xf32>'}}
  %0 = sinter.scatter_add %x[%i], %u dim 0 : tensor<5x4xf32>, tensor<2xi64>, tensor<4x2xf32>
  return
}

// -----

func.func @scatter_updates(%x: tensor<5x4xf32>, %i: tensor<2xi64>, %u: tensor<4x2xf32>) {
  // expected-error @+1 {{'sinter.scatter' op to 'tensor<5x4xf32>' at 'tensor<2xi64>' along dimension 0 takes updates 'tensor<2x4xf32>', not 'tensor<4x2xf32>'}}
  %0 = sinter.scatter max %x[%i], %u dim 0 : tensor<5x4xf32>, tensor<2xi64>, tensor<4x2xf32>
  return
}

// -----

func.func @one_hot_rank(%i: tensor<2xi64>) {
  // expected-error @+1 {{'sinter.one_hot' op of 'tensor<2xi64>' gives 'tensor<3x5xf32>': the same dimensions and one more are wanted}}
  %0 = sinter.one_hot %i : tensor<2xi64> -> tensor<3x5xf32>
  return
}

// -----

func.func @too_large(%x: tensor<1xf32>) {
  // expected-error @+1 {{result #0 must be a static tensor of rank 0 to 8 of f64 f32 bf16 f16 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1 f8E4M3FN f8E5M2, of at most 2^47 elements}}
  %0 = sinter.broadcast %x [0] : tensor<1xf32> -> tensor<8589934592x8589934592xf32>
  return
}

// -----

func.func @pad_wraps(%x: tensor<4xf32>) {
  // expected-error @+1 {{gives 'tensor<9223372036854775807xf32>', not 'tensor<2xf32>'}}
  %0 = sinter.pad %x value 0.0 low [9223372036854775807] high [9223372036854775807] interior [0] : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @pad_interior_wraps(%x: tensor<5xf32>) {
  // expected-error @+1 {{gives 'tensor<9223372036854775807xf32>', not 'tensor<1xf32>'}}
  %0 = sinter.pad %x value 0.0 low [0] high [0] interior [4611686018427387903] : tensor<5xf32> -> tensor<1xf32>
  return
}

// -----

func.func @pad_fraction(%x: tensor<4xi32>) {
  // expected-error @+1 {{has the value 5.000000e-01, which 'i32' cannot hold: a whole number is wanted}}
  %0 = sinter.pad %x value 0.5 low [1] high [0] interior [0] : tensor<4xi32> -> tensor<5xi32>
  return
}

// -----

func.func @slice_stride(%x: tensor<16xf32>) {
  // expected-error @+1 {{gives 'tensor<1xf32>', not 'tensor<0xf32>'}}
  %0 = sinter.slice %x [0] [16] [9223372036854775807] : tensor<16xf32> -> tensor<0xf32>
  return
}
