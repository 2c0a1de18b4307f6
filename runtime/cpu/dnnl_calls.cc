#include "sinter/runtime/cpu/dnnl_calls.h"

#include "absl/strings/str_cat.h"

namespace sinter {

const dnnl::engine& DnnlEngine() {
  static const dnnl::engine* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::memory::data_type DnnlType(fb::DType dtype) {
  switch (dtype) {
    case fb::DType::F32:
      return dnnl::memory::data_type::f32;
    case fb::DType::BF16:
      return dnnl::memory::data_type::bf16;
    default:
      return dnnl::memory::data_type::undef;
  }
}

dnnl::primitive_attr DnnlAttributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

bool IsReference(std::string_view implementation) {
  return implementation.substr(0, 3) == "ref" || implementation.substr(0, 10) == "simple:any";
}

absl::Status DnnlStatus(const dnnl::error& error) {
  const std::string message =
      absl::StrCat("oneDNN: ", error.message, " (", static_cast<int>(error.status), ")");
  if (error.status == dnnl_out_of_memory) return absl::ResourceExhaustedError(message);
  return absl::InternalError(message);
}

DnnlCalls::DnnlCalls() : stream_(DnnlEngine()) {}

DnnlPlace DnnlCalls::Reserve(const dnnl::memory::desc& desc) {
  const DnnlPlace place = {-1, workspace_bytes_};
  workspace_bytes_ += (desc.get_size() + 63) / 64 * 64;
  return place;
}

void DnnlCalls::Add(dnnl::primitive primitive, const std::vector<DnnlOperand>& operands,
                    const dnnl::memory::desc& scratchpad) {
  Call call;
  call.primitive = std::move(primitive);
  const auto add = [&](const DnnlOperand& operand) {
    call.operands.push_back(
        {dnnl::memory(operand.desc, DnnlEngine(), DNNL_MEMORY_NONE), operand.place, nullptr});
    call.arguments.push_back({operand.argument, call.operands.back().memory.get()});
  };
  for (const DnnlOperand& operand : operands) add(operand);
  if (scratchpad.get_size() > 0) add({DNNL_ARG_SCRATCHPAD, scratchpad, Reserve(scratchpad)});
  calls_.push_back(std::move(call));
}

void DnnlCalls::AddReorder(const dnnl::memory::desc& from, DnnlPlace from_place, const dnnl::memory::desc& to,
                           DnnlPlace to_place) {
  const dnnl::reorder::primitive_desc pd(DnnlEngine(), from, DnnlEngine(), to, DnnlAttributes());
  Add(dnnl::reorder(pd), {{DNNL_ARG_FROM, from, from_place}, {DNNL_ARG_TO, to, to_place}},
      pd.scratchpad_desc());
}

absl::Status DnnlCalls::Run(const StepArgs& args) {
  for (Call& call : calls_) {
    for (Operand& operand : call.operands) {
      void* const data = operand.place.slot >= 0
                             ? args.buffers[operand.place.slot]
                             : static_cast<std::byte*>(args.library_workspace) + operand.place.offset;
      if (data == operand.bound) continue;
      // The C interface throws no exceptions and needs no map of arguments.
      if (const dnnl_status_t status = dnnl_memory_set_data_handle(operand.memory.get(), data);
          status != dnnl_success) {
        return DnnlStatus(dnnl::error(status, "cannot set an operand's address"));
      }
      operand.bound = data;
    }
    if (const dnnl_status_t status =
            dnnl_primitive_execute(call.primitive.get(), stream_.get(),
                                   static_cast<int>(call.arguments.size()), call.arguments.data());
        status != dnnl_success) {
      return DnnlStatus(dnnl::error(status, "a primitive failed"));
    }
  }
  return absl::OkStatus();
}

}  // namespace sinter
