// Tests of tensors in C, and of DLPack.
#include <algorithm>
#include <cstddef>
#include <string>

#include "sinter/runtime/c/dlpack_layout.h"
#include "sinter/tests/runtime/c/c_handles.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;

TEST(CTensorTest, OwnsBorrowsAndCopies) {
  const int64_t shape[] = {2, 3};
  sn_tensor* made = nullptr;
  ASSERT_CALL(sn_tensor_empty(SN_I32, 2, shape, nullptr, &made));
  const CTensor owning(made);
  sn_info info;
  void* data = nullptr;
  ASSERT_CALL(sn_tensor_info(owning.get(), &info, &data));
  EXPECT_EQ(info.name, nullptr);
  EXPECT_EQ(info.dtype, SN_I32);
  EXPECT_THAT(std::vector<int64_t>(info.shape, info.shape + info.rank), ElementsAre(2, 3));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
  EXPECT_EQ(sn_tensor_flags(owning.get()), uint32_t{SN_TENSOR_OWNS});
  std::array<float, 4> values = {1, 2, 3, 4};
  const CTensor borrowed = BorrowC(values);
  EXPECT_EQ(sn_tensor_flags(borrowed.get()), 0u);
  ASSERT_CALL(sn_tensor_copy(borrowed.get(), &made));
  const CTensor copy(made);
  values[0] = 9;
  EXPECT_THAT(ValuesOf(borrowed.get()), ElementsAre(9, 2, 3, 4));
  EXPECT_THAT(ValuesOf(copy.get()), ElementsAre(1, 2, 3, 4));
  ASSERT_CALL(sn_tensor_borrow(SN_F32, 0, nullptr, values.data(), nullptr, &made));
  EXPECT_THAT(ValuesOf(CTensor(made).get()), ElementsAre(9));
}

TEST(CTensorTest, WrongTensorsSayWhatIsWrong) {
  int64_t shape[] = {2, 3};
  float values[7] = {};
  sn_tensor* made = nullptr;
  EXPECT_CODE(sn_tensor_borrow(99, 2, shape, values, nullptr, &made), SN_INVALID_ARGUMENT, "type 99");
  EXPECT_CODE(sn_tensor_borrow(SN_F32, 9, shape, values, nullptr, &made), SN_INVALID_ARGUMENT, "rank of 9");
  EXPECT_CODE(sn_tensor_borrow(SN_F32, -1, shape, values, nullptr, &made), SN_INVALID_ARGUMENT, "rank of -1");
  EXPECT_CODE(sn_tensor_borrow(SN_F32, 2, nullptr, values, nullptr, &made), SN_INVALID_ARGUMENT, "`shape`");
  EXPECT_CODE(sn_tensor_borrow(SN_F32, 2, shape, nullptr, nullptr, &made), SN_INVALID_ARGUMENT, "null");
  char* const odd = reinterpret_cast<char*>(values) + 1;
  EXPECT_CODE(sn_tensor_borrow(SN_F32, 2, shape, odd, nullptr, &made), SN_INVALID_ARGUMENT, "not aligned");
  EXPECT_CODE(sn_tensor_borrow(SN_F32, 2, shape, values, "gpu:0", &made), SN_UNIMPLEMENTED,
              "copy the values to main memory");
  EXPECT_CODE(sn_tensor_empty(SN_F32, 2, shape, "tpu", &made), SN_INVALID_ARGUMENT, "tpu");
  shape[0] = -1;
  EXPECT_CODE(sn_tensor_empty(SN_F32, 2, shape, nullptr, &made), SN_INVALID_ARGUMENT, "-1");
  EXPECT_CODE(sn_tensor_copy(nullptr, &made), SN_INVALID_ARGUMENT, "`tensor` is null");
  EXPECT_CODE(sn_tensor_info(nullptr, nullptr, nullptr), SN_INVALID_ARGUMENT, "`tensor` is null");
  EXPECT_EQ(sn_tensor_flags(nullptr), 0u);
  EXPECT_EQ(made, nullptr);
  sn_tensor_free(nullptr);
}

// A managed tensor f32[2,2] that counts the calls of its deleter.
template <typename Managed>
struct Lent {
  Lent() {
    managed.dl_tensor = {values, {dlpack::kCpu, 0}, 2, {dlpack::kFloat, 32, 1}, shape, strides, 0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* m) { ++static_cast<Lent*>(m->manager_ctx)->deleted; };
  }

  alignas(64) float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  int64_t shape[2] = {2, 2}, strides[2] = {2, 1};
  int deleted = 0;
  Managed managed = {};
};
struct LentVersioned : Lent<DLManagedTensorVersioned> {
  LentVersioned() { managed.version = {1, 0}; }
};

sn_code Take(LentVersioned& lent, sn_tensor** out) { return sn_tensor_from_dlpack(&lent.managed, out); }

const void* DataOf(const CTensor& tensor) {
  sn_info info;
  void* data = nullptr;
  EXPECT_CALL_OK(sn_tensor_info(tensor.get(), &info, &data));
  return data;
}

TEST(CDlpackTest, TakesMemoryWithoutACopyAndDeletesOnce) {
  LentVersioned lent;
  sn_tensor* made = nullptr;
  ASSERT_CALL(Take(lent, &made));
  CTensor tensor(made);
  EXPECT_EQ(DataOf(tensor), lent.values);
  EXPECT_THAT(ValuesOf(tensor.get()), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(sn_tensor_flags(tensor.get()), 0u);
  EXPECT_EQ(lent.deleted, 0);
  tensor.reset();
  EXPECT_EQ(lent.deleted, 1);
}

TEST(CDlpackTest, AFunctionKeepsItsInput) {
  const CSession session = MakeCSession(MakeCPlan());
  CFunction same = BindC(session, "same");
  LentVersioned lent;
  lent.managed.dl_tensor.ndim = 1;
  lent.shape[0] = 4;
  lent.strides[0] = 1;
  sn_tensor* made = nullptr;
  ASSERT_CALL(Take(lent, &made));
  ASSERT_CALL(sn_function_set_input(same.get(), "x", CTensor(made).get()));
  ASSERT_CALL(sn_function_set_integer(same.get(), "n", 0));
  EXPECT_EQ(lent.deleted, 0);
  ASSERT_CALL(sn_function_run(same.get()));
  EXPECT_THAT(OutputOf(same, "x"), ElementsAre(1, 2, 3, 4));
  same.reset();
  EXPECT_EQ(lent.deleted, 1);
}

TEST(CDlpackTest, HonoursOffsetStridesFlagsAndDeleter) {
  LentVersioned lent;
  sn_tensor* made = nullptr;
  lent.managed.dl_tensor.byte_offset = 8;
  lent.managed.dl_tensor.strides = nullptr;
  lent.managed.flags = dlpack::kReadOnly;
  lent.managed.deleter = nullptr;
  ASSERT_CALL(Take(lent, &made));
  const CTensor tensor(made);
  EXPECT_THAT(ValuesOf(tensor.get()), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(sn_tensor_flags(tensor.get()), uint32_t{SN_TENSOR_READ_ONLY});
  Lent<DLManagedTensor> old;
  old.shape[0] = 1;
  old.strides[0] = 77;  // The stride of a dimension of size 1 has no meaning.
  ASSERT_CALL(sn_tensor_from_dlpack_unversioned(&old.managed, &made));
  EXPECT_THAT(ValuesOf(CTensor(made).get()), ElementsAre(1, 2));
  EXPECT_EQ(old.deleted, 1);
}

TEST(CDlpackTest, CopiesMemoryThatIsNotAligned) {
  LentVersioned lent;
  sn_tensor* made = nullptr;
  lent.managed.dl_tensor.byte_offset = 2;
  ASSERT_CALL(Take(lent, &made));
  EXPECT_EQ(lent.deleted, 1);
  const CTensor tensor(made);
  EXPECT_EQ(sn_tensor_flags(tensor.get()), uint32_t{SN_TENSOR_OWNS | SN_TENSOR_COPIED});
  std::array<std::byte, 16> expected, found;
  const auto* const begin = reinterpret_cast<const std::byte*>(lent.values) + 2;
  std::copy_n(begin, 16, expected.begin());
  std::copy_n(static_cast<const std::byte*>(DataOf(tensor)), 16, found.begin());
  EXPECT_EQ(found, expected);
}

TEST(CDlpackTest, RefusesWhatItCannotReadAndDeletesIt) {
  const auto refuses = [](const auto& change, sn_code code, const char* part) {
    LentVersioned lent;
    change(lent);
    sn_tensor* made = nullptr;
    EXPECT_CODE(Take(lent, &made), code, part);
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(lent.deleted, 1);
  };
  refuses([](LentVersioned& l) { l.managed.version.major = 2; }, SN_INVALID_ARGUMENT, "version 2.0");
  refuses([](LentVersioned& l) { l.managed.dl_tensor.device = {2, 1}; }, SN_UNIMPLEMENTED,
          "device type 2, number 1");
  refuses([](LentVersioned& l) { l.managed.dl_tensor.dtype.lanes = 4; }, SN_INVALID_ARGUMENT, "4 lanes");
  refuses([](LentVersioned& l) { l.managed.dl_tensor.dtype.bits = 24; }, SN_INVALID_ARGUMENT, "24 bits");
  refuses([](LentVersioned& l) { l.managed.dl_tensor.dtype.code = 5; }, SN_INVALID_ARGUMENT, "type code 5");
  refuses([](LentVersioned& l) { l.managed.dl_tensor.ndim = 9; }, SN_INVALID_ARGUMENT, "rank 9");
  refuses([](LentVersioned& l) { l.managed.dl_tensor.ndim = -1; }, SN_INVALID_ARGUMENT, "rank -1");
  refuses([](LentVersioned& l) { l.managed.dl_tensor.shape = nullptr; }, SN_INVALID_ARGUMENT, "shape");
  refuses([](LentVersioned& l) { l.managed.dl_tensor.data = nullptr; }, SN_INVALID_ARGUMENT, "null");
  refuses([](LentVersioned& l) { l.shape[1] = -2; }, SN_INVALID_ARGUMENT, "-2");
  refuses([](LentVersioned& l) { std::swap(l.strides[0], l.strides[1]); }, SN_INVALID_ARGUMENT,
          "make it contiguous first");
  LentVersioned lent;
  EXPECT_CODE(sn_tensor_from_dlpack(&lent.managed, nullptr), SN_INVALID_ARGUMENT, "`out` is null");
  EXPECT_EQ(lent.deleted, 1);
  sn_tensor* made = nullptr;
  EXPECT_CODE(sn_tensor_from_dlpack(nullptr, &made), SN_INVALID_ARGUMENT, "`managed` is null");
  EXPECT_CODE(sn_tensor_from_dlpack_unversioned(nullptr, &made), SN_INVALID_ARGUMENT, "`managed` is null");
}

TEST(CDlpackTest, GivesTensorsThatOutliveTheirHandle) {
  const int64_t shape[] = {2, 3};
  sn_tensor* made = nullptr;
  ASSERT_CALL(sn_tensor_empty(SN_BF16, 2, shape, nullptr, &made));
  CTensor tensor(made);
  const void* const data = DataOf(tensor);
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_CALL(sn_tensor_to_dlpack(tensor.get(), &managed));
  DLManagedTensor* old = nullptr;
  ASSERT_CALL(sn_tensor_to_dlpack_unversioned(tensor.get(), &old));
  tensor.reset();
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_EQ(managed->flags, 0u);
  EXPECT_EQ(managed->dl_tensor.data, data);
  EXPECT_EQ(managed->dl_tensor.device.type, 1);
  EXPECT_EQ(managed->dl_tensor.dtype.code, dlpack::kBfloat);
  EXPECT_EQ(managed->dl_tensor.dtype.bits, 16);
  EXPECT_EQ(managed->dl_tensor.dtype.lanes, 1);
  EXPECT_THAT(std::vector<int64_t>(managed->dl_tensor.shape, managed->dl_tensor.shape + 2),
              ElementsAre(2, 3));
  EXPECT_THAT(std::vector<int64_t>(managed->dl_tensor.strides, managed->dl_tensor.strides + 2),
              ElementsAre(3, 1));
  EXPECT_EQ(old->dl_tensor.data, data);
  managed->deleter(managed);
  static_cast<uint16_t*>(old->dl_tensor.data)[5] = 1;  // Still there.
  old->deleter(old);
}

TEST(CDlpackTest, EveryTypeComesBackAsItWas) {
  for (sn_dtype dtype = SN_F64; dtype <= SN_F8E5M2; ++dtype) {
    const int64_t shape[] = {0, 3};
    sn_tensor* made = nullptr;
    ASSERT_CALL(sn_tensor_empty(dtype, 2, shape, nullptr, &made));
    const CTensor tensor(made);
    DLManagedTensorVersioned* managed = nullptr;
    ASSERT_CALL(sn_tensor_to_dlpack(tensor.get(), &managed));
    EXPECT_EQ(managed->dl_tensor.data, nullptr);
    ASSERT_CALL(sn_tensor_from_dlpack(managed, &made));
    const CTensor again(made);
    sn_info info;
    ASSERT_CALL(sn_tensor_info(again.get(), &info, nullptr));
    EXPECT_EQ(info.dtype, dtype);
    EXPECT_THAT(std::vector<int64_t>(info.shape, info.shape + info.rank), ElementsAre(0, 3));
  }
}

TEST(CDlpackTest, ReadOnlyTensorsSayItOrAreRefused) {
  const CSession session = MakeCSession(MakeCPlan());
  sn_tensor* made = nullptr;
  ASSERT_CALL(sn_variable_view(session.get(), "w", &made));
  const CTensor view(made);
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_CALL(sn_tensor_to_dlpack(view.get(), &managed));
  EXPECT_EQ(managed->flags, dlpack::kReadOnly);
  managed->deleter(managed);
  DLManagedTensor* old = nullptr;
  EXPECT_CODE(sn_tensor_to_dlpack_unversioned(view.get(), &old), SN_FAILED_PRECONDITION, "give a copy");
  EXPECT_EQ(old, nullptr);
  EXPECT_CODE(sn_tensor_to_dlpack(nullptr, &managed), SN_INVALID_ARGUMENT, "`tensor` is null");
  EXPECT_CODE(sn_tensor_to_dlpack(view.get(), nullptr), SN_INVALID_ARGUMENT, "`out` is null");
}

}  // namespace
}  // namespace sinter
