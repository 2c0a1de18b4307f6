// RUN: not sinter-opt %s --sinter-propagate-placement=device=tpu:0 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not sinter-opt %s --sinter-propagate-placement=copies=never 2>&1 | FileCheck %s --check-prefix=COPIES

// DEVICE: cannot place on 'tpu:0' with copies 'explicit'; expected a device of kind cpu or gpu, such as gpu:0, and explicit or automatic
// COPIES: cannot place on 'cpu:0' with copies 'never'; expected a device of kind cpu or gpu, such as gpu:0, and explicit or automatic
func.func @f() {
  return
}
