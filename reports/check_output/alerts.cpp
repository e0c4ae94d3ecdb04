#include "alerts.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "nsa/check_output/document.hpp"

namespace nsa::check_output {
namespace {

using nightly::Change;
using nightly::State;
using nightly::Verdict;

bool is_worse(const Change& change, nightly::Better better) {
  return better == nightly::Better::both || change.up == (better == nightly::Better::lower);
}

/// Whether the state of a series can come from this change of it.
bool gives_state(const Change& change, State state, nightly::Better better) {
  switch (state) {
    case State::confirmed:
    case State::drift:
    case State::cleared:
      return !change.reverted && !change.acked && is_worse(change, better);
    case State::acked:
      return change.acked;
    case State::improvement:
      return !change.reverted && !is_worse(change, better);
    case State::environment:
    case State::clock:
      return !change.reverted;
    default:
      return false;
  }
}

/// What people are told of: these moved, and one line says it for all series of a group.
bool raises_alert(const Verdict& verdict) {
  switch (verdict.state) {
    case State::confirmed:
    case State::improvement:
    case State::environment:
    case State::clock:
    case State::drift:
      return true;
    default:
      return false;
  }
}

/// An alert without its series.
Json alert_json(const Verdict& verdict, const Change* change, const std::string& group) {
  Json alert{{"group", group}, {"state", state_name(verdict.state)}};
  if (change) {
    alert["index"] = change->index;
    alert["time"] = change->time;
    if (!change->first_commit.empty()) alert["first_commit"] = change->first_commit;
    if (!change->last_commit.empty()) alert["last_commit"] = change->last_commit;
  }
  alert["series"] = Json::array();
  return alert;
}

}  // namespace

std::optional<std::size_t> state_change(const Verdict& verdict, nightly::Better better) {
  for (std::size_t i = verdict.changes.size(); i-- > 0;) {
    if (gives_state(verdict.changes[i], verdict.state, better)) return i;
  }
  return std::nullopt;
}

Json alerts_of(const nightly::Report& report, nightly::Better better) {
  Json alerts = Json::array();
  std::map<std::string, std::size_t> place;  // of an alert, by state and group
  for (const Verdict& verdict : report.series) {
    if (!raises_alert(verdict)) continue;
    const auto at = state_change(verdict, better);
    const Change* change = at ? &verdict.changes[*at] : nullptr;
    const std::string group = change && !change->group.empty() ? change->group : verdict.name;
    const std::string key = fmt::format("{}\n{}", state_name(verdict.state), group);
    const auto [known, is_first] = place.try_emplace(key, alerts.size());
    if (is_first) alerts.push_back(alert_json(verdict, change, group));
    alerts[known->second]["series"].push_back(verdict.name);
  }
  return alerts;
}

}  // namespace nsa::check_output
