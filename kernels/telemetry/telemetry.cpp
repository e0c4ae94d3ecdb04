#include "nsa/kernels/telemetry.hpp"

#include <algorithm>
#include <bit>

#include "nsa/kernels/catalog.hpp"
#include "selected_rows.hpp"

namespace nsa {
namespace {

/// The bin of a length: bin k holds (2^(k-1), 2^k] tokens, bin 0 holds 0 and 1.
std::size_t bin_of(std::int64_t tokens) {
  return tokens <= 1
             ? 0
             : static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(tokens - 1)));
}

/// A span of that stage alone.
std::span<const Stage> only(Stage stage) {
  static constexpr auto kEach = [] {
    std::array<Stage, kStageCount> all{};
    for (std::size_t i = 0; i < kStageCount; ++i) all[i] = static_cast<Stage>(i);
    return all;
  }();
  return std::span(kEach).subspan(static_cast<std::size_t>(stage), 1);
}

}  // namespace

void Telemetry::count(std::vector<Counter>& counters, std::span<const Stage> stages,
                      std::string_view name) {
  for (Counter& counter : counters) {
    if (!std::ranges::equal(counter.stages, stages) || counter.name != name) continue;
    ++counter.count;
    return;
  }
  counters.push_back({stages, std::string(name), 1});
}

void Telemetry::engaged(Stage stage, std::string_view variant) { engaged(only(stage), variant); }

void Telemetry::engaged(std::span<const Stage> stages, std::string_view variant) {
  const std::lock_guard lock(mutex_);
  count(engaged_, stages, variant);
}

void Telemetry::fallback(Stage stage, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  count(fallback_, only(stage), reason);
}

void Telemetry::slow_path() {
  const std::lock_guard lock(mutex_);
  ++totals_.slow_path_calls;
}

void Telemetry::workspace(const Workspace& workspace) {
  const std::lock_guard lock(mutex_);
  const ReserveNeed& need = workspace.need();
  totals_.grow_events = std::max(totals_.grow_events, workspace.grow_events());
  totals_.peak_workspace_bytes =
      std::max(totals_.peak_workspace_bytes, static_cast<std::int64_t>(workspace.peak_bytes()));
  totals_.need.varlen_n = std::max(totals_.need.varlen_n, need.varlen_n);
  totals_.need.varlen_k = std::max(totals_.need.varlen_k, need.varlen_k);
  totals_.need.sel_pack_n = std::max(totals_.need.sel_pack_n, need.sel_pack_n);
  totals_.need.sel_pack_l = std::max(totals_.need.sel_pack_l, need.sel_pack_l);
}

void Telemetry::reads(std::int64_t predicted, std::int64_t actual) {
  const std::lock_guard lock(mutex_);
  totals_.reads_pred = predicted;
  totals_.reads_act = actual;
}

void Telemetry::selection_rows(std::int64_t rows, std::int64_t sum, std::int64_t max,
                               std::int64_t at_max) {
  if (rows <= 0) return;
  const std::lock_guard lock(mutex_);
  totals_.sel_rows += rows;
  totals_.sel_k_max = std::max(totals_.sel_k_max, max);
  sel_sum_ += sum;
  sel_at_max_ += at_max;
  row_lengths_[std::min(bin_of(sum / rows), kLengthBins - 1)] += rows;
}

void Telemetry::selection_rows_of(const Problem& p) {
  const std::lock_guard lock(mutex_);
  const Geometry& g = p.geometry;
  const std::int64_t full = g.sel_count * g.sel_block;
  const std::size_t batch = std::min(p.seq_lens.size(), p.context_lens.size());
  for (std::size_t b = 0; b < batch; ++b) {
    const std::int64_t begin = p.context_lens[b], end = begin + p.seq_lens[b];
    // Rows of positions [begin, end), by a function that counts those of [0, x).
    const auto rows_of = [&](auto&& f) { return p.kv_heads * (f(end) - f(begin)); };
    const auto at_most = [&](std::int64_t tokens) {
      return rows_of([&](std::int64_t x) { return telemetry::selected_at_most(tokens, x, g); });
    };
    totals_.sel_rows += p.kv_heads * p.seq_lens[b];
    sel_sum_ += rows_of([&](std::int64_t x) { return telemetry::selected_sum(x, g); });
    sel_at_max_ += at_most(full) - at_most(full - 1);
    const std::int64_t last_full = end / g.sel_block * g.sel_block - 1;
    totals_.sel_k_max = std::max(totals_.sel_k_max, selected_tokens(end - 1, g));
    if (last_full >= begin) {
      totals_.sel_k_max = std::max(totals_.sel_k_max, selected_tokens(last_full, g));
    }
    std::int64_t below = 0;
    for (std::size_t k = 0; k < kLengthBins && below < p.kv_heads * p.seq_lens[b]; ++k) {
      const std::int64_t up_to = at_most(std::int64_t{1} << k);
      row_lengths_[k] += up_to - below;
      below = up_to;
    }
  }
}

void Telemetry::overlap(double share) {
  const std::lock_guard lock(mutex_);
  totals_.overlap = share;
}

void Telemetry::reset() {
  const std::lock_guard lock(mutex_);
  engaged_.clear();
  fallback_.clear();
  totals_ = {};
  sel_sum_ = sel_at_max_ = 0;
  row_lengths_.fill(0);
}

TelemetryReport Telemetry::report() const {
  const std::lock_guard lock(mutex_);
  TelemetryReport report = totals_;
  for (const Counter& c : engaged_) report.engaged[{stages_text(c.stages), c.name}] = c.count;
  for (const Counter& c : fallback_) {
    report.fallback[{stages_text(c.stages), c.name}] = c.count;
  }
  if (report.sel_rows > 0) {
    const auto rows = static_cast<double>(report.sel_rows);
    report.sel_k_mean = static_cast<double>(sel_sum_) / rows;
    report.sel_pct_at_max = static_cast<double>(sel_at_max_) / rows;
  }
  for (std::size_t k = 0; k < kLengthBins; ++k) {
    if (row_lengths_[k] > 0) {
      report.row_length_histogram.emplace_back(std::int64_t{1} << k, row_lengths_[k]);
    }
  }
  return report;
}

}  // namespace nsa
