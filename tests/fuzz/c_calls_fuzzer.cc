// Fuzzes the C interface: calls its functions in any order, with handles that live and with null.
//
// Each byte of the input chooses a call, and the next ones its arguments. Handles are taken from those that
// earlier calls made and that were not freed; freed handles are the caller's bug and are not used.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "sinter/c/sinter.h"
#include "sinter/runtime/c/dlpack_layout.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/runtime/c/c_handles.h"

namespace {

// Bytes that choose; zeros after the end.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool done() const { return at_ >= size_; }
  uint8_t Byte() { return done() ? 0 : data_[at_++]; }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

// Handles of one type. The first is null, and is always there.
template <typename T>
class Handles {
 public:
  explicit Handles(void (*free)(T*)) : free_(free) {}
  ~Handles() {
    for (T* const handle : handles_) free_(handle);
  }
  T* Any(Choices& choices) const { return handles_[choices.Byte() % handles_.size()]; }
  void Add(T* handle) {
    if (handle != nullptr) handles_.push_back(handle);
    if (handles_.size() > 16) FreeAt(1);
  }
  void Free(Choices& choices) { FreeAt(choices.Byte() % handles_.size()); }

 private:
  void FreeAt(size_t i) {
    free_(handles_[i]);
    if (i > 0) handles_.erase(handles_.begin() + static_cast<ptrdiff_t>(i));
  }

  std::vector<T*> handles_ = {nullptr};
  void (*free_)(T*);
};

const char* AnyName(Choices& choices) {
  static const char* const kNames[] = {"train", "same",     "x",    "lr", "n",    "y",
                                       "w",     "log/loss", "loss", "",   nullptr};
  return kNames[choices.Byte() % std::size(kNames)];
}

class Calls {
 public:
  Calls(const std::string& plan, Choices choices) : plan_bytes_(plan), choices_(choices) {}

  void Run() {
    while (!choices_.done()) {
      const uint8_t call = choices_.Byte() % 28;
      if (call < 10) {
        CallPlan(call);
      } else if (call < 20) {
        CallSession(call);
      } else {
        CallTensor(call);
      }
    }
  }

 private:
  // A failed call has a text.
  void Check(sn_code code) {
    SINTER_CHECK(code == SN_OK || *sn_last_error() != 0) << code;
    SINTER_CHECK(code != SN_INTERNAL) << sn_last_error();
  }

  // Reads every element.
  void Read(const sn_tensor* tensor) {
    sn_info info;
    void* data = nullptr;
    if (sn_tensor_info(tensor, &info, &data) != SN_OK) return;
    int64_t bytes = sn_dtype_bytes(info.dtype);
    for (int32_t i = 0; i < info.rank; ++i) bytes *= info.shape[i];
    for (int64_t i = 0; i < bytes; ++i) sum_ += static_cast<const uint8_t*>(data)[i];
  }

  void CallPlan(uint8_t call) {
    sn_plan* plan = nullptr;
    sn_session* session = nullptr;
    sn_function* function = nullptr;
    sn_info info;
    sn_session_options options = {};
    options.size = sizeof(options);
    options.threads = 1;
    switch (call) {
      case 0:
        Check(sn_plan_from_memory(plan_bytes_.data(), plan_bytes_.size() - choices_.Byte() % 2, &plan));
        return plans_.Add(plan);
      case 1:
        return plans_.Free(choices_);
      case 2:
        return Check(
            sn_plan_function_info(plans_.Any(choices_), choices_.Byte() - 1, nullptr, nullptr, nullptr));
      case 3:
        return Check(
            sn_plan_input_info(plans_.Any(choices_), choices_.Byte() % 3, choices_.Byte() - 1, &info));
      case 4:
        return Check(sn_plan_variable_info(plans_.Any(choices_), choices_.Byte() - 1, &info, nullptr));
      case 5:
        options.size = choices_.Byte() % 2 == 0 ? sizeof(options) : choices_.Byte() % sizeof(options);
        Check(sn_session_create(plans_.Any(choices_), &options, &session));
        return sessions_.Add(session);
      case 6:
        Check(sn_session_share(sessions_.Any(choices_), &options, &session));
        return sessions_.Add(session);
      case 7:
        return sessions_.Free(choices_);
      case 8:
        Check(sn_function_bind(sessions_.Any(choices_), AnyName(choices_), &function));
        return functions_.Add(function);
      default:
        return functions_.Free(choices_);
    }
  }

  void CallSession(uint8_t call) {
    sn_tensor* tensor = nullptr;
    sn_outputs* outputs = nullptr;
    switch (call) {
      case 10:
        return Check(
            sn_function_set_input(functions_.Any(choices_), AnyName(choices_), tensors_.Any(choices_)));
      case 11:
        return Check(
            sn_function_set_number(functions_.Any(choices_), AnyName(choices_), choices_.Byte() / 2.0));
      case 12:
        return Check(sn_function_run(functions_.Any(choices_)));
      case 13:
        Check(sn_function_output(functions_.Any(choices_), AnyName(choices_), &tensor));
        return Take(tensor);
      case 14: {
        sn_argument arguments[4];
        for (sn_argument& a : arguments)
          a = {AnyName(choices_), tensors_.Any(choices_), choices_.Byte() / 2.0};
        Check(sn_session_run(sessions_.Any(choices_), AnyName(choices_), arguments, choices_.Byte() % 5 - 1,
                             &outputs));
        return outputs_.Add(outputs);
      }
      case 15:
        Check(sn_outputs_tensor(outputs_.Any(choices_), AnyName(choices_), &tensor));
        return Take(tensor);
      case 16:
        return outputs_.Free(choices_);
      case 17:
        Check(choices_.Byte() % 2 == 0
                  ? sn_variable_read(sessions_.Any(choices_), AnyName(choices_), &tensor)
                  : sn_variable_view(sessions_.Any(choices_), AnyName(choices_), &tensor));
        return Take(tensor);
      case 18:
        return Check(sn_variable_write(sessions_.Any(choices_), AnyName(choices_), tensors_.Any(choices_)));
      default:
        Check(sn_log_read(sessions_.Any(choices_), AnyName(choices_), &tensor, nullptr));
        return Take(tensor);
    }
  }

  void CallTensor(uint8_t call) {
    sn_tensor* tensor = nullptr;
    DLManagedTensorVersioned* managed = nullptr;
    const int64_t shape[] = {4, choices_.Byte() - 1, 0};
    switch (call) {
      case 20:
        Check(sn_tensor_borrow(choices_.Byte() % 16, choices_.Byte() % 4 - 1, shape,
                               memory_ + choices_.Byte(), nullptr, &tensor));
        return Take(tensor);
      case 21:
      case 22: {
        const int64_t four[] = {4};
        Check(sn_tensor_borrow(SN_F32, 1, four, memory_, nullptr, &tensor));
        return Take(tensor);
      }
      case 23:
        Check(sn_tensor_copy(tensors_.Any(choices_), &tensor));
        return Take(tensor);
      case 24:
      case 25:
        Check(sn_tensor_to_dlpack(tensors_.Any(choices_), &managed));
        if (managed == nullptr) return;
        if (choices_.Byte() % 2 == 0) return managed->deleter(managed);
        managed->dl_tensor.dtype.code = choices_.Byte() % 16;
        managed->dl_tensor.byte_offset = 0;
        Check(sn_tensor_from_dlpack(managed, &tensor));
        return Take(tensor);
      default:
        return tensors_.Free(choices_);
    }
  }

  void Take(sn_tensor* tensor) {
    Read(tensor);
    tensors_.Add(tensor);
  }

  const std::string& plan_bytes_;
  Choices choices_;
  uint64_t sum_ = 0;
  // Holds what tensors borrow: the largest is f64[4,254], at most 255 bytes from the beginning.
  alignas(64) uint8_t memory_[4 * 254 * 8 + 256] = {};
  Handles<sn_plan> plans_{sn_plan_free};
  Handles<sn_session> sessions_{sn_session_free};
  Handles<sn_function> functions_{sn_function_free};
  Handles<sn_outputs> outputs_{sn_outputs_free};
  Handles<sn_tensor> tensors_{sn_tensor_free};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string plan = sinter::CPlanBytes();
  if (size > 400) return 0;
  Calls(plan, Choices(data, size)).Run();
  return 0;
}
