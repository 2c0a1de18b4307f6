// Ops of the room ir/program: copies, and loops, whose bodies are ops of other families.
#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {

namespace {

constexpr char kCell[] =
    R"(%r:2 = sinter.scan $N $DIRECTION carry(%a : tensor<2x3x$T>) over(%b : tensor<$Nx2x3x$T>) with(%c : tensor<3x3x$T>)
      -> (tensor<2x3x$T>, tensor<$Nx2x3x$T>) {
  ^bb0(%i: tensor<i64>, %h: tensor<2x3x$T>, %x: tensor<2x3x$T>, %w: tensor<3x3x$T>):
    %p = sinter.matmul %h, %w : (tensor<2x3x$T>, tensor<3x3x$T>) -> tensor<2x3x$T>
    %s = sinter.add %p, %x : tensor<2x3x$T>
    %n = sinter.tanh %s : tensor<2x3x$T>
    %y = sinter.mul %n, %h : tensor<2x3x$T>
    sinter.yield %n, %y : tensor<2x3x$T>, tensor<2x3x$T>
  })";

OpCase Cell(const std::string& name, int trips, const std::string& direction) {
  const std::string stack = "tensor<" + std::to_string(trips) + "x2x3x$T>";
  return {.name = name,
          .op_class = OpClass::kTranscendental,
          .body = Replace(Replace(kCell, "$N", std::to_string(trips)), "$DIRECTION", direction),
          .operands = {{"tensor<2x3x$T>"}, {stack}, {"tensor<3x3x$T>"}},
          .results = {"tensor<2x3x$T>", stack},
          .dtypes = "f64 f32"};
}

}  // namespace

std::vector<OpCase> PlacementCases() {
  constexpr OpClass kExact = OpClass::kExact;
  return {
      {"copy",
       kExact,
       "%r = sinter.copy %a to <cpu, 0> : tensor<3x5x$T>",
       {{"tensor<3x5x$T>"}},
       {"tensor<3x5x$T>"},
       kAnything},
      {"copy_like",
       kExact,
       "%r = sinter.copy %a like %b of tensor<3x$T> : tensor<2x$T>",
       {{"tensor<2x$T>"}, {"tensor<3x$T>"}},
       {"tensor<2x$T>"},
       kFloats},
      {"clone",
       kExact,
       "%r = sinter.clone %a : tensor<31x$T>",
       {{"tensor<31x$T>"}},
       {"tensor<31x$T>"},
       kAnything},
      {"clone_between_ops",
       kExact,
       "%0 = sinter.abs %a : tensor<7x3x$T>\n  %1 = sinter.clone %0 : tensor<7x3x$T>\n"
       "  %2 = sinter.clone %0 : tensor<7x3x$T>\n  %r = sinter.maximum %1, %2 : tensor<7x3x$T>",
       {{"tensor<7x3x$T>"}},
       {"tensor<7x3x$T>"},
       kNumbers,
       /*has_gradient=*/false},
  };
}

std::vector<OpCase> ControlCases() {
  return {
      Cell("scan_cell", 4, ""),
      Cell("scan_reverse", 4, "reverse"),
      Cell("scan_once", 1, ""),
      Cell("scan_never", 0, ""),
      // The number of the trip, integers, and carries that trade places.
      {.name = "scan_trips",
       .op_class = OpClass::kExact,
       .body =
           R"(%r:3 = sinter.scan 5 carry(%a, %b : tensor<3x$T>, tensor<3x$T>) -> (tensor<3x$T>, tensor<3x$T>, tensor<5xi64>) {
  ^bb0(%i: tensor<i64>, %x: tensor<3x$T>, %y: tensor<3x$T>):
    %n = sinter.cast %i : tensor<i64> -> tensor<$T>
    %all = sinter.broadcast %n [] : tensor<$T> -> tensor<3x$T>
    %z = sinter.add %y, %all : tensor<3x$T>
    sinter.yield %z, %x, %i : tensor<3x$T>, tensor<3x$T>, tensor<i64>
  })",
       .operands = {{"tensor<3x$T>", -3, 3}, {"tensor<3x$T>", -3, 3}},
       .results = {"tensor<3x$T>", "tensor<3x$T>", "tensor<5xi64>"},
       .dtypes = "i32 i64",
       .has_gradient = false},
      {.name = "scan_nested",
       .op_class = OpClass::kTranscendental,
       .body =
           R"(%r:2 = sinter.scan 3 carry(%a : tensor<2x$T>) over(%b : tensor<3x4x2x$T>) with(%c : tensor<2x$T>)
      -> (tensor<2x$T>, tensor<3x4x2x$T>) {
  ^bb0(%i: tensor<i64>, %h: tensor<2x$T>, %x: tensor<4x2x$T>, %w: tensor<2x$T>):
    %s:2 = sinter.scan 4 reverse carry(%h : tensor<2x$T>) over(%x : tensor<4x2x$T>) with(%w : tensor<2x$T>)
      -> (tensor<2x$T>, tensor<4x2x$T>) {
    ^bb0(%k: tensor<i64>, %g: tensor<2x$T>, %y: tensor<2x$T>, %v: tensor<2x$T>):
      %m = sinter.mul %g, %v : tensor<2x$T>
      %q = sinter.add %m, %y : tensor<2x$T>
      %t = sinter.tanh %q : tensor<2x$T>
      sinter.yield %t, %m : tensor<2x$T>, tensor<2x$T>
    }
    sinter.yield %s#0, %s#1 : tensor<2x$T>, tensor<4x2x$T>
  })",
       .operands = {{"tensor<2x$T>"}, {"tensor<3x4x2x$T>"}, {"tensor<2x$T>"}},
       .results = {"tensor<2x$T>", "tensor<3x4x2x$T>"},
       .dtypes = "f64 f32"},
  };
}

}  // namespace sinter::numerics
