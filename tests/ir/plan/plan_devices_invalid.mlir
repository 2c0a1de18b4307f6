// RUN: sinter-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{names gpu:1 before gpu:0; expected each device once, CPUs before GPUs, by index}}
plan.function @order on [#sinter.device<gpu, 1>, #sinter.device<gpu, 0>] {
}

// -----

// expected-error@+1 {{names gpu:0 before cpu:1; expected each device once, CPUs before GPUs, by index}}
plan.function @kinds on [#sinter.device<gpu, 0>, #sinter.device<cpu, 1>] {
}

// -----

// expected-error@+1 {{names cpu:0 before cpu:0; expected each device once, CPUs before GPUs, by index}}
plan.function @twice on [#sinter.device<cpu, 0>, #sinter.device<cpu, 0>] {
}

// -----

// expected-error@+1 {{has 2 device(s) and 1 arena(s); expected an arena a device}}
plan.function @arenas on [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] arena 64 {
}

// -----

// expected-error@+1 {{has 0 device(s) and 0 arena(s); expected an arena a device}}
plan.function @nowhere on [] {
}

// -----

plan.function @elsewhere on [#sinter.device<gpu, 0>] {
  // expected-error@+1 {{is on cpu:0, which 'elsewhere' does not name; expected one of the devices behind its `on`}}
  %x = plan.input "x" : !plan.buffer<tensor<4xf32>>
}
