#include "sinter/tests/codegen/gpu_call_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace sinter::codegen {

std::string GpuCallText(const std::vector<std::string>& ins, const std::vector<std::string>& outs,
                        const std::string& body) {
  std::string buffers, in_names, in_types, out_names, out_types, arguments;
  auto append = [](std::string& list, const std::string& item) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", item);
  };
  for (size_t i = 0; i < ins.size(); ++i) {
    absl::StrAppend(&buffers, "  %i", i, " = plan.alloc on <gpu, 0> : <", ins[i], ">\n");
    append(in_names, absl::StrCat("%i", i));
    append(in_types, absl::StrCat("!plan.buffer<", ins[i], ">"));
    append(arguments, absl::StrCat("%a", i, ": ", ins[i]));
  }
  for (size_t i = 0; i < outs.size(); ++i) {
    const bool in_place = outs[i].rfind("in", 0) == 0;
    const std::string type = in_place ? ins.at(std::stoul(outs[i].substr(2))) : outs[i];
    if (!in_place) absl::StrAppend(&buffers, "  %o", i, " = plan.alloc on <gpu, 0> : <", type, ">\n");
    append(out_names, in_place ? absl::StrCat("%i", outs[i].substr(2)) : absl::StrCat("%o", i));
    append(out_types, absl::StrCat("!plan.buffer<", type, ">"));
  }
  return absl::StrCat("plan.function @f on [#sinter.device<cpu, 0>, #sinter.device<gpu, 0>] {\n", buffers,
                      "  plan.call \"k\" ins(", in_names, ins.empty() ? "" : " : ", in_types, ") outs(",
                      out_names, " : ", out_types, ") on <gpu, 0> {\n  ^bb0",
                      ins.empty() ? "" : absl::StrCat("(", arguments, ")"), ":\n", body, "\n  }\n}\n");
}

std::string AddTransposedText(const std::string& dtype) {
  const std::string x = absl::StrCat("tensor<3x70x45x", dtype, ">"),
                    z = absl::StrCat("tensor<3x45x70x", dtype, ">");
  const std::string body = R"(
    %t = sinter.transpose %a1 [0, 2, 1] : $Z -> $X
    %r = sinter.add %a0, %t : $X
    sinter.yield %r : $X)";
  return GpuCallText({x, z}, {x}, absl::StrReplaceAll(body, {{"$X", x}, {"$Z", z}}));
}

std::string SoftmaxText(const std::string& rows, const std::string& length, const std::string& dtype,
                        bool in_place) {
  const std::string x = absl::StrCat("tensor<", rows, "x", length, "x", dtype, ">"),
                    r = absl::StrCat("tensor<", rows, "x", dtype, ">");
  const std::string body = R"(
    %m = sinter.max %a0 [1] : $X -> $R
    %mb = sinter.broadcast %m [0] : $R -> $X
    %s = sinter.sub %a0, %mb : $X
    %e = sinter.exp %s : $X
    %t = sinter.sum %e [1] : $X -> $R
    %tb = sinter.broadcast %t [0] : $R -> $X
    %y = sinter.div %e, %tb : $X
    sinter.yield %y : $X)";
  return GpuCallText({x}, {in_place ? "in0" : x}, absl::StrReplaceAll(body, {{"$X", x}, {"$R", r}}));
}

}  // namespace sinter::codegen
