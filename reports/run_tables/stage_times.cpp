#include <fmt/format.h>

#include <algorithm>

#include "nsa/reports/text_table.hpp"
#include "nsa/run_tables/bundle.hpp"

namespace nsa::run_tables {
namespace {

struct Open {
  double end_us;
  StageTime* of;
};

}  // namespace

std::vector<StageTime> stage_times(const Json& chrome_trace) {
  std::map<std::pair<std::string, std::string>, StageTime> sums;
  std::vector<Open> open;  // the innermost last
  for (const Json& event : chrome_trace["traceEvents"]) {
    const double begin = event["ts"].get<double>(), length = event["dur"].get<double>();
    while (!open.empty() && open.back().end_us <= begin) open.pop_back();
    const auto stage = event["name"].get<std::string>();
    const auto variant = event["args"]["variant"].get<std::string>();
    StageTime& time = sums[{stage, variant}];
    time.stage = stage;
    time.variant = variant;
    ++time.calls;
    time.self_us += length;
    if (!open.empty()) open.back().of->self_us -= length;
    open.push_back({begin + length, &time});
  }
  std::vector<StageTime> times;
  for (auto& [key, time] : sums) times.push_back(std::move(time));
  std::ranges::stable_sort(times, std::ranges::greater{}, &StageTime::self_us);
  return times;
}

std::string stage_times_text(const std::vector<StageTime>& times) {
  using reports::Align;
  double all = 0;
  for (const StageTime& time : times) all += time.self_us;
  reports::TextTable table;
  table.add_column("stage");
  table.add_column("variant");
  for (const char* name : {"calls", "us a call", "ms in all", "share"})
    table.add_column(name, Align::right);
  for (const StageTime& time : times) {
    table.add_row({time.stage, time.variant, std::to_string(time.calls),
                   fmt::format("{:.1f}", time.self_us / static_cast<double>(time.calls)),
                   fmt::format("{:.3f}", time.self_us * 1e-3),
                   fmt::format("{:.1f} %", 100 * time.self_us / all)});
  }
  return "wall time of each stage without the stages inside of it, first call and warm-up too\n" +
         table.render({});
}

}  // namespace nsa::run_tables
