#include "nsa/kernels/telemetry.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

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

/// A counted name; few of them, so that a search in order is fastest.
struct Counter {
  std::span<const Stage> stages;
  std::string name;
  std::int64_t count;
};

void count(std::vector<Counter>& counters, std::span<const Stage> stages, std::string_view name) {
  for (Counter& counter : counters) {
    if (!std::ranges::equal(counter.stages, stages) || counter.name != name) continue;
    ++counter.count;
    return;
  }
  counters.push_back({stages, std::string(name), 1});
}

constexpr std::size_t kLengthBins = 40;  // up to 1, 2, 4, ... tokens

/// To an eighth of an octave, rounded down: few lengths, however many a decode loop goes through.
std::int64_t rounded_length(std::int64_t tokens) {
  constexpr int kKept = 4;  // bits
  const auto width = static_cast<int>(
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(tokens, 0))));
  const int dropped = std::max(width - kKept, 0);
  return tokens >> dropped << dropped;
}

}  // namespace

struct Telemetry::State {
  std::mutex mutex;
  std::vector<Counter> engaged, fallback, unmeasured;
  std::map<std::pair<Phase, std::int64_t>, std::int64_t> lengths;
  TelemetryReport totals;  // all but the maps and the lengths
  std::int64_t sel_sum = 0, sel_at_max = 0;
  std::array<std::int64_t, kLengthBins> row_lengths{};
};

Telemetry::Telemetry() : state_(std::make_unique<State>()) {}
Telemetry::~Telemetry() = default;

void Telemetry::engaged(Stage stage, std::string_view variant) { engaged(only(stage), variant); }

void Telemetry::engaged(std::span<const Stage> stages, std::string_view variant) {
  const std::lock_guard lock(state_->mutex);
  count(state_->engaged, stages, variant);
}

void Telemetry::fallback(Stage stage, std::string_view reason) {
  const std::lock_guard lock(state_->mutex);
  count(state_->fallback, only(stage), reason);
}

void Telemetry::decided(Stage stage, Basis basis) {
  if (basis == Basis::measured) return;
  const std::lock_guard lock(state_->mutex);
  count(state_->unmeasured, only(stage), to_string(basis));
}

void Telemetry::sequences(const Problem& p) {
  const std::lock_guard lock(state_->mutex);
  const std::size_t batch = std::min(p.seq_lens.size(), p.context_lens.size());
  const auto& lengths = p.phase == Phase::decode ? p.context_lens : p.seq_lens;
  for (std::size_t b = 0; b < batch; ++b) ++state_->lengths[{p.phase, rounded_length(lengths[b])}];
}

void Telemetry::slow_path() {
  const std::lock_guard lock(state_->mutex);
  ++state_->totals.slow_path_calls;
}

void Telemetry::workspace(const Workspace& workspace) {
  const std::lock_guard lock(state_->mutex);
  const ReserveNeed& need = workspace.need();
  state_->totals.grow_events = std::max(state_->totals.grow_events, workspace.grow_events());
  state_->totals.peak_workspace_bytes = std::max(state_->totals.peak_workspace_bytes,
                                                 static_cast<std::int64_t>(workspace.peak_bytes()));
  state_->totals.need.varlen_n = std::max(state_->totals.need.varlen_n, need.varlen_n);
  state_->totals.need.varlen_k = std::max(state_->totals.need.varlen_k, need.varlen_k);
  state_->totals.need.sel_pack_n = std::max(state_->totals.need.sel_pack_n, need.sel_pack_n);
  state_->totals.need.sel_pack_l = std::max(state_->totals.need.sel_pack_l, need.sel_pack_l);
}

void Telemetry::reads(std::int64_t predicted, std::int64_t actual) {
  const std::lock_guard lock(state_->mutex);
  state_->totals.reads_pred = predicted;
  state_->totals.reads_act = actual;
}

void Telemetry::selection_rows(std::int64_t rows, std::int64_t sum, std::int64_t max,
                               std::int64_t at_max) {
  if (rows <= 0) return;
  const std::lock_guard lock(state_->mutex);
  state_->totals.sel_rows += rows;
  state_->totals.sel_k_max = std::max(state_->totals.sel_k_max, max);
  state_->sel_sum += sum;
  state_->sel_at_max += at_max;
  state_->row_lengths[std::min(bin_of(sum / rows), kLengthBins - 1)] += rows;
}

void Telemetry::selection_rows_of(const Problem& p) {
  const std::lock_guard lock(state_->mutex);
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
    state_->totals.sel_rows += p.kv_heads * p.seq_lens[b];
    state_->sel_sum += rows_of([&](std::int64_t x) { return telemetry::selected_sum(x, g); });
    state_->sel_at_max += at_most(full) - at_most(full - 1);
    const std::int64_t last_full = end / g.sel_block * g.sel_block - 1;
    state_->totals.sel_k_max = std::max(state_->totals.sel_k_max, selected_tokens(end - 1, g));
    if (last_full >= begin) {
      state_->totals.sel_k_max = std::max(state_->totals.sel_k_max, selected_tokens(last_full, g));
    }
    std::int64_t below = 0;
    for (std::size_t k = 0; k < kLengthBins && below < p.kv_heads * p.seq_lens[b]; ++k) {
      const std::int64_t up_to = at_most(std::int64_t{1} << k);
      state_->row_lengths[k] += up_to - below;
      below = up_to;
    }
  }
}

void Telemetry::overlap(double share) {
  const std::lock_guard lock(state_->mutex);
  state_->totals.overlap = share;
}

void Telemetry::reset() {
  const std::lock_guard lock(state_->mutex);
  state_->engaged.clear();
  state_->fallback.clear();
  state_->unmeasured.clear();
  state_->lengths.clear();
  state_->totals = {};
  state_->sel_sum = state_->sel_at_max = 0;
  state_->row_lengths.fill(0);
}

TelemetryReport Telemetry::report() const {
  const std::lock_guard lock(state_->mutex);
  TelemetryReport report = state_->totals;
  for (const Counter& c : state_->engaged)
    report.engaged[{stages_text(c.stages), c.name}] = c.count;
  for (const Counter& c : state_->fallback) {
    report.fallback[{stages_text(c.stages), c.name}] = c.count;
  }
  for (const Counter& c : state_->unmeasured)
    report.unmeasured[{stages_text(c.stages), c.name}] = c.count;
  for (const auto& [at, calls] : state_->lengths)
    report.lengths.push_back({.phase = at.first, .tokens = at.second, .calls = calls});
  if (report.sel_rows > 0) {
    const auto rows = static_cast<double>(report.sel_rows);
    report.sel_k_mean = static_cast<double>(state_->sel_sum) / rows;
    report.sel_pct_at_max = static_cast<double>(state_->sel_at_max) / rows;
  }
  for (std::size_t k = 0; k < kLengthBins; ++k) {
    if (state_->row_lengths[k] > 0) {
      report.row_length_histogram.emplace_back(std::int64_t{1} << k, state_->row_lengths[k]);
    }
  }
  return report;
}

}  // namespace nsa
