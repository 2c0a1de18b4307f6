// cuBLASLt and NCCL on GPUs in software (software_gpu.h).
#include <cublasLt.h>
#include <nccl.h>

#include <cstring>

#include "sinter/tests/runtime/cuda/software/software_gpu.h"

namespace sinter::software {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

cublasStatus_t CublasAnswer() {
  return Lost() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
ncclResult_t NcclAnswer() { return Lost() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError; }

struct Matmul {
  cublasOperation_t first = CUBLAS_OP_N, second = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
};
struct Matrix {
  int64_t rows = 0, columns = 0;
};

// Returns an element of a column-major matrix.
float Element(const float* data, const Matrix& matrix, cublasOperation_t operation, int64_t row,
              int64_t column) {
  return operation == CUBLAS_OP_N ? data[row + column * matrix.rows] : data[column + row * matrix.rows];
}

Matmul* Of(cublasLtMatmulDesc_t matmul) { return reinterpret_cast<Matmul*>(matmul); }
Matrix* Of(cublasLtMatrixLayout_t matrix) { return reinterpret_cast<Matrix*>(matrix); }

// A collective of all members that have arrived or will arrive.
struct Meeting {
  std::vector<const float*> from;
  std::vector<float*> to;
  size_t arrived = 0;
  bool is_done = false;
};
struct Group {
  size_t size = 0;
  std::deque<std::shared_ptr<Meeting>> meetings;  // Collectives that some members have not joined.
  bool is_aborted = false;
};
struct Communicator {
  std::shared_ptr<Group> group;
  size_t rank = 0;
};
Communicator* Of(ncclComm_t comm) { return reinterpret_cast<Communicator*>(comm); }

std::map<int, std::shared_ptr<Group>>& Groups() {
  static auto& groups = *new std::map<int, std::shared_ptr<Group>>;
  return groups;
}

void Exchange(const Meeting& meeting, size_t count, bool is_mean) {
  std::vector<float> sum(count);
  for (const float* const from : meeting.from) {
    for (size_t i = 0; i < count; ++i) sum[i] += from[i];
  }
  for (float* const to : meeting.to) {
    for (size_t i = 0; i < count; ++i)
      to[i] = is_mean ? sum[i] / static_cast<float>(meeting.to.size()) : sum[i];
  }
}

std::shared_ptr<Meeting> Arrive(Group& group, size_t rank, const float* from, float* to) {
  for (const std::shared_ptr<Meeting>& meeting : group.meetings) {
    if (meeting->to[rank] != nullptr) continue;
    meeting->from[rank] = from, meeting->to[rank] = to;
    ++meeting->arrived;
    return meeting;
  }
  group.meetings.push_back(std::make_shared<Meeting>());
  group.meetings.back()->from.resize(group.size);
  group.meetings.back()->to.resize(group.size);
  return Arrive(group, rank, from, to);
}

}  // namespace

// cuBLASLt
// ----------------------------------------------------------------------------------------------------

size_t cublasLtGetVersion() { return CUBLAS_VER_MAJOR * 10000; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* made) {
  *made = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t, cudaDataType_t) {
  *made = reinterpret_cast<cublasLtMatmulDesc_t>(new Matmul);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmul) {
  delete Of(matmul);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmul,
                                              cublasLtMatmulDescAttributes_t attribute, const void* data,
                                              size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA) std::memcpy(&Of(matmul)->first, data, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSB) std::memcpy(&Of(matmul)->second, data, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE) std::memcpy(&Of(matmul)->epilogue, data, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t, uint64_t rows,
                                          uint64_t columns, int64_t) {
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Matrix{static_cast<int64_t>(rows), static_cast<int64_t>(columns)});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matrix) {
  delete Of(matrix);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t,
                                                const void*, size_t) {
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<int*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t, const void*,
                                                    size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t* found, int* count) {
  found[0] = {};
  *count = 1;
  return CublasAnswer();
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*,
                                                    cublasLtMatmulAlgoConfigAttributes_t, void*, size_t,
                                                    size_t* written) {
  *written = 0;
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t matmul, const void*, const void* a,
                              cublasLtMatrixLayout_t a_matrix, const void* b, cublasLtMatrixLayout_t b_matrix,
                              const void* beta, const void*, cublasLtMatrixLayout_t, void* result,
                              cublasLtMatrixLayout_t result_matrix, const cublasLtMatmulAlgo_t*, void*,
                              size_t, cudaStream_t stream) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return CublasAnswer();
  const bool is_known =
      Of(matmul)->epilogue == CUBLASLT_EPILOGUE_DEFAULT && *static_cast<const float*>(beta) == 0;
  if (!is_known) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto work = [=, p = *Of(matmul), first = *Of(a_matrix), second = *Of(b_matrix),
                     to = *Of(result_matrix)] {
    const int64_t depth = p.first == CUBLAS_OP_N ? first.columns : first.rows;
    for (int64_t column = 0; column < to.columns; ++column) {
      for (int64_t row = 0; row < to.rows; ++row) {
        float sum = 0;
        for (int64_t k = 0; k < depth; ++k) {
          sum += Element(static_cast<const float*>(a), first, p.first, row, k) *
                 Element(static_cast<const float*>(b), second, p.second, k, column);
        }
        static_cast<float*>(result)[row + column * to.rows] = sum;
      }
    }
    return true;
  };
  Give(stream, [=] { return work; }, cudaGraphNodeTypeKernel);
  return CUBLAS_STATUS_SUCCESS;
}

// NCCL
// --------------------------------------------------------------------------------------------------------

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "an error of NCCL in software"; }
const char* ncclGetLastError(ncclComm_t) { return ""; }
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int last = 0;
  *id = {};
  const Lock lock(TheMachine().mutex);
  const int number = ++last;
  std::memcpy(id->internal, &number, sizeof(number));
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId id, int rank, ncclConfig_t*) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return NcclAnswer();
  int number = 0;
  std::memcpy(&number, id.internal, sizeof(number));
  std::shared_ptr<Group>& group = Groups()[number];
  if (group == nullptr) group = std::make_shared<Group>();
  group->size = static_cast<size_t>(ranks);
  *made = reinterpret_cast<ncclComm_t>(new Communicator{group, static_cast<size_t>(rank)});
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
  *state = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const Lock lock(TheMachine().mutex);
  Of(comm)->group->is_aborted = true;
  delete Of(comm);
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const Lock lock(TheMachine().mutex);
  delete Of(comm);
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t combine,
                           ncclComm_t comm, cudaStream_t stream) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return NcclAnswer();
  if (type != ncclFloat32 || (combine != ncclSum && combine != ncclAvg)) return ncclInvalidUsage;
  const auto make = [=, group = Of(comm)->group, rank = Of(comm)->rank,
                     device = Of(stream)->device]() -> Work {
    return [=, meeting = std::shared_ptr<Meeting>()]() mutable {
      // An aborted collective ends without a result.
      if (group->is_aborted || device == TheMachine().absent) return true;
      if (meeting == nullptr) {
        meeting = Arrive(*group, rank, static_cast<const float*>(from), static_cast<float*>(to));
      }
      if (!meeting->is_done && meeting->arrived == group->size) {
        Exchange(*meeting, count, combine == ncclAvg);
        meeting->is_done = true;
        std::erase(group->meetings, meeting);
      }
      return meeting->is_done;
    };
  };
  Give(stream, make, cudaGraphNodeTypeKernel);
  return ncclSuccess;
}
ncclResult_t ncclReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t,
                        cudaStream_t) {
  return ncclInvalidUsage;
}
ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
  return ncclInvalidUsage;
}
ncclResult_t ncclAllGather(const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t) {
  return ncclInvalidUsage;
}
ncclResult_t ncclReduceScatter(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                               cudaStream_t) {
  return ncclInvalidUsage;
}
ncclResult_t ncclSend(const void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
  return ncclInvalidUsage;
}
ncclResult_t ncclRecv(void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
  return ncclInvalidUsage;
}

}  // namespace sinter::software
