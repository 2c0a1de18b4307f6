// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @two(%q: tensor<2x5x4x8xf32>) {
  // expected-error@+1 {{has 2 inputs; expected q, k and v, or one tensor that holds all three}}
  %0 = sinter.attention %q, %q {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @packed(%q: tensor<2x5x2x4x8xf32>) {
  // expected-error@+1 {{has q, k and v in one tensor of type 'tensor<2x5x2x4x8xf32>'; expected [batch, positions, 3, heads, width]}}
  %0 = sinter.attention %q {scale = 1.0 : f64} : (tensor<2x5x2x4x8xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @rank(%q: tensor<2x5x4x8xf32>, %k: tensor<5x4x8xf32>) {
  // expected-error@+1 {{has q of type 'tensor<2x5x4x8xf32>' and k of type 'tensor<5x4x8xf32>'; expected [batch, positions, heads, width]}}
  %0 = sinter.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<5x4x8xf32>, tensor<5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @groups(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x3x8xf32>) {
  // expected-error@+1 {{has 4 heads of q and 3 of k; expected a number of heads of k that divides that of q}}
  %0 = sinter.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x3x8xf32>, tensor<2x5x3x8xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @width(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x7xf32>) {
  // expected-error@+1 {{has k of type 'tensor<2x5x4x7xf32>'; expected 'tensor<2x5x4x8xf32>'}}
  %0 = sinter.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x7xf32>, tensor<2x5x4x7xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @values(%q: tensor<2x5x4x8xf32>, %k: tensor<2x6x4x8xf32>) {
  // expected-error@+1 {{has v of type 'tensor<2x5x4x8xf32>'; expected 'tensor<2x6x4x8xf32>'}}
  %0 = sinter.attention %q, %k, %q {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @no_keys(%q: tensor<2x5x4x8xf32>, %k: tensor<2x0x4x8xf32>) {
  // expected-error@+1 {{has 0 positions of k, 4 heads and a width of 8; expected at least 1 of each}}
  %0 = sinter.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x0x4x8xf32>, tensor<2x0x4x8xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @causal(%q: tensor<2x5x4x8xf32>, %k: tensor<2x4x4x8xf32>) {
  // expected-error@+1 {{is causal with 5 positions of q and 4 of k; expected at least as many of k, because q's are the last}}
  %0 = sinter.attention %q, %k, %k causal {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @window(%q: tensor<2x5x4x8xf32>, %k: tensor<2x4x4x8xf32>) {
  // expected-error@+1 {{has a window with 5 positions of q and 4 of k; expected at least as many of k, because q's are the last}}
  %0 = sinter.attention %q, %k, %k window 2 {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @negative_window(%q: tensor<2x5x3x4x8xf32>) {
  // expected-error@+1 {{has a window of -1; expected 0 for none, or more}}
  %0 = sinter.attention %q window -1 {scale = 1.0 : f64} : (tensor<2x5x3x4x8xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @bias_shape(%q: tensor<2x5x3x4x8xf32>, %b: tensor<2x2x5x5xf32>) {
  // expected-error@+1 {{has a bias of type 'tensor<2x2x5x5xf32>'; expected [1 or 2, 1 or 4, 1 or 5, 5]}}
  %0 = sinter.attention %q bias %b {scale = 1.0 : f64} : (tensor<2x5x3x4x8xf32>, tensor<2x2x5x5xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @bias_type(%q: tensor<2x5x3x4x8xbf16>, %b: tensor<2x4x5x5xf16>) {
  // expected-error@+1 {{has a bias of 'f16'; expected f32 or 'bf16'}}
  %0 = sinter.attention %q bias %b {scale = 1.0 : f64} : (tensor<2x5x3x4x8xbf16>, tensor<2x4x5x5xf16>) -> tensor<2x5x4x8xbf16>
  return
}

// -----

func.func @scale(%q: tensor<2x5x3x4x8xf32>) {
  // expected-error@+1 {{has scale INF; expected a finite number}}
  %0 = sinter.attention %q {scale = 0x7FF0000000000000 : f64} : (tensor<2x5x3x4x8xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @math(%q: tensor<2x5x3x4x8xbf16>) {
  // expected-error@+1 {{has math mode tf32 for 'bf16'; expected ieee, the other modes are for f32}}
  %0 = sinter.attention %q math tf32 {scale = 1.0 : f64} : (tensor<2x5x3x4x8xbf16>) -> tensor<2x5x4x8xbf16>
  return
}

// -----

func.func @result(%q: tensor<2x5x3x4x8xf32>) {
  // expected-error@+1 {{has a result of type 'tensor<2x5x8x4xf32>'; expected 'tensor<2x5x4x8xf32>'}}
  %0 = sinter.attention %q {scale = 1.0 : f64} : (tensor<2x5x3x4x8xf32>) -> tensor<2x5x8x4xf32>
  return
}

// -----

func.func @stats(%q: tensor<2x5x3x4x8xbf16>) {
  // expected-error@+1 {{has stats of type 'tensor<2x4x5xbf16>'; expected 'tensor<2x4x5xf32>'}}
  %0:2 = sinter.attention %q {scale = 1.0 : f64} : (tensor<2x5x3x4x8xbf16>) -> (tensor<2x5x4x8xbf16>, tensor<2x4x5xbf16>)
  return
}

// -----

func.func @gradients(%q: tensor<2x5x3x4x8xf32>, %o: tensor<2x5x4x8xf32>, %s: tensor<2x4x5xf32>) {
  // expected-error@+1 {{has results of other types than its inputs; expected the gradient of each}}
  %0 = sinter.attention_grad %q result %o stats %s gradient %o {scale = 1.0 : f64} : (tensor<2x5x3x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x4x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return
}

// -----

func.func @o(%q: tensor<2x5x3x4x8xf32>, %o: tensor<2x5x4x8xf32>, %g: tensor<2x5x4x7xf32>, %s: tensor<2x4x5xf32>) {
  // expected-error@+1 {{has g of type 'tensor<2x5x4x7xf32>'; expected 'tensor<2x5x4x8xf32>'}}
  %0 = sinter.attention_grad %q result %o stats %s gradient %g {scale = 1.0 : f64} : (tensor<2x5x3x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x4x5xf32>, tensor<2x5x4x7xf32>) -> tensor<2x5x3x4x8xf32>
  return
}

// -----

func.func @few_heads(%q: tensor<2x1x8x8xf32>, %k: tensor<2x3x7x8xf32>) {
  // expected-error@+1 {{has 8 heads from 0 on, of q 'tensor<2x1x8x8xf32>' and k 'tensor<2x3x7x8xf32>'; expected heads that q has, a multiple of k's, and keys}}
  %0 = sinter.few_queries_attention %q, %k, %k heads 8 by_head {scale = 1.0 : f64} : (tensor<2x1x8x8xf32>, tensor<2x3x7x8xf32>, tensor<2x3x7x8xf32>) -> tensor<2x1x8x8xf32>
  return
}

// -----

func.func @few_rows(%q: tensor<2x1x8x8xf32>, %k: tensor<2x2x7x8xf32>, %at: tensor<1xi32>) {
  // expected-error@+1 {{has a row of type 'tensor<2x1x8x8xf32>' with heads from 7 on and a cache of type 'tensor<2x2x7x8xf32>'; expected 'tensor<2x1x2x8xf32>' and 'tensor<2x2x7x8xf32>'}}
  %0:3 = sinter.few_queries_attention %q, %k, %k rows %q, %q at %at heads 8 by_head {first_key = 7 : i64, scale = 1.0 : f64}
      : (tensor<2x1x8x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x8xf32>, tensor<2x1x8x8xf32>, tensor<2x1x8x8xf32>, tensor<1xi32>) -> (tensor<2x1x8x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x8xf32>)
  return
}
