// RUN: sinter-opt %s -split-input-file -verify-diagnostics

func.func @seed(%seed: tensor<2xi64>, %step: tensor<i64>) {
  // expected-error @+1 {{'sinter.random_bernoulli' op has seed 'tensor<2xi64>', not tensor<i64>}}
  %0 = sinter.random_bernoulli %seed, %step stream 0 probability 0.5 : tensor<2xi64>, tensor<i64> -> tensor<4xi1>
  return
}

// -----

func.func @step(%seed: tensor<i64>, %step: tensor<i32>) {
  // expected-error @+1 {{'sinter.random_bernoulli' op has step 'tensor<i32>', not tensor<i64>}}
  %0 = sinter.random_bernoulli %seed, %step stream 0 probability 0.5 : tensor<i64>, tensor<i32> -> tensor<4xi1>
  return
}

// -----

func.func @stream(%s: tensor<i64>) {
  // expected-error @+1 {{'sinter.random_permutation' op has stream -1: streams are 0 to 4294967295}}
  %0 = sinter.random_permutation %s, %s stream -1 : tensor<i64>, tensor<i64> -> tensor<4xi64>
  return
}

// -----

func.func @uniform(%s: tensor<i64>) {
  // expected-error @+1 {{'sinter.random_uniform' op has low 1.000000e+00 and high 0.000000e+00: both must be finite, low not above high}}
  %0 = sinter.random_uniform %s, %s stream 0 low 1.0 high 0.0 : tensor<i64>, tensor<i64> -> tensor<4xf32>
  return
}

// -----

func.func @normal(%s: tensor<i64>) {
  // expected-error @+1 {{'sinter.random_normal' op has mean 0.000000e+00 and stddev -1.000000e+00: both must be finite, stddev not negative}}
  %0 = sinter.random_normal %s, %s stream 0 mean 0.0 stddev -1.0 : tensor<i64>, tensor<i64> -> tensor<4xf32>
  return
}

// -----

func.func @bernoulli(%s: tensor<i64>) {
  // expected-error @+1 {{'sinter.random_bernoulli' op has probability 1.500000e+00: it must be 0 to 1}}
  %0 = sinter.random_bernoulli %s, %s stream 0 probability 1.5 : tensor<i64>, tensor<i64> -> tensor<4xi1>
  return
}

// -----

func.func @permutation(%s: tensor<i64>) {
  // expected-error @+1 {{'sinter.random_permutation' op gives 'tensor<2x2xi64>': a permutation has rank 1}}
  %0 = sinter.random_permutation %s, %s stream 0 : tensor<i64>, tensor<i64> -> tensor<2x2xi64>
  return
}

// -----

func.func @origin_of_one_dimension(%s: tensor<i64>) {
  // expected-error @+1 {{'sinter.random_normal' op has 1 positions of a whole of 2 dimensions; expected one for each of the 2 dimensions of the result}}
  %0 = sinter.random_normal %s, %s stream 0 mean 0.0 stddev 1.0 origin [%s] of [8, 4] : tensor<i64>, tensor<i64> -> tensor<4x4xf32>
  return
}

// -----

func.func @larger_than_the_whole(%s: tensor<i64>) {
  // expected-error @+1 {{'sinter.random_normal' op has size 4 in dimension 1 and is a part of a whole of 3; expected no more than the whole}}
  %0 = sinter.random_normal %s, %s stream 0 mean 0.0 stddev 1.0 origin [%s, %s] of [8, 3] : tensor<i64>, tensor<i64> -> tensor<4x4xf32>
  return
}

// -----

func.func @whole_is_negative(%s: tensor<i64>) {
  // expected-error @+1 {{'sinter.random_normal' op has size 0 in dimension 0 and is a part of a whole of -1; expected no more than the whole}}
  %0 = sinter.random_normal %s, %s stream 0 mean 0.0 stddev 1.0 origin [%s] of [-1] : tensor<i64>, tensor<i64> -> tensor<0xf32>
  return
}

// -----

func.func @whole_is_too_large(%s: tensor<i64>) {
  // expected-error @+1 {{'sinter.random_normal' op is a part of a whole that has more than 2^47 elements}}
  %0 = sinter.random_normal %s, %s stream 0 mean 0.0 stddev 1.0 origin [%s] of [140737488355329] : tensor<i64>, tensor<i64> -> tensor<4xf32>
  return
}
