// One line that says where a long job stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nsa::reports {

struct ProgressState {
  std::int64_t done = 0, total = 0;
  double elapsed_s = 0;
  std::optional<double> left_s;  // estimate; without it, from the share that is done
  std::string job;               // what is running now
};

/// "[#####.....] 12/24  50 %  1m03s left  attend_selected seq_len 2048 masked", at most `columns`.
std::string progress_line(const ProgressState& state, std::size_t columns);

}  // namespace nsa::reports
