#include "troubled.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <tuple>

#include "nsa/reports/tables.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/wrong_elsewhere.hpp"

namespace nsa::cli {
namespace {

using Asked = std::tuple<std::string, std::string, std::string>;  // executor, variant, problem

Asked asked_of(const Measurement& row) {
  return {row.executor, to_string(row.variant), Json(row.problem).dump()};
}

/// "wrong result", "crashed", ...; empty where nothing is amiss.
std::string trouble_of(const Measurement& row, const std::set<Asked>& quiet) {
  if (tuner::is_wrong_elsewhere(row)) return "";
  if (row.verification == Verification::wrong_result) return "wrong result";
  switch (row.outcome) {
    case Outcome::ok:
    case Outcome::unsupported:
    case Outcome::not_built:
      return "";
    case Outcome::noisy:
      return quiet.contains(asked_of(row)) ? "" : "noisy";
    default:
      return std::string(to_string(row.outcome));
  }
}

/// What was measured in quiet at some time; empty where nothing was noisy.
std::set<Asked> quiet_ones(const std::vector<Measurement>& rows) {
  std::set<Asked> quiet;
  const auto noisy = [](const Measurement& row) { return row.outcome == Outcome::noisy; };
  if (std::ranges::none_of(rows, noisy)) return quiet;
  for (const Measurement& row : rows)
    if (row.outcome == Outcome::ok) quiet.insert(asked_of(row));
  return quiet;
}

struct Trouble {
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> lengths;  // new tokens, context
  std::string reason;                                                    // the first
};

}  // namespace

std::vector<std::string> troubled_variants(const std::vector<Measurement>& rows) {
  const std::set<Asked> quiet = quiet_ones(rows);
  std::map<std::pair<std::string, std::string>, Trouble> troubles;  // name, kind
  for (const Measurement& row : rows) {
    const std::string kind = trouble_of(row, quiet);
    if (kind.empty()) continue;
    std::string name = to_string(row.variant);
    if (row.executor != kOwnExecutor) name += " (" + row.executor + ")";
    Trouble& trouble = troubles[{name, kind}];
    trouble.lengths.emplace(std::pair(row.problem.max_seq_len(), row.problem.max_context()),
                            reports::length_text(row.problem));
    if (trouble.reason.empty()) trouble.reason = row.reason;
  }
  std::vector<std::string> lines;
  for (const auto& [key, trouble] : troubles) {
    const auto& [name, kind] = key;
    std::string line = fmt::format("{}: {} at length {}", name, kind,
                                   fmt::join(trouble.lengths | std::views::values, ", "));
    if (!trouble.reason.empty()) line += " (" + trouble.reason + ")";
    lines.push_back(reports::printable(line));
  }
  return lines;
}

}  // namespace nsa::cli
