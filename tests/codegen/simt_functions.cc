// Functions that a kernel's text calls: this machine's math functions, and functions of the running block.
#include <cmath>

#include "sinter/runtime/host/half.h"
#include "sinter/tests/codegen/simt_block.h"

namespace sinter::codegen {

namespace {

uint16_t ToBf16(float x) { return BFloat16::FromFloat(x).bits; }
uint16_t ToF16(float x) { return Float16::FromFloat(x).bits; }
float FromF16(uint16_t bits) { return Float16{bits}.ToFloat(); }

void Read(const void* from, uint32_t bytes) { SimtBlock::Running().Read(from, bytes); }
void Misaligned(const void* at, uint32_t bytes) { SimtBlock::Running().Misaligned(at, bytes); }
uint64_t Shuffle(uint32_t kind, uint32_t mask, uint64_t bits, int argument, int width) {
  return SimtBlock::Running().Shuffle(static_cast<SimtShuffle>(kind), mask, bits, argument, width);
}
void Barrier() { SimtBlock::Running().Barrier(); }
char* Shared(uint32_t slot, uint32_t bytes) { return SimtBlock::Running().Shared(slot, bytes); }

template <typename F>
void* Address(F* function) {
  return reinterpret_cast<void*>(function);
}

// Adds a function for f32, whose name ends in f, and for f64.
void AddUnary(std::vector<SimtHostFunction>& table, const char* single, float (*f)(float), const char* name,
              double (*d)(double)) {
  table.push_back({"float", single, "float", Address(f)});
  table.push_back({"double", name, "double", Address(d)});
}
void AddBinary(std::vector<SimtHostFunction>& table, const char* single, float (*f)(float, float),
               const char* name, double (*d)(double, double)) {
  table.push_back({"float", single, "float, float", Address(f)});
  table.push_back({"double", name, "double, double", Address(d)});
}

std::vector<SimtHostFunction> MakeTable() {
  std::vector<SimtHostFunction> table = {
      {"void", "sn_host_read", "const void*, unsigned", Address(Read)},
      {"void", "sn_host_misaligned", "const void*, unsigned", Address(Misaligned)},
      {"unsigned long long", "sn_host_shuffle", "unsigned, unsigned, unsigned long long, int, int",
       Address(Shuffle)},
      {"void", "sn_host_barrier", "", Address(Barrier)},
      {"char*", "sn_host_shared", "unsigned, unsigned", Address(Shared)},
      {"unsigned short", "sn_host_to_bf16", "float", Address(ToBf16)},
      {"unsigned short", "sn_host_to_f16", "float", Address(ToF16)},
      {"float", "sn_host_from_f16", "unsigned short", Address(FromF16)},
      {"float", "fmaf", "float, float, float", Address(::fmaf)},
      {"double", "fma", "double, double, double",
       Address(static_cast<double (*)(double, double, double)>(::fma))},
  };
  AddUnary(table, "ceilf", ::ceilf, "ceil", ::ceil);
  AddUnary(table, "cosf", ::cosf, "cos", ::cos);
  AddUnary(table, "erff", ::erff, "erf", ::erf);
  AddUnary(table, "expf", ::expf, "exp", ::exp);
  AddUnary(table, "exp2f", ::exp2f, "exp2", ::exp2);
  AddUnary(table, "expm1f", ::expm1f, "expm1", ::expm1);
  AddUnary(table, "floorf", ::floorf, "floor", ::floor);
  AddUnary(table, "logf", ::logf, "log", ::log);
  AddUnary(table, "log1pf", ::log1pf, "log1p", ::log1p);
  AddUnary(table, "rintf", ::rintf, "rint", ::rint);
  AddUnary(table, "sinf", ::sinf, "sin", ::sin);
  AddUnary(table, "sqrtf", ::sqrtf, "sqrt", ::sqrt);
  AddUnary(table, "tanf", ::tanf, "tan", ::tan);
  AddUnary(table, "tanhf", ::tanhf, "tanh", ::tanh);
  AddBinary(table, "atan2f", ::atan2f, "atan2", ::atan2);
  AddBinary(table, "powf", ::powf, "pow", ::pow);
  AddBinary(table, "fmodf", ::fmodf, "fmod", ::fmod);
  AddBinary(table, "fmaxf", ::fmaxf, "fmax", ::fmax);
  AddBinary(table, "fminf", ::fminf, "fmin", ::fmin);
  return table;
}

}  // namespace

const std::vector<SimtHostFunction>& SimtHostFunctions() {
  static const auto* table = new std::vector<SimtHostFunction>(MakeTable());
  return *table;
}

}  // namespace sinter::codegen
