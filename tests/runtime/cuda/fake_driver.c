// A fake CUDA driver for machines without one. cuDNN needs it to prepare kernels for a described GPU. The
// kernels are not loaded anywhere. Functions that need a GPU return the stub error, as the stub library of
// CUDA's toolkit does; cuDNN looks them up by name.
#define SINTER_NOT_HERE(name) \
  int name(void) { return kStubLibrary; }

enum { kSuccess = 0, kStubLibrary = 34 };

int cuInit(unsigned flags) {
  (void)flags;
  return kStubLibrary;
}
int cuDeviceGetCount(int* count) {
  (void)count;
  return kStubLibrary;
}
int cuGetErrorString(int error, const char** text) {
  (void)error;
  *text = "this is no driver";
  return kSuccess;
}
int cuLibraryLoadData(void** library) {
  static char loaded;
  *library = &loaded;
  return kSuccess;
}
int cuLibraryGetKernel(void** kernel) {
  static char found;
  *kernel = &found;
  return kSuccess;
}

int cuLibraryUnload(void) { return kSuccess; }

SINTER_NOT_HERE(cuCtxGetCurrent)
SINTER_NOT_HERE(cuCtxGetLimit)
SINTER_NOT_HERE(cuCtxPopCurrent)
SINTER_NOT_HERE(cuCtxPushCurrent)
SINTER_NOT_HERE(cuDeviceGet)
SINTER_NOT_HERE(cuDriverGetVersion)
SINTER_NOT_HERE(cuGetErrorName)
SINTER_NOT_HERE(cuKernelGetAttribute)
SINTER_NOT_HERE(cuKernelSetAttribute)
SINTER_NOT_HERE(cuLaunchCooperativeKernel)
SINTER_NOT_HERE(cuLaunchKernel)
SINTER_NOT_HERE(cuLaunchKernelEx)
SINTER_NOT_HERE(cuLibraryLoadFromFile)
SINTER_NOT_HERE(cuLinkAddData)
SINTER_NOT_HERE(cuLinkComplete)
SINTER_NOT_HERE(cuLinkCreate)
SINTER_NOT_HERE(cuLinkDestroy)
SINTER_NOT_HERE(cuOccupancyMaxPotentialClusterSize)
SINTER_NOT_HERE(cuStreamGetCtx)
