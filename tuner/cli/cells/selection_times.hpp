// What stages take with other numbers of blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "program.hpp"

namespace nsa::cli {

struct SelectionOptions {
  std::vector<std::int64_t> tokens{1024, 4096};  // lengths
  std::vector<double> alike{0, 0.9, 0.99};       // correlations of neighbours
  std::int64_t sel_count = 16;                   // n of the exact selection
  bool times = false;                            // sweep the stages too
};

/// By a sweep of its own on the device of `settings`: the fastest verified variant of the
/// selected branch with n 8, 12 and `sel_count`, and of the compressed branch with and without
/// scores; the `times` of report_selection.schema.json. EnvironmentError where the sweep fails.
Json measured_times(const Settings& settings, const SelectionOptions& options);

}  // namespace nsa::cli
