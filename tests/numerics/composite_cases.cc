#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {
namespace {

void AddSoftmaxes(std::vector<OpCase>& cases) {
  for (const char* op : {"softmax", "log_softmax"}) {
    auto make = [&](const std::string& name, const std::string& type, const std::string& dim, double range) {
      cases.push_back({std::string(op) + "_" + name,
                       OpClass::kComposite,
                       std::string("%r = sinter.") + op + " %a dim " + dim + " : " + type + " -> " + type,
                       {{type, -range, range}},
                       {type},
                       kFloats});
    };
    make("last", "tensor<7x5x$T>", "1", 4);
    make("first", "tensor<5x7x$T>", "0", 4);
    make("middle", "tensor<2x5x3x$T>", "1", 4);
    make("one", "tensor<3x1x$T>", "1", 4);
    make("rows", "tensor<33x1000x$T>", "1", 20);
    make("no_rows", "tensor<0x4x$T>", "1", 4);
  }
}

void AddCrossEntropies(std::vector<OpCase>& cases) {
  for (const char* reduction : {"none", "sum", "mean"}) {
    for (const char* index : {"i32", "i64"}) {
      auto make = [&](const std::string& name, const std::string& shape, const std::string& classes,
                      double lowest, const std::string& attributes) {
        std::string logits = "tensor<" + shape + classes + "x$T>", labels = "tensor<" + shape + index + ">";
        std::string result = std::string(reduction) == "none" ? "tensor<" + shape + "$T>" : "tensor<$T>";
        cases.push_back({"softmax_cross_entropy_" + name + "_" + reduction + "_" + index,
                         OpClass::kComposite,
                         std::string("%r = sinter.softmax_cross_entropy ") + reduction + " %a, %b" +
                             attributes + " : " + logits + ", " + labels + " -> " + result,
                         {{logits, -3, 3}, {labels, lowest, std::stod(classes) - 1}},
                         {result},
                         kFloats});
      };
      make("matrix", "7x", "5", 0, "");
      make("cube", "2x3x", "4", 0, "");
      make("vector", "", "5", 0, "");
      make("ignoring", "9x", "3", -1, " {ignore_label = -1 : i64}");
      make("ignoring_a_class", "9x", "4", 0, " {ignore_label = 2 : i64}");
    }
  }
}

void AddNorms(std::vector<OpCase>& cases) {
  // Scale and offset have x's type first; then they are f32 with a low-precision x.
  for (const char* channels : {"$T", "f32"}) {
    bool same = std::string(channels) == "$T";
    std::string dtypes = same ? kFloats : "bf16 f16";
    auto make = [&](const std::string& op, const std::string& name, const std::string& x,
                    const std::string& count, size_t operands, const std::string& attributes,
                    bool statistics) {
      std::string tx = "tensor<" + x + "x$T>", tc = "tensor<" + count + "x" + channels + ">";
      std::string body = (statistics ? "%r:3 = sinter." : "%r = sinter.") + op + " %a", types = tx;
      std::vector<OperandCase> given = {{tx, -2, 3}};
      for (size_t i = 1; i < operands; ++i) {
        body += ", %" + OperandName(i);
        types += ", " + tc;
        given.push_back({tc, i == 4 ? 0.5 : -1.5, 2});
      }
      std::vector<std::string> results = {tx};
      if (statistics) results.insert(results.end(), {tc, tc});
      std::string result = statistics ? "(" + tx + ", " + tc + ", " + tc + ")" : tx;
      cases.push_back({op + "_" + name + (same ? "" : "_f32_channels"), OpClass::kComposite,
                       body + attributes + " : (" + types + ") -> " + result, given, results, dtypes, same});
    };
    const std::string epsilon = " {epsilon = 1.0e-3 : f64}";
    make("layer_norm", "rows", "7x5", "5", 3, epsilon, false);
    make("layer_norm", "cube", "2x3x4", "4", 3, epsilon, false);
    make("layer_norm", "wide", "5x1003", "1003", 3, epsilon, false);
    make("rms_norm", "rows", "7x5", "5", 2, epsilon, false);
    make("rms_norm", "vector", "6", "6", 2, epsilon, false);
    make("rms_norm", "wide", "5x1003", "1003", 2, epsilon, false);
    make("batch_norm_training", "images", "3x2x2x3", "2", 3, " dim 1" + epsilon, true);
    make("batch_norm_training", "groups", "6x2x2x3", "2", 3,
         " dim 1 {epsilon = 1.0e-5 : f64, groups = 3 : i64}", true);
    make("batch_norm_training", "last", "7x4", "4", 3, " dim 1" + epsilon, true);
    make("batch_norm_training", "large", "16x3x33x17", "3", 3, " dim 1" + epsilon, true);
    make("batch_norm_inference", "images", "3x2x2x3", "2", 5, " dim 1" + epsilon, false);
    make("batch_norm_inference", "first", "4x7", "4", 5, " dim 0" + epsilon, false);
  }
}

void AddLosses(std::vector<OpCase>& cases) {
  for (const char* op : {"mse_loss", "l1_loss", "huber_loss", "bce_with_logits_loss"}) {
    for (const char* reduction : {"none", "sum", "mean"}) {
      for (const char* shape : {"", "7x5x", "20011x"}) {
        std::string type = std::string("tensor<") + shape + "$T>";
        bool none = std::string(reduction) == "none", large = std::string(shape) == "20011x";
        std::string result = none ? type : "tensor<$T>";
        std::string attributes = std::string(op) == "huber_loss" ? " {delta = 0.75 : f64}" : "";
        cases.push_back({std::string(op) + "_" + reduction + "_" + shape,
                         OpClass::kComposite,
                         std::string("%r = sinter.") + op + " " + reduction + " %a, %b" + attributes +
                             " : (" + type + ", " + type + ") -> " + result,
                         {{type}, {type, 0, 1}},
                         {result},
                         large && !none ? "f64 f32" : kFloats});
      }
    }
  }
  for (const char* shape : {"", "7x5x", "20011x"}) {
    std::string type = std::string("tensor<") + shape + "$T>";
    cases.push_back({std::string("dropout_") + shape,
                     OpClass::kArithmetic,
                     "%r = sinter.dropout %a, %b, %c stream 3 {probability = 2.5e-01 : f64} : " + type +
                         ", tensor<i64>, tensor<i64> -> " + type,
                     {{type}, {"tensor<i64>", 0, 1e9}, {"tensor<i64>", 0, 100}},
                     {type},
                     kFloats});
  }
}

}  // namespace

std::vector<OpCase> CompositeCases() {
  std::vector<OpCase> cases;
  AddSoftmaxes(cases);
  AddCrossEntropies(cases);
  AddNorms(cases);
  AddLosses(cases);
  return cases;
}

}  // namespace sinter::numerics
