#include "reserves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
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

bool is_shown(const ReserveGain& gain) {
  constexpr double kLeastShare = 0.05;
  return gain.problems >= 2 && 4 * gain.faster >= 3 * gain.problems && gain.share > kLeastShare;
}

/// One variant on one problem, by its reserve.
struct FirstCalls {
  std::map<std::int64_t, std::vector<double>> ns;
  std::vector<double> launch_ns;
};

/// First launches of the variants that follow a reserve, with and without one.
ReserveGain gain_of(const Rows& rows, const std::string& coordinate, Axis axis) {
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
  ReserveGain gain;
  gain.axis = axis;
  std::set<std::int64_t> lengths;
  std::vector<double> saved, shares;
  for (auto& [of, calls] : seen) {
    if (calls.ns.size() < 2 || calls.ns.begin()->first != 0) continue;
    const double one = median(calls.ns.begin()->second) - median(calls.ns.rbegin()->second);
    ++gain.problems;
    gain.faster += one > 0;
    lengths.insert(axis_value(*of.first, axis));
    saved.push_back(one);
    shares.push_back(one / median(calls.launch_ns));
  }
  if (saved.empty()) return gain;
  gain.saved_ns = median(std::move(saved));
  gain.share = median(std::move(shares));
  gain.measured_from = *lengths.begin();
  gain.measured_to = *lengths.rbegin();
  return gain;
}

/// With what it takes; nothing where nothing is reserved.
std::optional<ReserveGain> taking(ReserveGain gain, double bytes) {
  gain.bytes = static_cast<std::int64_t>(bytes);
  return gain.bytes > 0 ? std::optional(gain) : std::nullopt;
}

std::int64_t scaled(std::int64_t value, double factor) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(value) * factor));
}

std::optional<std::int64_t> if_seen(std::int64_t value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

DecidedReserves reserves_of(const ClassRows& rows, const Device& device) {
  const Axis axis = axis_of(Stage::attend_selected, rows.problem_class.phase);
  ReserveNeed need = largest_need(rows.rows);
  const ReserveGain varlen_gain = gain_of(rows.rows, kReserveKeys, axis);
  const ReserveGain pack_gain = gain_of(rows.rows, kReserveRows, axis);
  if (!is_shown(varlen_gain)) need.varlen_n = need.varlen_k = 0;
  if (!is_shown(pack_gain)) need.sel_pack_n = need.sel_pack_l = 0;
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
  return {{if_seen(need.varlen_n), if_seen(need.varlen_k), if_seen(need.sel_pack_n),
           if_seen(need.sel_pack_l)},
          {taking(varlen_gain, bytes.varlen(need.varlen_n, need.varlen_k)),
           taking(pack_gain, bytes.packed(need.sel_pack_n, need.sel_pack_l))}};
}

std::string describe(const ReserveGain& gain) {
  std::string text = fmt::format(
      "{:.3g} ms of a first launch, {:.2g} times what a launch takes, faster on {} of {} problems; "
      "measured at {} {}",
      1e-6 * gain.saved_ns, gain.share, gain.faster, gain.problems, to_string(gain.axis),
      gain.measured_from);
  if (gain.measured_to > gain.measured_from) text += fmt::format(" to {}", gain.measured_to);
  return text;
}

}  // namespace nsa::tuner
