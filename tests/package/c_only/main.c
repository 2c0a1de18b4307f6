// Runs the plan that the program `whole` saved, in a project without C++.
#include <stdio.h>

#include "sinter/c/sinter.h"

int main(int argc, char** argv) {
  sn_plan* plan = NULL;
  sn_session* session = NULL;
  sn_tensor *x = NULL, *y = NULL;
  sn_outputs* outputs = NULL;
  sn_info info;
  void* data = NULL;
  float values[4] = {1, 2, 3, 4};
  const int64_t shape[1] = {4};
  sn_code code = argc == 2 ? sn_plan_load(argv[1], &plan) : SN_INVALID_ARGUMENT;
  if (code == SN_OK) code = sn_session_create(plan, NULL, &session);
  if (code == SN_OK) code = sn_tensor_borrow(SN_F32, 1, shape, values, NULL, &x);
  const sn_argument argument = {"x", x, 0};
  if (code == SN_OK) code = sn_session_run(session, "square", &argument, 1, &outputs);
  if (code == SN_OK) code = sn_outputs_tensor(outputs, "y", &y);
  if (code == SN_OK) code = sn_tensor_info(y, &info, &data);
  if (code != SN_OK) return fprintf(stderr, "%s: %s\n", sn_code_name(code), sn_last_error()), 1;
  const int is_right = ((const float*)data)[3] == 16;
  sn_tensor_free(x);
  sn_tensor_free(y);
  sn_outputs_free(outputs);
  sn_session_free(session);
  sn_plan_free(plan);
  return is_right ? 0 : 2;
}
