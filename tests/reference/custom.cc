// User-defined kernels. The reference cannot evaluate the C++ text of a body, so this file repeats the bodies
// of the case table (tests/numerics/custom_cases.cc).
#include <cmath>

#include "sinter/ir/dialect/ops.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

using Kernel = std::vector<Value> (*)(const Call& call);

std::vector<Value> SquaredDifference(const Call& call) {
  Value z = call.Result();
  for (int64_t i = 0; i < z.size(); ++i) {
    if (z.is_real()) {
      double d = call.in[0].reals[i] - call.in[1].reals[i];
      z.reals[i] = d * d;
    } else {
      int64_t d = call.in[0].ints[i] - call.in[1].ints[i];
      z.ints[i] = d * d;
    }
  }
  return {z};
}

std::vector<Value> Pick(const Call& call) {
  Value z = call.Result();
  for (int64_t i = 0; i < z.size(); ++i) z.Copy(i, call.in[0], call.in[1].ints[i]);
  return {z};
}

std::vector<Value> Mixed(const Call& call) {
  Value z = call.Result(0), w = call.Result(1);
  for (int64_t i = 0; i < z.size(); ++i) {
    z.reals[i] = call.in[0].Number(i) * call.in[1].Number(i) + call.in[2].Number(i);
    w.ints[i] = call.in[2].ints[i] > 0;
  }
  return {z, w};
}

std::vector<Value> Mathematics(const Call& call) {
  Value z = call.Result();
  for (int64_t i = 0; i < z.size(); ++i) {
    double x = call.in[0].reals[i];
    z.reals[i] = std::exp(x) + std::log1p(std::fabs(x)) + std::fmax(std::sin(x), 0) + std::sqrt(std::fabs(x));
  }
  return {z};
}

Kernel Find(const std::string& body) {
  static const auto* kernels = new std::map<std::string, Kernel>{
      {"z = (x - y) * (x - y)", SquaredDifference},
      {"z = table[at]", Pick},
      {"z = x * y + c; w = c > 0;", Mixed},
      {"z = exp(x) + log1p(fabs(x)) + max(sin(x), T(0)) + sqrt(abs(x));", Mathematics},
  };
  auto found = kernels->find(body);
  return found == kernels->end() ? nullptr : found->second;
}

std::vector<Value> ElementwiseKernel(const Call& call) {
  Kernel kernel = Find(llvm::cast<ir::ElementwiseKernelOp>(call.op).getBody().str());
  return kernel ? kernel(call) : std::vector<Value>();
}

}  // namespace

void AddCustomOps(OpTable& table) { table["sinter.elementwise_kernel"] = ElementwiseKernel; }

}  // namespace sinter::reference
