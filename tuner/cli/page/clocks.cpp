#include "clocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "history/nights_of_runs.hpp"
#include "history/time.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::cli {
namespace {

constexpr double kBins = 240;  // about as many as a plot has room for

struct Metric {
  const char* name;
  std::optional<double> ClockReading::*of;
};
constexpr std::array kMetrics{Metric{"sm_mhz", &ClockReading::sm_mhz},
                              Metric{"memory_mhz", &ClockReading::memory_mhz},
                              Metric{"temperature_c", &ClockReading::temperature_c},
                              Metric{"power_w", &ClockReading::power_w}};

/// The clocks of a row and when they were read, in seconds since 1970.
struct Reading {
  double at_s = 0;
  ClockReading clocks;
};

std::vector<Reading> readings_of(const store::Store& db, const std::string& run,
                                 const std::string& device_uuid) {
  std::vector<Reading> found;
  db.for_each_measurement({.run_id = run, .device_uuid = device_uuid}, [&](const Measurement& row) {
    const auto time = parse_night_time(row.measured_at);
    if (time && time->calendar) found.push_back({time->value, row.clocks});
  });
  return found;
}

/// Readings of a run in bins of equal duration.
struct Bins {
  double start_s = 0, bin_s = 1;

  explicit Bins(const std::vector<Reading>& readings) {
    const auto [first, last] = std::ranges::minmax(readings, {}, &Reading::at_s);
    start_s = first.at_s;
    bin_s = std::max(1.0, std::ceil((last.at_s - first.at_s) / kBins));
  }
  std::int64_t of(const Reading& reading) const {
    return static_cast<std::int64_t>((reading.at_s - start_s) / bin_s);
  }
};

Json rounded(double value) { return Json::parse(fmt::format("{:.5g}", value)); }

/// [[bin, lowest, median, highest]]; null where no row has it.
Json metric_json(const std::vector<Reading>& readings, const Bins& bins, const Metric& metric) {
  std::map<std::int64_t, std::vector<double>> values;
  for (const Reading& reading : readings) {
    if (const auto& value = reading.clocks.*metric.of) values[bins.of(reading)].push_back(*value);
  }
  Json list;
  for (auto& [bin, of] : values) {
    const auto [low, high] = std::ranges::minmax(of);
    list.push_back({bin, rounded(low), rounded(median(of)), rounded(high)});
  }
  return list;
}

/// [[bin, share of its rows that were throttled]], without those of zero.
Json throttled_bins(const std::vector<Reading>& readings, const Bins& bins) {
  std::map<std::int64_t, std::pair<double, double>> rows;  // throttled, all
  for (const Reading& reading : readings) {
    auto& [throttled, all] = rows[bins.of(reading)];
    all += 1;
    throttled += reading.clocks.throttle.value_or("").empty() ? 0 : 1;
  }
  Json list = Json::array();
  for (const auto& [bin, of] : rows) {
    if (of.first > 0) list.push_back({bin, rounded(of.first / of.second)});
  }
  return list;
}

Json run_json(const Run& run, const Device& device, const std::vector<Reading>& readings) {
  const Bins bins(readings);
  Json metrics = Json::object(), reasons = Json::object();
  for (const Metric& metric : kMetrics) {
    Json list = metric_json(readings, bins, metric);
    if (!list.is_null()) metrics[metric.name] = std::move(list);
  }
  for (const Reading& reading : readings) {
    const std::string why = reading.clocks.throttle.value_or("");
    if (!why.empty()) reasons[why] = reasons.value(why, 0) + 1;
  }
  return {{"device", device.name},
          {"run", run.id},
          {"start", run.started_at},
          {"bin_s", bins.bin_s},
          {"rows", readings.size()},
          {"throttled", std::move(reasons)},
          {"throttled_bins", throttled_bins(readings, bins)},
          {"power_limit_w", device.power_limit_w ? Json(*device.power_limit_w) : Json()},
          {"metrics", std::move(metrics)}};
}

}  // namespace

Json clocks_json(const store::Store& db, const std::optional<std::string>& device_id) {
  Json list = Json::array();
  std::set<std::string> seen;
  for (const Run& run : db.runs()) {  // the newest first
    if (!is_of_history(run)) continue;
    for (const Device& device : run.devices) {
      if ((device_id && device.id != *device_id) || seen.contains(device.uuid)) continue;
      const std::vector<Reading> readings = readings_of(db, run.id, device.uuid);
      if (readings.empty()) continue;
      seen.insert(device.uuid);
      list.push_back(run_json(run, device, readings));
    }
  }
  return list;
}

}  // namespace nsa::cli
