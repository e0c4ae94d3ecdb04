// Histories of benchmarks as CSV, quiet enough that every verdict on them is certain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nsa::test {

/// A column of a history.
struct Column {
  std::string name;
  double level = 100;  // of the value
  double factor = 1;   // from night `step_at` on
  std::int64_t step_at = 0;
};

/// Noise of night `night` of column `column` between -1 and 1, the same on every machine.
double wobble(std::int64_t night, std::size_t column);
/// A header "time,<names>" and `replicates` rows a night, times 0, 1, 2...; noise of .5 % a night.
std::string history_csv(const std::vector<Column>& columns, std::int64_t nights,
                        std::int64_t replicates = 3);

}  // namespace nsa::test
