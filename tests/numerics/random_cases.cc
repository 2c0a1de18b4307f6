#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {

std::vector<OpCase> RandomCases() {
  std::vector<OpCase> cases;
  // Most steps are above 2^32, so that their high word counts.
  const std::vector<OperandCase> counters = {{"tensor<i64>", -1e18, 1e18}, {"tensor<i64>", 0, 1e12}};
  const std::string of = " : tensor<i64>, tensor<i64> -> ";
  for (const char* shape : {"", "7x", "33x17x", "100003x"}) {
    std::string type = std::string("tensor<") + shape + "$T>";
    auto make = [&](const std::string& op, const std::string& parameters, OpClass op_class,
                    const std::string& dtypes) {
      cases.push_back({op + "_" + shape,
                       op_class,
                       "%r = sinter." + op + " %a, %b stream 4000000000 " + parameters + of + type,
                       counters,
                       {type},
                       dtypes,
                       false});
    };
    make("random_uniform", "low 0.0 high 1.0", OpClass::kArithmetic, kFloats);
    make("random_uniform", "low -3.0 high 5.0", OpClass::kTranscendental, kFloats);
    make("random_normal", "mean 0.0 stddev 1.0", OpClass::kComposite, kFloats);
    make("random_normal", "mean 2.0 stddev 0.5", OpClass::kComposite, kFloats);
    make("random_bernoulli", "probability 3.0e-01", OpClass::kExact, "i1");
  }
  // A part of a tensor of more than 2^32 elements.
  for (const auto& [op, op_class, dtypes] : {std::tuple{"random_uniform", OpClass::kArithmetic, kFloats},
                                             {"random_normal", OpClass::kComposite, kFloats},
                                             {"random_bernoulli", OpClass::kExact, "i1"}}) {
    const std::string parameters = std::string(op) == "random_uniform"  ? "low 0.0 high 1.0"
                                   : std::string(op) == "random_normal" ? "mean 2.0 stddev 0.5"
                                                                        : "probability 3.0e-01";
    std::vector<OperandCase> operands = counters;
    operands.insert(operands.end(), {{"tensor<i64>", 0, 90000}, {"tensor<i64>", 0, 80000}});
    cases.push_back({std::string(op) + "_of_a_part",
                     op_class,
                     std::string("%r = sinter.") + op + " %a, %b stream 5 " + parameters +
                         " origin [%c, %d] of [90040, 80024]" + of + "tensor<33x17x$T>",
                     operands,
                     {"tensor<33x17x$T>"},
                     dtypes,
                     false});
  }
  for (const char* shape : {"1x", "0x", "7x", "20011x"}) {
    std::string type = std::string("tensor<") + shape + "$T>";
    cases.push_back({std::string("random_permutation_") + shape,
                     OpClass::kExact,
                     "%r = sinter.random_permutation %a, %b stream 7" + of + type,
                     counters,
                     {type},
                     "i32 i64",
                     false});
  }
  return cases;
}

}  // namespace sinter::numerics
