#include "nsa/run_tables/cell.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace nsa::run_tables {

const char* to_string(Status value) noexcept {
  switch (value) {
    case Status::ok:
      return "ok";
    case Status::timeout:
      return "timeout";
    case Status::failed:
      return "failed";
    case Status::not_measured:
      return "not_measured";
  }
  return "not_measured";
}

std::optional<Estimate> log_mean(std::span<const double> logs) {
  if (logs.empty()) return std::nullopt;
  const auto n = static_cast<double>(logs.size());
  double mean = 0, squares = 0;
  for (const double log : logs) mean += log / n;
  Estimate estimate{std::exp(mean)};
  if (logs.size() < 2) return estimate;
  for (const double log : logs) squares += (log - mean) * (log - mean);
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.975);
  const double half = t * std::sqrt(squares / (n - 1) / n);
  estimate.interval = {std::exp(mean - half), std::exp(mean + half)};
  return estimate;
}

std::optional<Estimate> step_ns(const Cell& cell) {
  std::vector<double> logs;
  for (const auto& ns : cell.process_ns) {
    if (ns && *ns > 0) logs.push_back(std::log(*ns));
  }
  return log_mean(logs);
}

std::optional<Estimate> tokens_per_s(const Cell& cell) {
  const auto step = step_ns(cell);
  if (!step || cell.tokens_per_step <= 0) return std::nullopt;
  const double tokens = static_cast<double>(cell.tokens_per_step) * 1e9;
  Estimate rate{tokens / step->value};
  if (step->interval)
    rate.interval = {tokens / step->interval->second, tokens / step->interval->first};
  return rate;
}

std::optional<Estimate> speedup(const Cell& cell, const Cell& base) {
  if (cell.tokens_per_step <= 0 || base.tokens_per_step <= 0) return std::nullopt;
  const double tokens =
      static_cast<double>(cell.tokens_per_step) / static_cast<double>(base.tokens_per_step);
  std::vector<double> logs;
  for (std::size_t i = 0; i < std::min(cell.process_ns.size(), base.process_ns.size()); ++i) {
    const auto &ns = cell.process_ns[i], &base_ns = base.process_ns[i];
    if (ns && base_ns && *ns > 0 && *base_ns > 0) logs.push_back(std::log(tokens * *base_ns / *ns));
  }
  return log_mean(logs);
}

std::string setting_text(const Asked& asked) {
  std::string text;
  for (const auto& [name, value] : asked.variables) text += " " + name + "=" + value;
  for (const std::string& flag : asked.flags) text += " " + flag;
  return text.empty() ? text : text.substr(1);
}

const Cell* find_cell(std::span<const Cell> cells, const std::string& label, std::int64_t seq_len) {
  for (const Cell& cell : cells) {
    if (cell.asked.label == label && cell.asked.seq_len == seq_len) return &cell;
  }
  return nullptr;
}

}  // namespace nsa::run_tables
