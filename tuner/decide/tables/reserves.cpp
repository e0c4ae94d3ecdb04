#include "reserves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "nsa/kernels/reserve_bytes.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::tuner {
namespace {

// Coordinates of a variant's point, as the table of variants writes them.
const std::string kReserveKeys = "reserve_keys", kReserveRows = "reserve_rows";
constexpr double kMemoryShare = 0.25;
constexpr std::int64_t kMaxVarlenRows = 1'000'000, kMaxVarlenTokens = 100'000'000;
constexpr std::int64_t kMaxPackRows = 100'000, kMaxPackTokens = 10'000;

ReserveNeed largest_need(const Rows& rows) {
  ReserveNeed need;
  for (const Observation* row : rows) {
    if (row->outcome != Outcome::ok) continue;
    need.varlen_n = std::max(need.varlen_n, row->need.varlen_n);
    need.varlen_k = std::max(need.varlen_k, row->need.varlen_k);
    need.sel_pack_n = std::max(need.sel_pack_n, row->need.sel_pack_n);
    need.sel_pack_l = std::max(need.sel_pack_l, row->need.sel_pack_l);
  }
  return need;
}

/// First launches of the variants that follow a reserve, with and without one.
struct Benefit {
  std::size_t problems = 0, better = 0;
  double saved_ns = 0, share = 0;  // of a launch; medians over the problems

  bool is_shown() const {
    constexpr double kLeastShare = 0.05;
    return problems >= 2 && 4 * better >= 3 * problems && share > kLeastShare;
  }
};

/// One variant on one problem, by its reserve.
struct FirstCalls {
  std::map<std::int64_t, std::vector<double>> ns;
  std::vector<double> launch_ns;
};

Benefit benefit_of(const Rows& rows, const std::string& coordinate) {
  std::map<std::pair<const Problem*, std::string>, FirstCalls> seen;
  for (const Observation* row : rows) {
    const auto reserve = std::ranges::find(
        row->variant->point, coordinate,
        [](const auto& value) -> const auto& { return value.first; });
    const bool counts = row->outcome == Outcome::ok && row->first_call_ns && !row->control;
    if (!counts || reserve == row->variant->point.end()) continue;
    FirstCalls& calls = seen[{row->problem, row->variant->name}];
    calls.ns[reserve->second].push_back(static_cast<double>(*row->first_call_ns));
    calls.launch_ns.push_back(std::exp(row->log_ns));
  }
  Benefit benefit;
  std::vector<double> saved, shares;
  for (auto& [of, calls] : seen) {
    if (calls.ns.size() < 2 || calls.ns.begin()->first != 0) continue;
    const double one = median(calls.ns.begin()->second) - median(calls.ns.rbegin()->second);
    ++benefit.problems;
    benefit.better += one > 0;
    saved.push_back(one);
    shares.push_back(one / median(calls.launch_ns));
  }
  if (saved.empty()) return benefit;
  benefit.saved_ns = median(std::move(saved));
  benefit.share = median(std::move(shares));
  return benefit;
}

std::string words_of(const char* path, const Benefit& benefit, double bytes) {
  return fmt::format(
      "reserves for {} rows ({:.3g} MB) save {:.3g} ms of a first launch, {:.0f} % of a launch, "
      "faster on {} of {} problems",
      path, 1e-6 * bytes, 1e-6 * benefit.saved_ns, 100 * benefit.share, benefit.better,
      benefit.problems);
}

std::int64_t scaled(std::int64_t value, double factor) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(value) * factor));
}

std::optional<std::int64_t> if_seen(std::int64_t value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

Reserves reserves_of(const ClassRows& rows, const Device& device, std::vector<std::string>& notes) {
  ReserveNeed need = largest_need(rows.rows);
  const Benefit varlen_benefit = benefit_of(rows.rows, kReserveKeys);
  const Benefit pack_benefit = benefit_of(rows.rows, kReserveRows);
  if (!varlen_benefit.is_shown()) need.varlen_n = need.varlen_k = 0;
  if (!pack_benefit.is_shown()) need.sel_pack_n = need.sel_pack_l = 0;
  need.varlen_n = std::min(need.varlen_n, kMaxVarlenRows);
  need.varlen_k = std::min(need.varlen_k, kMaxVarlenTokens);
  need.sel_pack_n = std::min(need.sel_pack_n, kMaxPackRows);
  need.sel_pack_l = std::min(need.sel_pack_l, kMaxPackTokens);
  const ProblemClass& c = rows.problem_class;
  const ReserveBytes bytes(c.q_heads / c.kv_heads, c.head_dim_k, c.head_dim_v, c.dtype);
  if (device.memory_bytes) {
    const double bound = kMemoryShare * static_cast<double>(*device.memory_bytes);
    const double varlen = bytes.varlen(need.varlen_n, need.varlen_k);
    const double pack = bytes.packed(need.sel_pack_n, need.sel_pack_l);
    if (varlen > bound) {
      if (need.varlen_n > 0) need.varlen_n = scaled(need.varlen_n, bound / varlen);
      if (need.varlen_k > 0) need.varlen_k = scaled(need.varlen_k, bound / varlen);
    }
    // A row keeps its length, so that the rows that fit can be packed without growing.
    if (pack > bound && need.sel_pack_n > 0)
      need.sel_pack_n = scaled(need.sel_pack_n, bound / pack);
  }
  if (need.varlen_k > 0)
    notes.push_back(words_of("varlen", varlen_benefit, bytes.varlen(need.varlen_n, need.varlen_k)));
  if (need.sel_pack_n > 0)
    notes.push_back(
        words_of("packed", pack_benefit, bytes.packed(need.sel_pack_n, need.sel_pack_l)));
  return {if_seen(need.varlen_n), if_seen(need.varlen_k), if_seen(need.sel_pack_n),
          if_seen(need.sel_pack_l)};
}

}  // namespace nsa::tuner
