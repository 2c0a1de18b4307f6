// RUN: sinter-opt %s --device=gpu:0 --sinter-gather-scatters --canonicalize | FileCheck %s
// RUN: sinter-opt %s --sinter-gather-scatters | FileCheck %s --check-prefix=CPU

// The gradient of an image that is resized from 2 columns to 5: the first of them gets updates 0, 1 and 2, the
// second 3 and 4. Its third update does not exist.
// CHECK-LABEL: func.func @columns
// CHECK-DAG: %[[EXIST:.*]] = sinter.constant dense<[true, false]> : tensor<2xi1>
// CHECK-DAG: %[[THIRD:.*]] = sinter.constant dense<[2, 0]> : tensor<2xi32>
// CHECK-DAG: %[[SECOND:.*]] = sinter.constant dense<[1, 4]> : tensor<2xi32>
// CHECK-DAG: %[[FIRST:.*]] = sinter.constant dense<[0, 3]> : tensor<2xi32>
// CHECK: sinter.gather %{{[^ ]*}}[%[[FIRST]]] dim 3
// CHECK: sinter.gather %{{[^ ]*}}[%[[SECOND]]] dim 3
// CHECK: %[[U:.*]] = sinter.gather %{{[^ ]*}}[%[[THIRD]]] dim 3
// CHECK: sinter.select %{{.*}}, %[[U]]
// CHECK-NOT: sinter.scatter_add
// CHECK: return
// CPU-LABEL: func.func @columns
// CPU: sinter.scatter_add
func.func @columns(%g: tensor<4x3x8x5xf32>) -> tensor<4x3x8x2xf32> {
  %i = sinter.constant dense<[0, 0, 0, 1, 1]> : tensor<5xi32>
  %z = sinter.constant dense<0.0> : tensor<4x3x8x2xf32>
  %y = sinter.scatter_add %z [%i], %g dim 3 : tensor<4x3x8x2xf32>, tensor<5xi32>, tensor<4x3x8x5xf32>
  return %y : tensor<4x3x8x2xf32>
}

// The sum of types of 16 bits is rounded once.
// CHECK-LABEL: func.func @low_precision
// CHECK: sinter.cast %{{.*}} -> tensor<4x2xf32>
// CHECK: sinter.add %{{.*}} : tensor<4x2xf32>
// CHECK-NOT: sinter.scatter_add
// CHECK: return
func.func @low_precision(%x: tensor<4x2xbf16>, %g: tensor<4x4xbf16>) -> tensor<4x2xbf16> {
  %i = sinter.constant dense<[1, 0, 1, 0]> : tensor<4xi64>
  %y = sinter.scatter_add %x [%i], %g dim 1 : tensor<4x2xbf16>, tensor<4xi64>, tensor<4x4xbf16>
  return %y : tensor<4x2xbf16>
}

// Unknown indices, few updates of many places, and many updates of one place stay.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: sinter.scatter_add
func.func @others(%x: tensor<100xf32>, %few: tensor<3xf32>, %many: tensor<20xf32>, %i: tensor<20xi32>)
    -> (tensor<100xf32>, tensor<100xf32>, tensor<100xf32>) {
  %places = sinter.constant dense<[5, 50, 7]> : tensor<3xi32>
  %one = sinter.constant dense<3> : tensor<20xi32>
  %a = sinter.scatter_add %x [%places], %few dim 0 : tensor<100xf32>, tensor<3xi32>, tensor<3xf32>
  %b = sinter.scatter_add %x [%one], %many dim 0 : tensor<100xf32>, tensor<20xi32>, tensor<20xf32>
  %c = sinter.scatter_add %x [%i], %many dim 0 : tensor<100xf32>, tensor<20xi32>, tensor<20xf32>
  return %a, %b, %c : tensor<100xf32>, tensor<100xf32>, tensor<100xf32>
}
