// Collectives as rows, and who was waited for in them.
#include <algorithm>
#include <map>

#include "analyse/parts.hpp"
#include "analyse/sums.hpp"
#include "match.hpp"
#include "patterns.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kLongest = 10;

struct Sums {
  CollectiveRow row;
  std::vector<std::int64_t> durations, transfers, spreads;
};

/// One collective of several devices.
struct Arrivals {
  std::int64_t transfer_ns = 0, wait_ns = 0, spread_ns = 0;
  std::int64_t late_ns = 0;  // the last after the last but one
  std::uint32_t last = 0;    // a call
};

class Table {
 public:
  /// `part`: rows are of that recording alone.
  Table(const TraceContext& context, const CommCalls& calls, std::optional<std::uint32_t> part)
      : context_(context), calls_(calls), part_(part), by_start_(context.trace.one_time_line()) {}

  Collectives take(const Matched& matched) {
    out_.unmatched = matched.unmatched;
    for (const auto& row : matched.collectives) add(row);
    for (auto& [key, sums] : rows_) out_.rows.push_back(finished(sums));
    std::stable_sort(out_.rows.begin(), out_.rows.end(),
                     [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
    for (auto& [device, row] : ranks_) out_.ranks.push_back(row);
    std::stable_sort(out_.ranks.begin(), out_.ranks.end(),
                     [](const auto& a, const auto& b) { return a.late_ns > b.late_ns; });
    shorten();
    if (!out_.ranks.empty()) out_.arrivals = by_start_ ? "starts" : "durations";
    return std::move(out_);
  }

 private:
  const CommCall& call(std::uint32_t i) const { return calls_.calls[i]; }
  static std::int64_t duration(const CommCall& c) { return c.end_ns - c.start_ns; }
  bool in_rows(std::uint32_t i) const { return !part_ || call(i).device.first == *part_; }

  /// When a rank came: where clocks cannot be compared, how long before the common end.
  std::int64_t arrival(std::uint32_t i) const {
    return by_start_ ? call(i).start_ns : -duration(call(i));
  }

  Sums& sums_of(std::uint32_t i, std::size_t ranks) {
    const CommKind& kind = calls_.kinds[call(i).kind];
    const Message& m = kind.message;
    Sums& sums = rows_[{kind.transport, kind.collective, m.group_name, m.dtype,
                        m.bytes.value_or(-1), m.group_size.value_or(-1)}];
    if (sums.row.count == 0) {
      sums.row.collective = kind.collective;
      sums.row.transport = kind.transport;
      sums.row.group = m.group_name;
      sums.row.dtype = m.dtype;
      sums.row.bytes = m.bytes;
      sums.row.group_size = m.group_size;
    }
    ++sums.row.count;
    sums.row.matched += ranks > 1;
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(0, m.group_size.value_or(0)));
    sums.row.complete += ranks > 1 && ranks >= size;
    return sums;
  }

  void add(const std::vector<std::uint32_t>& row) {
    const bool matched = row.size() > 1;
    const Arrivals arrivals = matched ? arrivals_of(row) : Arrivals{};
    if (matched) add_ranks(row, arrivals);
    std::vector<std::uint32_t> own = row;
    std::erase_if(own, [&](std::uint32_t i) { return !in_rows(i); });
    if (own.empty()) return;
    Sums& sums = sums_of(own.front(), row.size());
    for (const std::uint32_t i : own) {
      add_to(sums.row.total_ns, call(i).op_ns);
      sums.durations.push_back(duration(call(i)));
    }
    if (!matched) return;
    std::int64_t& wait_ns = sums.row.wait_ns ? *sums.row.wait_ns : sums.row.wait_ns.emplace(0);
    for (const std::uint32_t i : own) add_to(wait_ns, duration(call(i)) - arrivals.transfer_ns);
    sums.transfers.push_back(arrivals.transfer_ns);
    sums.spreads.push_back(arrivals.spread_ns);
    add_call(row, arrivals, sums.row);
  }

  Arrivals arrivals_of(const std::vector<std::uint32_t>& row) const {
    Arrivals out{.transfer_ns = kMaxDurationNs};
    std::vector<std::int64_t> times;
    out.last = row.front();
    for (const std::uint32_t i : row) {
      out.transfer_ns = std::min(out.transfer_ns, duration(call(i)));
      times.push_back(arrival(i));
      if (arrival(i) > arrival(out.last)) out.last = i;
    }
    for (const std::uint32_t i : row) add_to(out.wait_ns, duration(call(i)) - out.transfer_ns);
    std::sort(times.begin(), times.end());
    out.spread_ns = times.back() - times.front();
    out.late_ns = times.back() - times[times.size() - 2];
    return out;
  }

  std::optional<std::int64_t> rank_of(const CommCall& of) const {
    const std::uint32_t process = context_.trace.ops[of.first_op].process;
    if (process < context_.trace.processes.size()) {
      const auto& rank = context_.trace.processes[process].rank;
      if (rank) return rank;
    }
    return {};
  }

  void add_ranks(const std::vector<std::uint32_t>& row, const Arrivals& arrivals) {
    for (const std::uint32_t i : row) {
      StragglerRow& rank = ranks_[call(i).device];
      rank.part = call(i).device.first;
      rank.device = call(i).device.second;
      rank.rank = rank_of(call(i));
      ++rank.collectives;
      add_to(rank.wait_ns, duration(call(i)) - arrivals.transfer_ns);
      add_to(rank.comm_ns, call(i).op_ns);
      if (i != arrivals.last || arrivals.late_ns == 0) continue;
      ++rank.last;
      add_to(rank.late_ns, arrivals.late_ns);
    }
  }

  void add_call(const std::vector<std::uint32_t>& row, const Arrivals& arrivals,
                const CollectiveRow& kind) {
    if (arrivals.wait_ns == 0) return;
    CollectiveCall one{.collective = kind.collective, .group = kind.group, .bytes = kind.bytes};
    one.start_ns = kMaxTimeNs;
    for (const std::uint32_t i : row) one.start_ns = std::min(one.start_ns, call(i).start_ns);
    one.ranks = static_cast<std::int64_t>(row.size());
    one.transfer_ns = arrivals.transfer_ns;
    one.wait_ns = arrivals.wait_ns;
    one.spread_ns = arrivals.spread_ns;
    const auto& [part, device] = call(arrivals.last).device;
    one.last = {part, device, rank_of(call(arrivals.last))};
    out_.longest_waits.push_back(std::move(one));
    if (out_.longest_waits.size() > 20 * kLongest) shorten();
  }

  void shorten() {
    std::stable_sort(out_.longest_waits.begin(), out_.longest_waits.end(),
                     [](const auto& a, const auto& b) { return a.wait_ns > b.wait_ns; });
    if (out_.longest_waits.size() > kLongest) out_.longest_waits.resize(kLongest);
  }

  /// 1 byte/ns is 1 GB/s.
  static CollectiveRow finished(Sums& sums) {
    CollectiveRow row = sums.row;
    row.median_ns = nearest_rank(sums.durations, 50);
    if (!sums.transfers.empty()) row.median_transfer_ns = nearest_rank(sums.transfers, 50);
    if (!sums.spreads.empty()) {
      row.median_spread_ns = nearest_rank(sums.spreads, 50);
      row.worst_spread_ns = *std::max_element(sums.spreads.begin(), sums.spreads.end());
    }
    const auto& times = sums.transfers.empty() ? sums.durations : sums.transfers;
    const std::int64_t best = *std::min_element(times.begin(), times.end());
    if (!row.bytes || *row.bytes == 0 || best <= 0) return row;
    const auto rate = [&](std::int64_t ns) {
      return static_cast<double>(*row.bytes) / static_cast<double>(ns);
    };
    row.median_algorithm_gb_per_s = rate(row.median_transfer_ns.value_or(row.median_ns));
    const auto factor = bus_factor(row.collective, row.group_size);
    if (!factor) return row;
    row.median_bus_gb_per_s = *row.median_algorithm_gb_per_s * *factor;
    row.best_bus_gb_per_s = rate(best) * *factor;
    return row;
  }

  const TraceContext& context_;
  const CommCalls& calls_;
  std::optional<std::uint32_t> part_;
  bool by_start_;
  Collectives out_;
  std::map<
      std::tuple<std::string, std::string, std::string, std::string, std::int64_t, std::int64_t>,
      Sums>
      rows_;
  std::map<DeviceKey, StragglerRow> ranks_;
};

}  // namespace

void add_collectives(const TraceContext& context, Summary& out) {
  const CommCalls calls = comm_calls(context);
  if (calls.calls.empty()) {
    out.null_reasons["collectives"] = context.trace.ops.empty()
                                          ? "no GPU operation was recorded"
                                          : "no operation is known to move data between GPUs";
    return;
  }
  out.collectives = Table(context, calls, {}).take(match(calls, context.trace.one_time_line()));
}

std::vector<Collectives> collectives_of_parts(const Trace& trace) {
  const TraceContext context(trace);
  const CommCalls calls = comm_calls(context);
  std::uint32_t parts = 0;
  for (const ProcessInfo& process : trace.processes) parts = std::max(parts, process.part + 1);
  std::vector<Collectives> out;
  if (calls.calls.empty()) return out;
  const Matched matched = match(calls, trace.one_time_line());
  for (std::uint32_t part = 0; part < parts; ++part)
    out.push_back(Table(context, calls, part).take(matched));
  return out;
}

}  // namespace nsa::trace
