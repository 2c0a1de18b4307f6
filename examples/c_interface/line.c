// Learns the line y = 2 x + 1 from four points: compiles a program, trains it and predicts, all from C.
#include <stdio.h>
#include <string.h>

#include "sinter/c/compiler.h"
#include "sinter/c/sinter.h"

// One function that takes a step of gradient descent, and one that predicts; both have the variables w and b.
static const char kProgram[] =
    "module @line {\n"
    "  sinter.variable @w : tensor<1x1xf32> = constant(0.0, 0.0) seed 0 trainable\n"
    "  sinter.variable @b : tensor<1xf32> = constant(0.0, 0.0) seed 0 trainable\n"
    "  func.func @train(%x: tensor<4x1xf32> {sinter.input = \"x\"}, %y: tensor<4x1xf32> {sinter.input = "
    "\"y\"},\n"
    "                   %rate: tensor<f32> {sinter.input = \"rate\"}, %w: tensor<1x1xf32> {sinter.variable = "
    "@w},\n"
    "                   %b: tensor<1xf32> {sinter.variable = @b})\n"
    "      -> (tensor<f32> {sinter.output = \"loss\"}, tensor<1x1xf32> {sinter.variable = @w},\n"
    "          tensor<1xf32> {sinter.variable = @b}) {\n"
    "    %0 = sinter.matmul %x, %w : (tensor<4x1xf32>, tensor<1x1xf32>) -> tensor<4x1xf32>\n"
    "    %1 = sinter.broadcast %b [1] : tensor<1xf32> -> tensor<4x1xf32>\n"
    "    %2 = sinter.add %0, %1 : tensor<4x1xf32>\n"
    "    %3 = sinter.sub %2, %y : tensor<4x1xf32>\n"
    "    %4 = sinter.mul %3, %3 : tensor<4x1xf32>\n"
    "    %loss = sinter.sum %4 [0, 1] : tensor<4x1xf32> -> tensor<f32>\n"
    "    %g:2 = sinter.gradients %loss wrt %w, %b : (tensor<f32>, tensor<1x1xf32>, tensor<1xf32>)\n"
    "        -> (tensor<1x1xf32>, tensor<1xf32>)\n"
    "    %5 = sinter.broadcast %rate [] : tensor<f32> -> tensor<1x1xf32>\n"
    "    %6 = sinter.mul %g#0, %5 : tensor<1x1xf32>\n"
    "    %new_w = sinter.sub %w, %6 : tensor<1x1xf32>\n"
    "    %7 = sinter.broadcast %rate [] : tensor<f32> -> tensor<1xf32>\n"
    "    %8 = sinter.mul %g#1, %7 : tensor<1xf32>\n"
    "    %new_b = sinter.sub %b, %8 : tensor<1xf32>\n"
    "    return %loss, %new_w, %new_b : tensor<f32>, tensor<1x1xf32>, tensor<1xf32>\n"
    "  }\n"
    "  func.func @predict(%x: tensor<1x1xf32> {sinter.input = \"x\"}, %w: tensor<1x1xf32> {sinter.variable = "
    "@w},\n"
    "                     %b: tensor<1xf32> {sinter.variable = @b}) -> (tensor<1x1xf32> {sinter.output = "
    "\"y\"}) {\n"
    "    %0 = sinter.matmul %x, %w : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>\n"
    "    %1 = sinter.broadcast %b [1] : tensor<1xf32> -> tensor<1x1xf32>\n"
    "    %2 = sinter.add %0, %1 : tensor<1x1xf32>\n"
    "    return %2 : tensor<1x1xf32>\n"
    "  }\n"
    "}\n";

// Leaves the function with the error of a call that fails.
#define TRY(call)                   \
  do {                              \
    const sn_code code = (call);    \
    if (code != SN_OK) return code; \
  } while (0)

// Returns the only number of an output.
static sn_code ReadNumber(sn_function* function, const char* name, float* number) {
  sn_tensor* tensor = NULL;
  sn_info info;
  void* data = NULL;
  TRY(sn_function_output(function, name, &tensor));
  const sn_code code = sn_tensor_info(tensor, &info, &data);
  if (code == SN_OK) memcpy(number, data, sizeof *number);
  sn_tensor_free(tensor);
  return code;
}

// Sets an input to an array of floats, which the function reads at each run.
static sn_code SetInput(sn_function* function, const char* name, float* values, int64_t rows) {
  const int64_t shape[2] = {rows, 1};
  sn_tensor* tensor = NULL;
  TRY(sn_tensor_borrow(SN_F32, 2, shape, values, NULL, &tensor));
  const sn_code code = sn_function_set_input(function, name, tensor);
  sn_tensor_free(tensor);
  return code;
}

static sn_code TrainAndPredict(sn_function* train, sn_function* predict) {
  float x[4] = {0, 1, 2, 3}, y[4] = {1, 3, 5, 7}, ten[1] = {10}, number = 0;
  TRY(SetInput(train, "x", x, 4));
  TRY(SetInput(train, "y", y, 4));
  TRY(sn_function_set_number(train, "rate", 0.01));
  for (int step = 0; step <= 200; ++step) {
    TRY(sn_function_run(train));
    if (step % 100 != 0) continue;
    TRY(ReadNumber(train, "loss", &number));
    printf("step %d: loss %.4f\n", step, number);
  }
  TRY(SetInput(predict, "x", ten, 1));
  TRY(sn_function_run(predict));
  TRY(ReadNumber(predict, "y", &number));
  printf("2 * 10 + 1 = %.2f\n", number);
  return SN_OK;
}

int main(void) {
  sn_plan* plan = NULL;
  sn_session* session = NULL;
  sn_function *train = NULL, *predict = NULL;
  sn_compile_options compile = {.size = sizeof compile};  // All other members are zero: the defaults.
  sn_session_options options = {.size = sizeof options};
  options.threads = 1;

  sn_code code = sn_compile_text(kProgram, sizeof kProgram - 1, "line.mlir", &compile, &plan, NULL);
  // Another program needs only this file and libsinter_c: sn_plan_load("line.plan", &plan).
  if (code == SN_OK) code = sn_plan_save(plan, "line.plan");
  if (code == SN_OK) code = sn_session_create(plan, &options, &session);
  if (code == SN_OK) code = sn_function_bind(session, "train", &train);
  if (code == SN_OK) code = sn_function_bind(session, "predict", &predict);
  if (code == SN_OK) code = TrainAndPredict(train, predict);
  if (code != SN_OK) fprintf(stderr, "%s: %s\n", sn_code_name(code), sn_last_error());

  sn_function_free(predict);
  sn_function_free(train);
  sn_session_free(session);
  sn_plan_free(plan);
  return code == SN_OK ? 0 : 1;
}
