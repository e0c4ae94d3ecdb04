#include "nvbench_summaries.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "nsa/schemas/error.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

Tree value_of(const char* name, const char* type, const std::string& text) {
  return {{"name", name}, {"type", type}, {"value", text}};
}

Tree seconds_summary(const std::string& tag, const char* name, double seconds) {
  return {{"tag", tag},
          {"name", name},
          {"hint", tag.ends_with("/relative") ? "percentage" : "duration"},
          {"description", ""},
          {"data", Tree::array({value_of("value", "float64", fmt::format("{:.17g}", seconds))})}};
}

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - std::floor(at)) * (sorted[high] - sorted[low]);
}

void add_statistics(Tree& summaries, std::vector<double> s) {
  std::sort(s.begin(), s.end());
  const double n = static_cast<double>(s.size());
  const double mean = std::accumulate(s.begin(), s.end(), 0.0) / n;
  double squares = 0;
  for (const double x : s) squares += (x - mean) * (x - mean);
  const double deviation = s.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  const double middle = quantile(s, 0.5), q1 = quantile(s, 0.25), q3 = quantile(s, 0.75);
  const auto add = [&](const char* tag, const char* name, double value) {
    summaries.push_back(seconds_summary(std::string("nv/cold/time/gpu/") + tag, name, value));
  };
  add("min", "Min GPU Time", s.front());
  add("max", "Max GPU Time", s.back());
  add("mean", "GPU Time", mean);
  add("median", "Median GPU Time", middle);
  add("q1", "First quartile", q1);
  add("q3", "Third quartile", q3);
  add("stdev/absolute", "Deviation", deviation);
  add("stdev/relative", "Noise", mean > 0 ? deviation / mean : 0);
  add("iqr/absolute", "IQR", q3 - q1);
  add("iqr/relative", "Relative IQR", middle > 0 ? (q3 - q1) / middle : 0);
}

}  // namespace

const Tree* summary_of(const Tree& state, const char* tag) {
  const Tree* summaries = find(state, "summaries");
  if (!summaries || !summaries->is_array()) return nullptr;
  for (const Tree& summary : *summaries) {
    if (text_or(summary, "tag", "") == tag) return &summary;
  }
  return nullptr;
}

std::string datum(const Tree& summary, const char* name, const std::string& where) {
  for (const Tree& value : list_at(summary, "data", where)) {
    if (text_or(value, "name", "") == name) return scalar_text(member(value, "value", where));
  }
  throw InputError(where + ": a summary has no " + name);
}

Tree summaries_of(const Group& group, const std::string& sidecar) {
  Tree summaries = Tree::array();
  std::vector<double> seconds;
  for (const std::int64_t ns : times_of(group))
    seconds.push_back(static_cast<double>(ns) / kSecond);
  if (!seconds.empty()) {
    const std::string size = std::to_string(seconds.size());
    summaries.push_back({{"tag", "nv/cold/sample_size"},
                         {"name", "Samples"},
                         {"hint", "sample_size"},
                         {"description", ""},
                         {"data", Tree::array({value_of("value", "int64", size)})}});
    add_statistics(summaries, seconds);
    summaries.push_back({{"tag", kSampleTimes},
                         {"name", "Samples Times File"},
                         {"hint", "file/sample_times"},
                         {"description", ""},
                         {"hide", "Not needed in table."},
                         {"data", Tree::array({value_of("filename", "string", sidecar),
                                               value_of("size", "int64", size)})}});
  }
  summaries.push_back({{"tag", kOwnRows},
                       {"name", "nsatune"},
                       {"hint", ""},
                       {"description", "what else is known of the rows"},
                       {"hide", "Not needed in table."},
                       {"data", Tree::array({value_of("rows", "string", dump(own_list(group)))})}});
  return summaries;
}

void take_statistic(Record& record, const Tree& state, const std::string& where) {
  struct Kind {
    const char* tag;
    const char* what;
    bool cold;
  };
  constexpr std::array kKinds{Kind{"nv/cold/time/gpu/median", "median of the cold samples", true},
                              Kind{"nv/cold/time/gpu/mean", "mean of the cold samples", true},
                              Kind{"nv/batch/time/gpu/mean", "mean of the batch", false}};
  for (const Kind& kind : kKinds) {
    const Tree* summary = summary_of(state, kind.tag);
    if (!summary) continue;
    const double seconds = parse_number(datum(*summary, "value", where), where);
    record.device_ns = {nanoseconds(seconds, kSecond, where)};
    record.statistic = std::string("one sample: ") + kind.what;
    record.cold = kind.cold;
    return;
  }
}

}  // namespace nsa::exchange
