// SIGTERM while a program waits for others, as a flag instead of its end: mpirun sends it to all when one process has died.
//
//   TerminationWatch watch;                       // While it lives; does nothing if the program has a handler of its own.
//   {
//     TerminationWatch::Waiting waiting;
//     while (!done && !TerminationWatch::IsRequested()) ...
//   }
//   TerminationWatch::EndUnlessWaiting();         // Now and then, from another thread.
//   watch.HandBack();                             // When that thread ends: nobody waits any more.
//
// A program that computes when the signal comes may be about to wait: it has half a second to begin, and is ended then. The
// second SIGTERM ends it in any case. One watch at a time.
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

  // SIGTERM ends the program again. If it has come, the program was told why it cannot go on, and has a second to say so and to
  // save what it has.
  void HandBack();

  static bool IsRequested();
  // By the signal.
  static void EndUnlessWaiting();

 private:
  void Uninstall();

  bool is_installed_ = false;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_TERMINATION_H_
