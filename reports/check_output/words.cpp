#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/reports/units.hpp"

namespace nsa::check_output {
namespace {

/// `times`: as a multiple, which is read more easily than hundreds of per cent.
std::string size_of(double value, bool is_ratio, bool times) {
  if (!is_ratio) return fmt::format("{:+.4g}", value);
  if (times) return reports::format_ratio(value);
  return fmt::format("{:+.1f} %", (value - 1) * 100);
}

/// Where a multiple is printed.
constexpr double kDoubled = 2, kHalved = 0.5;

struct Size {
  bool is_ratio = false, times = false;
  double value = 0;
};

Size size_of_change(const Json& change) {
  Size size;
  size.is_ratio = change.contains("ratio");
  size.value = change[size.is_ratio ? "ratio" : "delta"].get<double>();
  size.times = size.is_ratio && (size.value >= kDoubled || size.value <= kHalved);
  return size;
}

std::int64_t count(const Json& document, const char* state) {
  return document["counts"][state].get<std::int64_t>();
}

std::string nights_left(const Json& document) {
  std::int64_t least = 0;
  for (const Json* series : series_in(document, "warming_up")) {
    const auto missing = (*series)["missing_nights"].get<std::int64_t>();
    least = least == 0 ? missing : std::min(least, missing);
  }
  return fmt::format("{} more {}", least, least == 1 ? "night" : "nights");
}

}  // namespace

std::string size_text(const Json& change) {
  const Size size = size_of_change(change);
  return size_of(size.value, size.is_ratio, size.times);
}

std::string interval_text(const Json& change) {
  const Size size = size_of_change(change);
  return fmt::format("{} to {}",
                     size_of(change["interval"][0].get<double>(), size.is_ratio, size.times),
                     size_of(change["interval"][1].get<double>(), size.is_ratio, size.times));
}

std::string commits_text(const Json& of) {
  const std::string first = of.value("first_commit", ""), last = of.value("last_commit", "");
  return first.empty() && last.empty() ? "" : first + ".." + last;
}

std::string state_text(const Json& series) {
  std::string state = series["state"].get<std::string>();
  if (state != "warming_up") return state;
  const auto nights = series["nights"].get<std::int64_t>();
  return fmt::format("{} ({}/{})", state, nights,
                     nights + series["missing_nights"].get<std::int64_t>());
}

const Json* state_change(const Json& series) {
  const auto at = series.find("state_change");
  return at == series.end() ? nullptr : &series["changes"][at->get<std::size_t>()];
}

const std::vector<std::string>& told_states() {
  static const std::vector<std::string> kStates{
      "confirmed", "failed",  "missing", "suspect",     "drift",   "environment", "clock",
      "spike",     "cleared", "acked",   "improvement", "removed", "new"};
  return kStates;
}

std::string counts_text(const Json& document) {
  std::vector<std::string> states = told_states();
  states.insert(states.end(), {"warming_up", "ok"});
  std::string text;
  for (const std::string& state : states) {
    if (const std::int64_t n = count(document, state.c_str()); n > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, state);
  }
  return text;
}

std::string verdict_text(const Json& document) {
  switch (document["exit_code"].get<int>()) {
    case 0:
      return "no regression";
    case 1: {
      std::int64_t n = 0;
      for (const Json& series : document["series"]) n += series["regression"].get<bool>() ? 1 : 0;
      return fmt::format("{} {} regressed", n, n == 1 ? "series has" : "series have");
    }
    case 4:
      return fmt::format("{} series without a result in the last night",
                         count(document, "missing"));
    default:
      if (count(document, "warming_up") == 0) return "nothing to judge";
      return "nothing to judge yet: " + nights_left(document) + " to the first verdict";
  }
}

std::vector<const Json*> series_in(const Json& document, const std::string& state) {
  std::vector<const Json*> found;
  for (const Json& series : document["series"]) {
    if (series["state"] == state) found.push_back(&series);
  }
  return found;
}

}  // namespace nsa::check_output
