#include "sinter/tests/codegen/simt_fibers.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "sinter/runtime/host/status.h"

// Sanitizers understand the library's stack switches (ucontext). These make a system call for the signal mask
// each time, which takes ten times as long as the rest. Builds without sanitizers switch only the
// callee-saved registers.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SINTER_SIMT_UCONTEXT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SINTER_SIMT_UCONTEXT 1
#endif
#endif
#if !defined(__x86_64__)
#define SINTER_SIMT_UCONTEXT 1
#endif

#ifdef SINTER_SIMT_UCONTEXT
#include <ucontext.h>
#else
extern "C" void sinter_simt_switch(void** from, void* to);
asm(R"(
.text
.p2align 4
.type sinter_simt_switch, @function
sinter_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size sinter_simt_switch, . - sinter_simt_switch
)");
#endif

namespace sinter::codegen {

namespace {

constexpr size_t kStackBytes = 256 << 10, kPageBytes = 4 << 10;

}  // namespace

#ifdef SINTER_SIMT_UCONTEXT

struct SimtFibers::Contexts {
  explicit Contexts(int count) : contexts(count) {}

  void Make(int fiber, char* stack, void (*main)()) {
    ucontext_t& context = contexts[fiber];
    SINTER_CHECK(getcontext(&context) == 0);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = kStackBytes;
    context.uc_link = nullptr;
    makecontext(&context, main, 0);
  }
  void Switch(int from, int to) { SINTER_CHECK(swapcontext(&contexts[from], &contexts[to]) == 0); }

  std::vector<ucontext_t> contexts;
};

#else

struct SimtFibers::Contexts {
  explicit Contexts(int count) : tops(count) {}

  // Prepares a stack as if `main` had just been called: six registers, the address of `main`, and its return
  // address.
  void Make(int fiber, char* stack, void (*main)()) {
    auto* top = reinterpret_cast<uintptr_t*>(stack + kStackBytes);
    *--top = 0;
    *--top = reinterpret_cast<uintptr_t>(main);
    for (int i = 0; i < 6; ++i) *--top = 0;
    tops[fiber] = top;
  }
  void Switch(int from, int to) { sinter_simt_switch(&tops[from], tops[to]); }

  std::vector<void*> tops;
};

#endif

SimtFibers::SimtFibers(int most, void (*main)())
    : most_(most), main_(main), contexts_(std::make_unique<Contexts>(most + 1)) {
  void* memory = mmap(nullptr, kStackBytes * most, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  SINTER_CHECK(memory != MAP_FAILED) << "no address space for the stacks of a block";
  stacks_ = static_cast<char*>(memory);
  for (int i = 0; i < most; ++i) {
    SINTER_CHECK(mprotect(stacks_ + i * kStackBytes, kPageBytes, PROT_NONE) == 0);
  }
}

SimtFibers::~SimtFibers() { munmap(stacks_, kStackBytes * most_); }

int SimtFibers::Take() {
  if (!free_.empty()) {
    const int fiber = free_.back();
    free_.pop_back();
    return fiber;
  }
  SINTER_CHECK(made_ < most_);
  contexts_->Make(made_ + 1, stacks_ + made_ * kStackBytes, main_);
  return ++made_;
}

void SimtFibers::Forget() {
  free_.clear();
  made_ = 0;
}

void SimtFibers::Switch(int from, int to) { contexts_->Switch(from, to); }

}  // namespace sinter::codegen
