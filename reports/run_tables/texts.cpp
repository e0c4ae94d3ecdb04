// Numbers and reasons in the cells of tables.
#include <fmt/format.h>

#include <cmath>

#include "nsa/run_tables/tables.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa::run_tables {

std::string grouped(double value) {
  if (!std::isfinite(value) || std::abs(value) > 1e15) return fmt::format("{:.3g}", value);
  if (std::abs(value) < 100) return fmt::format("{:.3g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string rate_text(const std::optional<Estimate>& rate) {
  if (!rate) return "-";
  if (!rate->interval) return grouped(rate->value);
  return fmt::format("{} [{}, {}]", grouped(rate->value), grouped(rate->interval->first),
                     grouped(rate->interval->second));
}

std::string ratio_text(const std::optional<Estimate>& ratio) {
  if (!ratio) return "-";
  if (!ratio->interval) return fmt::format("{:.3g}x", ratio->value);
  return fmt::format("{:.3g}x {}", ratio->value,
                     format_interval(ratio->interval->first, ratio->interval->second));
}

std::string reason_text(const Cell& cell) {
  if (cell.status == Status::ok) return "";
  return std::string(to_string(cell.status)) + (cell.reason.empty() ? "" : ": " + cell.reason);
}

Json interval_json(const std::optional<Estimate>& of) {
  if (!of || !of->interval) return nullptr;
  return {of->interval->first, of->interval->second};
}

}  // namespace nsa::run_tables
