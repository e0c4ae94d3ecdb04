#include "nsa/reports/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"

namespace nsa::reports {
namespace {

constexpr std::int64_t kBar = 20;

/// By the share that is done, when nobody estimated better.
std::optional<double> seconds_left(const ProgressState& state) {
  if (state.left_s) return state.left_s;
  if (state.done <= 0 || state.total <= 0) return std::nullopt;
  const auto done = static_cast<double>(state.done);
  return state.elapsed_s * (static_cast<double>(state.total) - done) / done;
}

}  // namespace

std::string progress_line(const ProgressState& state, std::size_t columns) {
  const std::int64_t total = std::max<std::int64_t>(state.total, 0);
  const std::int64_t done = std::clamp<std::int64_t>(state.done, 0, total);
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBar));
  std::string line = fmt::format("[{}{}] {}/{}  {:.0f} %", std::string(filled, '#'),
                                 std::string(kBar - filled, '.'), done, total, share * 100);
  if (const auto left = seconds_left(state)) line += "  " + format_seconds_left(*left) + " left";
  if (!state.job.empty()) line += "  " + printable(state.job);
  return shortened(line, columns);
}

}  // namespace nsa::reports
