// The C interface of the runtime: loads plans and runs them, from C and from every language that can call C.
//
//   sn_plan* plan;  sn_session* session;  sn_function* predict;
//   sn_tensor *x, *y;  sn_info info;  void* data;
//   float pixels[28 * 28] = {0};
//   const int64_t shape[2] = {1, 28 * 28};
//   if (sn_plan_load("lenet.plan", &plan) != SN_OK) return puts(sn_last_error()), 1;
//   if (sn_session_create(plan, NULL, &session) != SN_OK) return puts(sn_last_error()), 1;
//   sn_function_bind(session, "predict", &predict);
//   sn_tensor_borrow(SN_F32, 2, shape, pixels, NULL, &x);
//   sn_function_set_input(predict, "x", x);
//   sn_function_run(predict);
//   sn_function_output(predict, "y", &y);
//   sn_tensor_info(y, &info, &data);                  // `data` points to the values of y.
//
// A complete program is in docs/c-and-python.md. The compiler is a second library: sinter/c/compiler.h.
//
// Errors. A function that returns sn_code returns SN_OK or the kind of its error; sn_last_error() then has
// the text. After an error `*out` is null or unchanged. A null handle, a null name and a null `out` are
// SN_INVALID_ARGUMENT. No exception leaves a function; memory that runs out is SN_RESOURCE_EXHAUSTED. A
// handle that was freed, or that sn_ did not return, is the caller's bug and is not detected.
//
// Ownership. A handle that a function writes to `*out` is the caller's, to be freed with the function of its
// type; freeing null does nothing. Handles hold what they need: a session its plan, a function and an output
// their session. So they may be freed in any order. Names and texts are UTF-8 and end with a zero byte;
// arguments are copied unless a comment says "borrows". Text that a function returns lives as long as the
// handle that it was asked of.
//
// Threads. Use a session, and the functions and outputs made from it, from one thread at a time; a second
// thread at the same time gets SN_FAILED_PRECONDITION from every call that runs, reads or writes. Different
// sessions run at the same time, also of one plan. Plans may be read, and handles of any type freed, by
// any thread. After fork, the child uses no handle of its parent: SN_FAILED_PRECONDITION.
//
// Stability. Functions, structs and values are only added. A struct of options begins with its size:
// sn_session_options options = {.size = sizeof options} leaves all other members zero, the defaults. A
// program that was compiled with an older header has smaller structs; the members that it lacks read as zero.
// A larger struct from a newer header is accepted if the members that this library does not know are zero,
// else SN_UNIMPLEMENTED. Symbols have the version SINTER_1.
//
// Tensors are dense, row-major and in main memory, of rank 0 to 8. Shapes count elements. Devices other than
// CPUs read inputs from main memory and outputs are copied there at their first use; tensors in the memory of
// a GPU are SN_UNIMPLEMENTED, with the text what to do instead.
#ifndef SINTER_RUNTIME_C_SINTER_H_
#define SINTER_RUNTIME_C_SINTER_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SN_API __attribute__((visibility("default")))
#else
#define SN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sn_plan sn_plan;          // A compiled program.
typedef struct sn_session sn_session;    // A loaded plan: its memory, its variables and its threads.
typedef struct sn_function sn_function;  // One function of a session, with inputs that stay set.
typedef struct sn_outputs sn_outputs;    // The results of sn_session_run.
typedef struct sn_tensor sn_tensor;      // An array of numbers.
typedef struct sn_metadata sn_metadata;  // The texts that a checkpoint holds beside the variables.

// Structures of DLPack, which its header dlpack/dlpack.h defines.
struct DLManagedTensorVersioned;
struct DLManagedTensor;

// Kinds of errors. The numbers are those of Abseil and gRPC.
typedef int32_t sn_code;
enum {
  SN_OK = 0,
  SN_UNKNOWN = 2,
  SN_INVALID_ARGUMENT = 3,  // A wrong name, type, shape or file: the text says what was expected.
  SN_NOT_FOUND = 5,         // No such file, function, input, variable or device.
  SN_ALREADY_EXISTS = 6,
  SN_PERMISSION_DENIED = 7,    // A file that may not be read or written.
  SN_RESOURCE_EXHAUSTED = 8,   // Memory, a limit or the disk is too small.
  SN_FAILED_PRECONDITION = 9,  // Not in this state: another thread uses the session, another CPU, ...
  SN_ABORTED = 10,
  SN_OUT_OF_RANGE = 11,  // An index out of range, in plans compiled with check_indices.
  SN_UNIMPLEMENTED = 12,
  SN_INTERNAL = 13,     // A bug of Sinter or a failing device.
  SN_UNAVAILABLE = 14,  // Another process or device is lost.
  SN_DATA_LOSS = 15     // A damaged file.
};

// Element types, numbered as in plan files. An element of SN_I1 is a byte, 0 or 1.
typedef int32_t sn_dtype;
enum {
  SN_F64 = 0,
  SN_F32 = 1,
  SN_BF16 = 2,
  SN_F16 = 3,
  SN_I64 = 4,
  SN_I32 = 5,
  SN_I8 = 6,
  SN_U8 = 7,
  SN_I1 = 8,
  SN_I16 = 9,
  SN_U16 = 10,
  SN_U32 = 11,
  SN_U64 = 12,
  SN_F8E4M3 = 13,
  SN_F8E5M2 = 14
};

// ---- Version and errors ----

// Version of this interface in the loaded library: 1 << 16 | minor. The minor number grows with additions.
SN_API uint32_t sn_version(void);
// Version of Sinter: "0.1.0". Valid for ever.
SN_API const char* sn_release(void);
// Text of the last error of this thread. Never null; empty if there was none. Valid until the next call of
// this thread that fails.
SN_API const char* sn_last_error(void);
// Name of a code, such as "INVALID_ARGUMENT"; "UNKNOWN" for other numbers. Valid for ever.
SN_API const char* sn_code_name(sn_code code);
// Sets the last error of this thread, for libraries that build on this interface and return its codes.
// Returns `code`. Null says that there was no memory for the text.
SN_API sn_code sn_set_last_error(sn_code code, const char* text);

// Name of an element type, such as "f32"; null for other numbers. Valid for ever.
SN_API const char* sn_dtype_name(sn_dtype dtype);
// Bytes of an element; 0 for other numbers.
SN_API int64_t sn_dtype_bytes(sn_dtype dtype);

// ---- Devices of this machine ----

// Number of GPUs that plans can run on: 0 without a driver, and in a build without CUDA.
SN_API int32_t sn_num_gpus(void);

typedef struct {
  uint32_t size;  // Set to sizeof(sn_device_info) before the call.
  int32_t is_gpu;
  char name[128];         // "NVIDIA H100 80GB HBM3"; cut if it is longer.
  char architecture[32];  // As plans name it: "sm_90", "x86_64".
  int64_t total_bytes;    // The device's memory.
  int64_t free_bytes;     // An estimate: other processes use it too.
} sn_device_info;
// Describes a device by its name: "cpu:0", "gpu:1". Errors: SN_INVALID_ARGUMENT: not a name of a device.
// SN_NOT_FOUND, SN_FAILED_PRECONDITION: no such device here; the text lists those that are.
SN_API sn_code sn_device_query(const char* device, sn_device_info* info);

// ---- Plans ----

// Reads a plan file. The file may be overwritten afterwards. Reading is safe, whoever wrote the file;
// creating a session loads its native code into the process. SN_INVALID_ARGUMENT: not a plan, or of a version
// that this library cannot read. SN_DATA_LOSS: truncated or altered.
SN_API sn_code sn_plan_load(const char* path, sn_plan** out);
// Makes a plan from the bytes of a plan file, which are copied. Errors as sn_plan_load.
SN_API sn_code sn_plan_from_memory(const void* bytes, size_t size, sn_plan** out);
SN_API void sn_plan_free(sn_plan* plan);
// Writes the whole file or nothing.
SN_API sn_code sn_plan_save(const sn_plan* plan, const char* path);
// Returns the plan's bytes, which live as long as the plan.
SN_API sn_code sn_plan_bytes(const sn_plan* plan, const void** bytes, size_t* size);

// Name of the program. Null for a null plan, as the next.
SN_API const char* sn_plan_name(const sn_plan* plan);
// SHA-256 of the contents, 64 hexadecimal digits.
SN_API const char* sn_plan_hash(const sn_plan* plan);

// Numbers of the plan's functions, variables and devices; 0 for a null plan.
SN_API int32_t sn_plan_num_functions(const sn_plan* plan);
SN_API int32_t sn_plan_num_variables(const sn_plan* plan);
SN_API int32_t sn_plan_num_devices(const sn_plan* plan);

// A name, an element type and a shape. `shape` has `rank` sizes. The pointers live as long as the handle.
typedef struct {
  const char* name;
  sn_dtype dtype;
  int32_t rank;
  const int64_t* shape;
} sn_info;

// Name of function `f`, from 0, and the numbers of its inputs and outputs. Each pointer may be null.
// SN_NOT_FOUND past the last function, as the following past the last of theirs.
SN_API sn_code sn_plan_function_info(const sn_plan* plan, int32_t f, const char** name, int32_t* num_inputs,
                                     int32_t* num_outputs);
SN_API sn_code sn_plan_input_info(const sn_plan* plan, int32_t f, int32_t i, sn_info* out);
SN_API sn_code sn_plan_output_info(const sn_plan* plan, int32_t f, int32_t i, sn_info* out);
// `is_trainable`, which may be null, is 1 for parameters that an optimizer may update, else 0.
SN_API sn_code sn_plan_variable_info(const sn_plan* plan, int32_t i, sn_info* out, int32_t* is_trainable);
// Returns a device that the plan runs on: "cpu:0", "gpu:0". It need not exist on this machine.
SN_API sn_code sn_plan_device(const sn_plan* plan, int32_t i, const char** device);

// ---- Tensors ----

// Makes a tensor over the caller's memory, without a copy. `data` holds the elements in row-major order, is
// aligned to the size of an element, and must live and stay in place until the tensor, and every function
// that it is set in, are freed or set again. A run reads it in place if it starts at a multiple of 64 bytes;
// it copies it otherwise. `device`: null or "cpu:0". SN_INVALID_ARGUMENT: a wrong type, rank, size or
// alignment. SN_UNIMPLEMENTED: the device is no CPU.
SN_API sn_code sn_tensor_borrow(sn_dtype dtype, int32_t rank, const int64_t* shape, void* data,
                                const char* device, sn_tensor** out);
// Makes a tensor with memory of its own, aligned to 64 bytes, with unspecified contents. Errors as above, and
// SN_RESOURCE_EXHAUSTED.
SN_API sn_code sn_tensor_empty(sn_dtype dtype, int32_t rank, const int64_t* shape, const char* device,
                               sn_tensor** out);
// Copies the elements into a tensor with memory of its own.
SN_API sn_code sn_tensor_copy(const sn_tensor* tensor, sn_tensor** out);
SN_API void sn_tensor_free(sn_tensor* tensor);

// Describes a tensor; its name is null. `data`, which may be null, gets the address of the elements. Those of
// a read-only tensor must not be written (sn_tensor_flags). The memory of an output stays readable after the
// next run, and then holds other values.
SN_API sn_code sn_tensor_info(const sn_tensor* tensor, sn_info* out, void** data);

enum {
  SN_TENSOR_READ_ONLY = 1,  // Outputs, views of variables, and read-only tensors from DLPack.
  SN_TENSOR_OWNS = 2,       // Has memory of its own.
  SN_TENSOR_COPIED = 4      // From DLPack, by a copy: its memory was not aligned to the size of an element.
};
// Returns these bits; 0 for a null tensor.
SN_API uint32_t sn_tensor_flags(const sn_tensor* tensor);

// Take over a tensor of DLPack, without a copy if its memory is aligned to the size of an element. The
// managed tensor belongs to Sinter from this call on, also after an error: its deleter runs once, by any
// thread, when nothing uses the memory any more. Memory: kDLCPU and kDLCUDAHost. SN_INVALID_ARGUMENT: a major
// version other than 1, an element type without a name here, several lanes, or strides that are not those of
// a dense row-major array. SN_UNIMPLEMENTED: memory of a GPU or another device.
SN_API sn_code sn_tensor_from_dlpack(struct DLManagedTensorVersioned* managed, sn_tensor** out);
SN_API sn_code sn_tensor_from_dlpack_unversioned(struct DLManagedTensor* managed, sn_tensor** out);
// Give a tensor to DLPack, without a copy. The receiver calls the deleter; it may outlive the sn_tensor. A
// read-only tensor has the flag for it; the unversioned structure has no flags, so SN_FAILED_PRECONDITION:
// give a copy.
SN_API sn_code sn_tensor_to_dlpack(const sn_tensor* tensor, struct DLManagedTensorVersioned** out);
SN_API sn_code sn_tensor_to_dlpack_unversioned(const sn_tensor* tensor, struct DLManagedTensor** out);

// ---- Sessions ----

typedef struct {
  uint32_t size;              // sizeof(sn_session_options).
  int32_t threads;            // CPU threads; 0: SINTER_NUM_THREADS, or one per core.
  int64_t memory_limit;       // Most bytes of the session on each device; 0: no limit.
  const char* tuning_file;    // Choices of GPU algorithms; null: the plan's path and ".tuning".
  const char* expected_hash;  // sn_plan_hash that the plan must have; null: any.
  int32_t any_order;          // 1: oneDNN computes products on CPUs, whose bits depend on threads and CPU.
  int32_t poison;             // 1, for tests: fills memory with NaNs before every run.
} sn_session_options;

// Loads the plan's code, allocates all memory and gives the variables their initial values. Running a plan is
// running a program: only create sessions of plans whose author you trust. Options may be null.
// SN_FAILED_PRECONDITION: the plan is for another CPU or device, or has another hash. SN_NOT_FOUND: this
// machine lacks its GPU. SN_RESOURCE_EXHAUSTED: the text lists what needs memory.
SN_API sn_code sn_session_create(const sn_plan* plan, const sn_session_options* options, sn_session** out);
// Makes a session for another thread that reads the variables, constants and code of this one, and has its
// own memory for values. The variables are then read-only until one of the sessions is left.
SN_API sn_code sn_session_share(const sn_session* session, const sn_session_options* options,
                                sn_session** out);
SN_API void sn_session_free(sn_session* session);
// Waits until all devices have completed their work, and returns its first error.
SN_API sn_code sn_session_synchronize(sn_session* session);
// Bytes that the session takes on a device, or on all if `device` is null.
SN_API sn_code sn_session_memory(const sn_session* session, const char* device, int64_t* bytes);

// ---- Running a function many times ----

// Prepares a function. SN_NOT_FOUND: there is none of this name. SN_INVALID_ARGUMENT: the name is of several
// buckets, which sn_session_run chooses from.
SN_API sn_code sn_function_bind(sn_session* session, const char* name, sn_function** out);
SN_API void sn_function_free(sn_function* function);
// Sets an input, until it is set again; a failed call keeps the old value. Holds the tensor, which the caller
// may free, and not its values: each run reads them anew. SN_NOT_FOUND: no such input; SN_INVALID_ARGUMENT:
// a wrong type or shape.
SN_API sn_code sn_function_set_input(sn_function* function, const char* name, const sn_tensor* tensor);
// Set an input of rank 0 to a number, which its element type must hold: 0.5 is no number of SN_I32. Floats
// round.
SN_API sn_code sn_function_set_number(sn_function* function, const char* name, double number);
SN_API sn_code sn_function_set_integer(sn_function* function, const char* name, int64_t number);
// Runs the function. On a GPU, returns when the work is enqueued; a later call that waits for it reports its
// errors. Inputs may change when it returns. SN_INVALID_ARGUMENT names the inputs that are not set.
SN_API sn_code sn_function_run(sn_function* function);
// Returns an output of the last run: a read-only view of the session's memory, which the next run of any of
// the session's functions overwrites. sn_tensor_copy keeps it. Waits for the device. SN_FAILED_PRECONDITION:
// the function has not run, or on a GPU another one has run since.
SN_API sn_code sn_function_output(sn_function* function, const char* name, sn_tensor** out);

// ---- Running a function once ----

// An input of a run: a tensor, or if it is null a number for an input of rank 0.
typedef struct {
  const char* name;
  const sn_tensor* tensor;
  double number;
} sn_argument;

// Runs a function. For the name of buckets, runs the smallest bucket that the arguments fit in. Errors as
// sn_function_bind, sn_function_set_input and sn_function_run; one text lists everything wrong.
SN_API sn_code sn_session_run(sn_session* session, const char* function, const sn_argument* arguments,
                              int32_t num_arguments, sn_outputs** out);
SN_API void sn_outputs_free(sn_outputs* outputs);
// Number of outputs; 0 for null.
SN_API int32_t sn_outputs_count(const sn_outputs* outputs);
// Name of output `i`, from 0; null if there is none.
SN_API const char* sn_outputs_name(const sn_outputs* outputs, int32_t i);
// Returns an output by its name, as sn_function_output.
SN_API sn_code sn_outputs_tensor(const sn_outputs* outputs, const char* name, sn_tensor** out);

// ---- Variables ----

// Returns a copy of a variable's value. SN_NOT_FOUND: the text has the nearest names.
SN_API sn_code sn_variable_read(const sn_session* session, const char* name, sn_tensor** out);
// Returns a read-only view of the variable's own memory, which later runs change; a copy if it is on a GPU.
SN_API sn_code sn_variable_view(const sn_session* session, const char* name, sn_tensor** out);
// SN_INVALID_ARGUMENT: a wrong type or shape. SN_FAILED_PRECONDITION: sessions share the variable.
SN_API sn_code sn_variable_write(sn_session* session, const char* name, const sn_tensor* tensor);
// Sets all variables to their initial values and empties logs.
SN_API sn_code sn_variables_reset(sn_session* session);
// Returns the values logged under a name since the last call, oldest first, as a tensor of SN_F64 and rank 1.
// `lost`, which may be null, counts values that were overwritten before they were read.
SN_API sn_code sn_log_read(sn_session* session, const char* name, sn_tensor** out, int64_t* lost);

// ---- Checkpoints: files of safetensors ----

// Writes all variables, and `count` pairs of a key and a text, to a file: the whole or nothing. `keys` and
// `values` may be null if `count` is 0.
SN_API sn_code sn_checkpoint_save(const sn_session* session, const char* path, int32_t count,
                                  const char* const* keys, const char* const* values);

typedef struct {
  uint32_t size;            // sizeof(sn_load_options).
  int32_t allow_unchecked;  // 1: accepts files without checksums, such as those of other programs.
  int64_t num_only;
  const char* const* only;  // Names, or prefixes that end in '*', of the only variables to load; null: all.
} sn_load_options;
// Loads variables. Everything is checked before anything changes. Options and `metadata` may be null.
// SN_INVALID_ARGUMENT lists every missing, unknown and wrong tensor. SN_DATA_LOSS: truncated or altered.
// SN_FAILED_PRECONDITION: no checksums.
SN_API sn_code sn_checkpoint_load(sn_session* session, const char* path, const sn_load_options* options,
                                  sn_metadata** metadata);
SN_API void sn_metadata_free(sn_metadata* metadata);
// Number of pairs; 0 for null.
SN_API int32_t sn_metadata_count(const sn_metadata* metadata);
// Key and text of pair `i`, in the order of the keys. Each pointer may be null. SN_NOT_FOUND past the last.
SN_API sn_code sn_metadata_entry(const sn_metadata* metadata, int32_t i, const char** key,
                                 const char** value);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SINTER_RUNTIME_C_SINTER_H_
