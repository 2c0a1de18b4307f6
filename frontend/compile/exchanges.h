// The exchanges between ranks that a compiled program makes, with their reasons.
//
//   CompileReport report;
//   Compile(graph, options, &report);
//   for (const Exchange& exchange : report.exchanges) std::cout << exchange.ToString() << "\n";
//   EXPECT_EQ(ExchangedBytes(report.exchanges, "all_gather", "tensor"), 0);     // In a test of your own.
#ifndef SINTER_FRONTEND_COMPILE_EXCHANGES_H_
#define SINTER_FRONTEND_COMPILE_EXCHANGES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

struct Exchange {
  std::string function;
  std::string kind;               // "all_reduce", "all_gather", "reduce_scatter", "ring_shift", "all_to_all".
  std::vector<std::string> axes;  // Axes of the mesh whose ranks exchange.
  int64_t ranks = 0;              // Number of ranks that exchange with each other.
  int64_t tensors = 0;            // Tensors that travel together.
  int64_t bytes = 0;              // Bytes of the tensors that one rank gives.
  std::string line;               // Line of the program: "model.cc:41".
  std::string because;  // The reason, with the line to which it refers; empty if the compiler knows none.

  // One line of text.
  std::string ToString() const;
};

// Returns the bytes that a rank gives to exchanges of this kind over this axis, in one run of each function.
// Empty names stand for any kind or axis.
int64_t ExchangedBytes(const std::vector<Exchange>& exchanges, std::string_view kind = {},
                       std::string_view axis = {});

}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_EXCHANGES_H_
