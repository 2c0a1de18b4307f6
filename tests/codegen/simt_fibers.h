// Stacks that take turns in one thread of the process; the threads of an emulated block run on them.
//
//   SimtFibers fibers(1024, Main);                   // Main() never returns
//   int fiber = fibers.Take();
//   fibers.Switch(SimtFibers::kCaller, fiber);       // returns when something switches back
//
// Stacks are created at their first use and kept. Objects on the stack of a fiber that never runs again are
// lost.
#ifndef SINTER_TESTS_CODEGEN_SIMT_FIBERS_H_
#define SINTER_TESTS_CODEGEN_SIMT_FIBERS_H_

#include <memory>
#include <vector>

namespace sinter::codegen {

class SimtFibers {
 public:
  // The stack of the caller's thread.
  static constexpr int kCaller = 0;

  // Provides up to `most` fibers at a time; each runs `main`.
  SimtFibers(int most, void (*main)());
  ~SimtFibers();

  // Returns a fiber that starts at main, or continues at its last Switch after Free.
  int Take();
  void Free(int fiber) { free_.push_back(fiber); }
  // Restarts all fibers from the beginning.
  void Forget();
  // Switches to the fiber `to`. `from` is the running fiber.
  void Switch(int from, int to);

 private:
  struct Contexts;

  int most_;
  void (*main_)();
  std::unique_ptr<Contexts> contexts_;
  char* stacks_ = nullptr;
  std::vector<int> free_;
  int made_ = 0;
};

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_SIMT_FIBERS_H_
