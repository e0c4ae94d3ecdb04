#include "history.hpp"

#include <fmt/format.h>

namespace nsa::test {

double wobble(std::int64_t night, std::size_t column) {
  // A linear congruential generator, some steps from a seed of night and column.
  auto state = static_cast<std::uint64_t>(night) * 1'000'003 + column * 7919 + 12345;
  double sum = 0;
  for (int i = 0; i < 6; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    sum += static_cast<double>(state >> 40) / static_cast<double>(1 << 24) - 0.5;
  }
  return sum / 3;
}

std::string history_csv(const std::vector<Column>& columns, std::int64_t nights,
                        std::int64_t replicates) {
  std::string csv = "time";
  for (const Column& column : columns) csv += "," + column.name;
  csv += "\n";
  for (std::int64_t night = 0; night < nights; ++night) {
    for (std::int64_t r = 0; r < replicates; ++r) {
      csv += std::to_string(night);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const Column& column = columns[c];
        const bool stepped = column.factor != 1 && night >= column.step_at;
        const double noise = 1 + 0.005 * wobble(night, c) + 0.001 * wobble(night * 31 + r, c + 99);
        csv += fmt::format(",{:.9g}", column.level * (stepped ? column.factor : 1) * noise);
      }
      csv += "\n";
    }
  }
  return csv;
}

}  // namespace nsa::test
