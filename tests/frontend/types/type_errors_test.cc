// Messages for what element types refuse: arithmetic of 8-bit floats, numbers out of range, mixed types,
// gradients.
#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

class TypeErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(TypeErrorTest, NamesLineAndFix) { ExpectSays(GetParam(), "type_errors_test.cc:"); }

std::vector<ErrorCase> Float8Cases() {
  const auto x = [](Builder& b) { return X(b, {2, 2}, F8E4M3); };
  return {
      In("AddFloat8", [=](Builder& b) { x(b) + x(b); },
         {"Add(f8e4m3[2,2], f8e4m3[2,2])", "Cast(x, F32) first"}),
      In("ScaleFloat8", [=](Builder& b) { x(b) * 2.0; }, {"not 8-bit floats", "Cast(x, F32) first"}),
      In("ExpFloat8", [](Builder& b) { Exp(X(b, {2}, F8E5M2)); }, {"Exp(f8e5m2[2])", "Cast(x, F32) first"}),
      In("CompareFloat8", [=](Builder& b) { x(b) < x(b); }, {"Less(f8e4m3", "Cast(x, F32) first"}),
      In("SumFloat8", [=](Builder& b) { Sum(x(b)); }, {"takes numbers; Cast(x, F32) first"}),
      In("ArgMaxFloat8", [=](Builder& b) { ArgMax(x(b), 0); }, {"takes numbers; Cast(x, F32) first"}),
      In("SortFloat8", [=](Builder& b) { Sort(x(b)); }, {"takes numbers; Cast(x, F32) first"}),
      In("CumSumFloat8", [=](Builder& b) { CumSum(x(b), 0); }, {"takes numbers; Cast(x, F32) first"}),
      In("MatMulFloat8", [=](Builder& b) { MatMul(x(b), x(b)); }, {"takes numbers; Cast(x, F32) first"}),
      In("IotaFloat8", [](Builder& b) { b.Iota(F8E5M2, {3}, 0); }, {"counts in numbers, not in f8e5m2"}),
      In("MixFloat8", [=](Builder& b) { x(b) + X(b, {2, 2}, F8E5M2); },
         {"convert the f8e4m3 and the f8e5m2: Cast(x, F32)"}),
      In("FullFloat8", [](Builder& b) { b.Full(F8E4M3, {2}, 500); },
         {"500 is not a number of type f8e4m3, whose largest is 448"}),
      In("FullInfinite", [](Builder& b) { b.Full(F8E4M3, {2}, INFINITY); },
         {"inf is not a number of type f8e4m3, which has no infinity"}),
      {"RandomFloat8",
       [](Graph& g) { g.Variable("v", F8E5M2, {2}, {.init = nn::Normal(1).Resolve(0, 0)}); },
       {"cannot start from random floats"}},
      In("GradientOfFloat8",
         [](Builder& b) {
           const Tensor w = X(b, {2}, F8E4M3);
           Gradients(Sum(Cast(w, F32)), {w});
         },
         {"f8e4m3[2]"}),
  };
}
INSTANTIATE_TEST_SUITE_P(Float8, TypeErrorTest, ::testing::ValuesIn(Float8Cases()), ErrorCaseName);

std::vector<ErrorCase> IntegerCases() {
  return {
      In("LargeU16", [](Builder& b) { X(b, {2}, U16) + 65536; }, {"65536 is not a number of type u16"}),
      In("NegativeU32", [](Builder& b) { b.Full(U32, {2}, -1); }, {"-1 is not a number of type u32"}),
      In("LargeU64", [](Builder& b) { b.Full(U64, {2}, 0x1p64); }, {"is not a number of type u64"}),
      In("LargeI64", [](Builder& b) { X(b, {2}, I64) + ~uint64_t{0}; },
         {"18446744073709551615 is not a number of type i64"}),
      In("FractionI16", [](Builder& b) { X(b, {2}, I16) * 0.5; },
         {"0.5 is not a number of type i16", "Cast(x, F32)"}),
      In("MixSigns", [](Builder& b) { X(b, {2}, I16) + X(b, {2}, U16); }, {"convert the i16: Cast(x, U16)"}),
      In("MixWidths", [](Builder& b) { X(b, {2}, U64) + X(b, {2}, U32); }, {"convert the u32: Cast(x, U64)"}),
      In("ExpU16", [](Builder& b) { Exp(X(b, {2}, U16)); }, {"Exp(u16[2])", "Cast(x, F32) first"}),
      In("IotaU8", [](Builder& b) { b.Iota(U8, {300}, 0); }, {"299 is not a number of type u8"}),
      In("GatherByU32", [](Builder& b) { Gather(X(b, {3}), X(b, {2}, U32), 0); }, {"i32 or i64"}),
      In("GradientOfIntegers",
         [](Builder& b) {
           const Tensor w = X(b, {2}, U32);
           Gradients(Sum(Cast(w, F32)), {w});
         },
         {"u32[2]"}),
      {"FractionVariable",
       [](Graph& g) { g.Variable("v", U16, {2}, {.init = {.a = 0.5}}); },
       {"0.5 is not a number of type u16"}},
      {"InexactVariable",
       [](Graph& g) { g.Variable("v", U64, {2}, {.init = {.a = ~uint64_t{0}}}); },
       {"cannot start from 18446744073709551615", "Assign it in a function"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Integers, TypeErrorTest, ::testing::ValuesIn(IntegerCases()), ErrorCaseName);

}  // namespace
}  // namespace sinter
