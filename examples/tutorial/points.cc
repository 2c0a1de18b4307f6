// Writes points of two spirals as a table: the data of the tutorial (docs/tutorial).
//
//   tutorial_points spirals.csv
#include <cmath>
#include <fstream>
#include <iostream>
#include <random>

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: tutorial_points FILE.csv\n", 2;
  std::ofstream table(argv[1]);
  table << "x,y,arm\n";
  std::mt19937 bits(1);
  const auto uniform = [&] { return static_cast<double>(bits()) / 4294967296.0; };  // In [0, 1).
  for (int i = 0; i < 2000; ++i) {
    const bool is_red = i % 2 == 0;
    const double along = std::sqrt(uniform()), angle = 9 * along + (is_red ? 0 : 3.14159265);
    const double x = along * std::cos(angle) + 0.06 * (uniform() - 0.5);
    const double y = along * std::sin(angle) + 0.06 * (uniform() - 0.5);
    table << x << "," << y << "," << (is_red ? "red" : "blue") << "\n";
  }
  table.close();
  if (!table) std::cerr << "tutorial_points: cannot write " << argv[1] << "\n";
  return table ? 0 : 1;
}
