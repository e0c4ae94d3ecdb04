#include "nsa/check_output/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "alerts.hpp"
#include "nsa/nightly/noise.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::check_output {
namespace {

using nightly::Change;
using nightly::State;
using nightly::Verdict;

constexpr int kSchemaVersion = 1;
constexpr std::array<std::pair<State, std::string_view>, 15> kStates{
    {{State::ok, "ok"},
     {State::suspect, "suspect"},
     {State::confirmed, "confirmed"},
     {State::cleared, "cleared"},
     {State::improvement, "improvement"},
     {State::environment, "environment"},
     {State::clock, "clock"},
     {State::drift, "drift"},
     {State::spike, "spike"},
     {State::warming_up, "warming_up"},
     {State::missing, "missing"},
     {State::fresh, "new"},
     {State::removed, "removed"},
     {State::failed, "failed"},
     {State::acked, "acked"}}};
constexpr std::array<std::string_view, 3> kBetter{"lower", "higher", "both"};

/// Six significant digits, and no negative zero. A ratio may overflow where values do not.
Json number(double value) {
  expects(!std::isnan(value), "a number in the document");
  constexpr double kMost = std::numeric_limits<double>::max() / 2;
  const std::string text = fmt::format("{:.6g}", std::clamp(value, -kMost, kMost));
  double rounded = 0;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded == 0 ? 0.0 : rounded;
}

Json change_json(const Change& change) {
  Json json{
      {"index", change.index}, {"time", change.time}, {"direction", change.up ? "up" : "down"}};
  if (change.ratio) json["ratio"] = number(*change.ratio);
  if (change.delta) json["delta"] = number(*change.delta);
  json["interval"] = {number(change.interval.first), number(change.interval.second)};
  json["p"] = number(change.p);
  json["q"] = number(change.q);
  if (!change.first_commit.empty()) json["first_commit"] = change.first_commit;
  if (!change.last_commit.empty()) json["last_commit"] = change.last_commit;
  json["environment"] = change.environment;
  json["reverted"] = change.reverted;
  json["acked"] = change.acked;
  if (!change.answer.empty()) json["answer"] = change.answer;
  return json;
}

/// Both builds beside each other: how many pairs, and the median of new / old.
Json confirmation_json(const nightly::Confirmation& both) {
  Json json{{"pairs", both.old_and_new.size()}};
  std::vector<double> ratios;
  for (const auto& [from, to] : both.old_and_new) ratios.push_back(to / from);
  if (!ratios.empty()) json["ratio"] = number(nightly::median_of(ratios));
  if (!both.failure.empty()) json["failure"] = both.failure;
  return json;
}

Json series_json(const Verdict& verdict, const nightly::Series& series, nightly::Better better) {
  Json changes = Json::array();
  for (const Change& change : verdict.changes) changes.push_back(change_json(change));
  Json json{{"name", verdict.name},
            {"state", state_name(verdict.state)},
            {"regression", verdict.regression},
            {"device", series.device},
            {"nights", verdict.nights},
            {"missing_nights", verdict.missing_nights},
            {"reason", verdict.reason}};
  if (const auto at = state_change(verdict, better)) json["state_change"] = *at;
  json["changes"] = std::move(changes);
  return json;
}

Json counts_json(const nightly::Report& report) {
  Json counts = Json::object();
  for (const auto& [state, name] : kStates)
    counts[name] = std::count_if(report.series.begin(), report.series.end(),
                                 [s = state](const Verdict& v) { return v.state == s; });
  return counts;
}

std::int64_t nights_of(const std::vector<nightly::Series>& series) {
  std::size_t most = 0;
  for (const nightly::Series& s : series) most = std::max(most, s.nights.size());
  return static_cast<std::int64_t>(most);
}

/// The time of the last night of any series.
std::string last_night(const std::vector<nightly::Series>& series) {
  const nightly::Night* last = nullptr;
  for (const nightly::Series& s : series) {
    if (!s.nights.empty() && (!last || s.nights.back().index > last->index))
      last = &s.nights.back();
  }
  return last ? last->time : "";
}

}  // namespace

std::string_view state_name(State state) noexcept {
  for (const auto& [known, name] : kStates) {
    if (known == state) return name;
  }
  return "ok";
}

Json check_document(const nightly::Report& report, const std::vector<nightly::Series>& series,
                    const nightly::Options& options) {
  expects(report.series.size() == series.size(), "a verdict for each series");
  Json list = Json::array();
  for (std::size_t i = 0; i < series.size(); ++i)
    list.push_back(series_json(report.series[i], series[i], options.better));
  for (Json& one : list) {
    const auto both = std::find_if(options.confirmations.begin(), options.confirmations.end(),
                                   [&](const nightly::Confirmation& c) {
                                     return one.at("name").get<std::string>() == c.series;
                                   });
    if (both != options.confirmations.end()) one["confirmation"] = confirmation_json(*both);
  }
  return {{"schema_version", kSchemaVersion},
          {"exit_code", report.exit_code},
          {"better", kBetter[static_cast<std::size_t>(options.better)]},
          {"window", options.window},
          {"nights", nights_of(series)},
          {"last_night", last_night(series)},
          {"counts", counts_json(report)},
          {"alerts", alerts_of(report, options.better)},
          {"series", std::move(list)}};
}

}  // namespace nsa::check_output
