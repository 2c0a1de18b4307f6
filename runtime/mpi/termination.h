// Turns SIGTERM into a flag while a program waits for others, instead of ending it at once.
// mpirun sends SIGTERM to all processes when one has died.
//
//   TerminationWatch watch;                // Does nothing if the program has its own handler.
//   {
//     TerminationWatch::Waiting waiting;
//     while (!done && !TerminationWatch::IsRequested()) ...
//   }
//   TerminationWatch::EndUnlessWaiting();  // Several times a second, from another thread.
//   watch.HandBack();                      // When that thread ends; no wait follows.
//
// A program that computes when the signal comes may be about to wait. It has half a second to begin its wait;
// then it is ended. A second SIGTERM ends it in any case. Only one watch may exist at a time.
#ifndef SINTER_RUNTIME_MPI_TERMINATION_H_
#define SINTER_RUNTIME_MPI_TERMINATION_H_

namespace sinter {

class TerminationWatch {
 public:
  TerminationWatch();
  ~TerminationWatch();
  TerminationWatch(const TerminationWatch&) = delete;
  TerminationWatch& operator=(const TerminationWatch&) = delete;

  class Waiting {
   public:
    Waiting();
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
  };

  // Makes SIGTERM end the program again. If SIGTERM has already come, the program has learned why it cannot
  // continue, and has a second to report it and save its state.
  void HandBack();

  static bool IsRequested();
  // Ends the process by SIGTERM if it was requested and the program has not begun to wait in time.
  static void EndUnlessWaiting();

 private:
  void Uninstall();

  bool is_installed_ = false;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_TERMINATION_H_
