// Writes null_table_rows.cpp: quantiles of the best split of normal nights without a change.
//   make_null_table [DRAWS [NIGHTS...]] > reports/nightly/series/null_table_rows.cpp
// Without NIGHTS all rows. Seeded by the row, so that each row comes out the same by itself.
#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "null_table.hpp"
#include "split.hpp"

namespace nsa::nightly {
namespace {

std::vector<double> draws_of(std::size_t nights, std::size_t draws) {
  boost::random::mt19937_64 bits(nights);
  boost::random::normal_distribution<double> normal;
  std::vector<double> t(draws), data(nights);
  for (double& value : t) {
    for (double& y : data) y = normal(bits);
    value = best_split_of_series(data).t;
  }
  std::sort(t.begin(), t.end(), std::greater<>());
  return t;
}

void print_row(std::size_t nights, std::size_t draws) {
  const std::vector<double> t = draws_of(nights, draws);
  std::printf("    {%zu,\n     {{", nights);
  for (std::size_t c = 0; c < kTableColumns; ++c) {
    const double p = std::pow(10, -kTableStep * static_cast<double>(c + 1));
    const double rank = p * static_cast<double>(draws);  // how many exceed the quantile
    const auto above = static_cast<std::size_t>(std::lround(rank));
    std::printf("%s%.5g", c == 0 ? "" : c % 10 == 0 ? ",\n       " : ", ", t[above]);
  }
  std::printf("}}},\n");
  std::fflush(stdout);
}

constexpr std::size_t kRows[] = {4,  5,  6,   7,   8,   9,   10,  11,  12,   13,
                                 14, 15, 17,  20,  25,  30,  35,  42,  50,   60,
                                 75, 95, 120, 150, 180, 250, 365, 600, 1000, 1500};

}  // namespace
}  // namespace nsa::nightly

int main(int count, char** arguments) {
  using namespace nsa::nightly;
  const std::size_t draws = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1000000;
  std::printf(
      "// Written by make_null_table, %zu draws a row; do not edit.\n"
      "#include \"null_table.hpp\"\n\n"
      "namespace nsa::nightly {\nnamespace {\n\n"
      "// clang-format off\n"
      "constexpr NullRow kRows[] = {\n",
      draws);
  if (count > 2)
    for (int i = 2; i < count; ++i) print_row(std::strtoull(arguments[i], nullptr, 10), draws);
  else
    for (const std::size_t nights : kRows) print_row(nights, draws);
  std::printf(
      "};\n// clang-format on\n\n}  // namespace\n\n"
      "std::span<const NullRow> null_rows() { return kRows; }\n\n}  // namespace nsa::nightly\n");
}
