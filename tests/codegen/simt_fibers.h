// Stacks that take turns in one thread of the process: what the threads of an emulated block run on (simt_block.h).
//
//   SimtFibers fibers(1024, Main);                   // Main() never returns
//   int fiber = fibers.Take();
//   fibers.Switch(SimtFibers::kCaller, fiber);       // returns when something switches back
//
// Stacks are made when first taken and kept. What a fiber leaves on its stack when it is never run again is lost.
#ifndef SINTER_TESTS_CODEGEN_SIMT_FIBERS_H_
#define SINTER_TESTS_CODEGEN_SIMT_FIBERS_H_

#include <memory>
#include <vector>

namespace sinter::codegen {

class SimtFibers {
 public:
  // The stack of the process itself.
  static constexpr int kCaller = 0;

  // Up to `most` at a time, each of which runs `main`.
  SimtFibers(int most, void (*main)());
  ~SimtFibers();

  // One that runs from the beginning of main, or goes on where it was when it was given back.
  int Take();
  void Free(int fiber) { free_.push_back(fiber); }
  // All begin anew, wherever they are.
  void Forget();
  // `from` is the one that runs.
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
