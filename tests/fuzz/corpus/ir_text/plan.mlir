plan.function @f arena 64 {
  %x = plan.input "x" : !plan.buffer<tensor<4xf32>>
  %y = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  plan.call "k" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%y : !plan.buffer<tensor<4xf32>>) {
  ^bb0(%0: tensor<4xf32>):
    %1 = sinter.exp %0 : tensor<4xf32>
    sinter.yield %1 : tensor<4xf32>
  }
  %v = plan.view %y at 4 : !plan.buffer<tensor<4xf32>> -> !plan.buffer<tensor<2xf32>>
  plan.output "y" %y : !plan.buffer<tensor<4xf32>>
}
