// RUN: sinter-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: plan.function @train variant_of "train" ranks [0, 2]
// CHECK: plan.input "x" part(<tensor<6x4xf32> from 0 by [3]>) : <tensor<3x4xf32>>
// CHECK: plan.rank_value 0 by [3] : <tensor<i64>>
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  plan.function @train variant_of "train" ranks [0, 2] {
    %x = plan.input "x" part(#sinter.part<tensor<6x4xf32> from 0 by [3]>) : !plan.buffer<tensor<3x4xf32>>
    %r = plan.rank_value 0 by [3] : !plan.buffer<tensor<i64>>
  }
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  plan.function @train {
    // expected-error @below {{is a part of type 'tensor<3x5xf32>' of 'tensor<6x4xf32>'; expected equal types but for dimension 0}}
    %x = plan.input "x" part(#sinter.part<tensor<6x4xf32> from 0 by [3]>) : !plan.buffer<tensor<3x5xf32>>
  }
}

// -----

plan.function @train {
  // expected-error @below {{has 1 strides; expected one for each of the 0 axes of the module's mesh}}
  %x = plan.input "x" part(#sinter.part<tensor<6x4xf32> from 0 by [3]>) : !plan.buffer<tensor<3x4xf32>>
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  plan.function @train {
    // expected-error @below {{is of type 'tensor<i32>'; expected tensor<i64>}}
    %r = plan.rank_value 0 by [3] : !plan.buffer<tensor<i32>>
  }
}
