#include "cupti/counters/metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace nsa::probes::cupti {
namespace {

/// A quantity and its names, which differ between chips. Each metric by itself takes one pass, and
/// so do all together from Ampere on; lts__throughput, which is the largest of many, takes four.
struct Quantity {
  std::string_view what;
  std::array<std::string_view, 2> names;
};

constexpr Quantity kDramShare{"DRAM's share of its peak",
                              {"dram__throughput.avg.pct_of_peak_sustained_elapsed"}};
constexpr Quantity kL2Share{"L2's share of its peak",
                            {"lts__t_sectors.avg.pct_of_peak_sustained_elapsed"}};
constexpr Quantity kTensorShare{
    "the tensor pipes' share of their peak",
    {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"}};
constexpr Quantity kDramRead{"bytes read from DRAM",
                             {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}};
constexpr Quantity kDramWrite{"bytes written to DRAM",
                              {"dram__bytes_write.sum", "dram__bytes_op_write.sum"}};
constexpr Quantity kRangeNs{"the time of the range", {"gpu__time_duration.sum"}};
constexpr Quantity kBusyCycles{"cycles in which a multiprocessor had work",
                               {"sm__cycles_active.max"}};
constexpr Quantity kRangeCycles{"cycles of the range", {"sm__cycles_elapsed.max"}};

constexpr std::array kQuantities{kDramShare, kL2Share, kTensorShare, kDramRead,
                                 kDramWrite, kRangeNs, kBusyCycles,  kRangeCycles};

std::optional<double> value_of(const Quantity& quantity,
                               const std::vector<CounterMetric>& metrics) {
  for (const CounterMetric& metric : metrics) {
    const auto& names = quantity.names;
    if (std::find(names.begin(), names.end(), metric.name) != names.end()) return metric.value;
  }
  return std::nullopt;
}

/// A percentage of the whole range as a share of the part in which there was work.
std::optional<double> share(std::optional<double> percent, double part) {
  if (!percent || part <= 0) return std::nullopt;
  return *percent / 100 / part;
}

std::optional<std::int64_t> bytes(std::optional<double> value) {
  if (!value) return std::nullopt;
  return std::llround(*value);
}

}  // namespace

std::vector<std::string> choose_metrics(const std::function<bool(const std::string&)>& has) {
  std::vector<std::string> chosen;
  for (const Quantity& quantity : kQuantities) {
    for (const std::string_view name : quantity.names) {
      if (name.empty() || !has(std::string(name))) continue;
      chosen.emplace_back(name);
      break;
    }
  }
  return chosen;
}

LaunchCounters counters_of(const std::string& chip, const std::vector<CounterMetric>& metrics) {
  LaunchCounters counters;
  counters.chip = chip;
  std::copy_if(metrics.begin(), metrics.end(), std::back_inserter(counters.metrics),
               [](const CounterMetric& metric) { return std::isfinite(metric.value); });
  const auto& read = counters.metrics;
  const double busy = value_of(kBusyCycles, read).value_or(0);
  const double range = value_of(kRangeCycles, read).value_or(0);
  const double part = range > 0 ? busy / range : 0;
  counters.dram_share = share(value_of(kDramShare, read), part);
  counters.l2_share = share(value_of(kL2Share, read), part);
  counters.tensor_share = share(value_of(kTensorShare, read), part);
  counters.dram_read_bytes = bytes(value_of(kDramRead, read));
  counters.dram_write_bytes = bytes(value_of(kDramWrite, read));
  if (const auto range_ns = value_of(kRangeNs, read); range_ns && range > 0)
    counters.busy_ns = *range_ns * part;
  for (const Quantity& quantity : kQuantities) {
    if (value_of(quantity, read)) continue;
    counters.note += counters.note.empty() ? "not counted: " : ", ";
    counters.note += quantity.what;
  }
  if (counters.note.empty() && part <= 0) counters.note = "no multiprocessor had work";
  return counters;
}

}  // namespace nsa::probes::cupti
