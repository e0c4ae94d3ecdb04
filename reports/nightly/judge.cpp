#include "nsa/nightly/judge.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <thread>

#include "night/acks.hpp"
#include "night/calendar.hpp"
#include "night/causes.hpp"
#include "night/confirm.hpp"
#include "night/family.hpp"
#include "night/state.hpp"
#include "nsa/schemas/error.hpp"
#include "series/examine.hpp"

namespace nsa::nightly {
namespace {

void expect_good(const std::vector<Series>& series, const Options& options) {
  std::set<std::string_view> names;
  for (const Series& s : series) expects(names.insert(s.name).second, "one series of a name");
  expects(options.window >= 1 && options.warm_up >= 3, "a window of 1 and a warm-up of 3 or more");
  expects(options.alpha > 0 && options.alpha < 1 && options.false_discovery > 0 &&
              options.false_discovery < 1 && options.least_change >= 0,
          "rates between 0 and 1");
  expects(options.threads >= 1, "a thread");
}

/// Each series by itself: the threads share nothing but the order.
std::vector<Examined> examine_all(const std::vector<Series>& series, const Calendar& calendar,
                                  const Options& options) {
  std::vector<Examined> out(series.size());
  const auto threads = std::min(static_cast<std::size_t>(options.threads), series.size());
  const auto work = [&](std::size_t first) {
    for (std::size_t i = first; i < series.size(); i += threads)
      out[i] = examine(series[i], calendar.ordinal[i], options);
  };
  std::vector<std::jthread> others;
  for (std::size_t first = 1; first < threads; ++first) others.emplace_back(work, first);
  if (threads > 0) work(0);
  return out;
}

/// What only the other series, acks and confirmations say.
void judge_together(std::vector<Examined>& all, std::int64_t last, const Options& options) {
  explain_by_device(all);
  set_q(all, last, options);
  set_groups(all);
  std::map<std::string_view, const Confirmation*> confirmations;
  for (const Confirmation& c : options.confirmations) confirmations[c.series] = &c;
  for (Examined& e : all) {
    mark_acked(e, last, options);
    const auto measured = confirmations.find(e.series->name);
    const Found* alert = alert_to_confirm(e, last, options);
    if (!alert || measured == confirmations.end()) continue;
    const Confirmation& both = *measured->second;
    e.confirmation = is_confirmed(both.old_and_new, alert->size(), e.track.log_scale, e.track.unit);
    if (!e.confirmation) e.unconfirmed = both.failure;
  }
}

/// Without a given day, the last night is today.
Options with_today(const std::vector<Series>& series, Options options) {
  const Night* latest = nullptr;
  for (const Series& s : series)
    if (!s.nights.empty() && (!latest || s.nights.back().index >= latest->index))
      latest = &s.nights.back();
  if (options.today.empty() && latest) options.today = latest->time;
  return options;
}

int exit_code_of(const std::vector<Verdict>& series, const Options& options) {
  const auto any = [&](auto holds) { return std::any_of(series.begin(), series.end(), holds); };
  const auto absent = [](const Verdict& v) {
    return v.state == State::missing || v.state == State::failed;
  };
  if (options.fail_on_missing && any(absent)) return 4;
  if (any([](const Verdict& v) { return v.regression; })) return 1;
  return any([](const Verdict& v) { return was_judged(v.state); }) ? 0 : 3;
}

}  // namespace

Report judge(const std::vector<Series>& series, const Options& options) {
  expect_good(series, options);
  const Calendar calendar = calendar_of(series);
  std::vector<Examined> examined = examine_all(series, calendar, options);
  judge_together(examined, calendar.nights - 1, with_today(series, options));
  Report report;
  for (const Examined& e : examined)
    report.series.push_back(verdict_of(e, calendar.nights - 1, options));
  report.exit_code = exit_code_of(report.series, options);
  return report;
}

}  // namespace nsa::nightly
