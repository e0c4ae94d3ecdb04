#include "state.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "family.hpp"
#include "reason.hpp"

namespace nsa::nightly {
namespace {

/// The last night of the series that is also the last of all; null where it has none.
const Night* tonight(const Examined& e, std::int64_t last) {
  const bool there = !e.ordinal->empty() && e.ordinal->back() == last;
  return there ? &e.series->nights.back() : nullptr;
}

std::int64_t longest_epoch(const Track& track) {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < track.epochs.size(); ++i) {
    const bool at_end = i + 1 == track.epochs.size();
    longest =
        std::max(longest, (at_end ? track.data.size() : track.epochs[i + 1]) - track.epochs[i]);
  }
  return static_cast<std::int64_t>(longest);
}

/// Of a series that has no value tonight.
State state_without_values(const Examined& e, std::int64_t last, const Options& options) {
  const Night* night = tonight(e, last);
  if (night && !night->failure.empty()) return State::failed;
  if (e.track.data.empty()) return State::warming_up;
  const std::int64_t since = last - (*e.ordinal)[e.track.nights.back()];
  return since >= options.warm_up ? State::removed : State::missing;
}

/// Of the nights themselves; ok where they are enough to be judged.
State state_of_nights(const Examined& e, std::int64_t last, const Options& options) {
  const Track& track = e.track;
  const bool value_tonight = !track.data.empty() && (*e.ordinal)[track.nights.back()] == last;
  if (!value_tonight) return state_without_values(e, last, options);
  if (track.data.size() == 1 && last > 0) return State::fresh;
  return longest_epoch(track) < options.warm_up ? State::warming_up : State::ok;
}

/// Whether a change asks for somebody: for the worse, by the code, recent, and not answered for.
bool is_open(const Found& f, std::int64_t last, const Options& options) {
  return f.worse && f.cause == Cause::code && !f.change.reverted && !f.change.acked &&
         in_window(f, last, options);
}

/// What a change of the window is called.
State state_of_change(const Found& f, const Options& options) {
  if (f.cause == Cause::machine) return State::environment;
  if (f.cause == Cause::clock) return State::clock;
  if (f.change.reverted) return State::ok;
  if (f.worse && f.change.acked) return State::acked;
  if (f.drift) return State::drift;
  if (!f.worse) return State::improvement;
  return f.change.q <= options.false_discovery ? State::confirmed : State::suspect;
}

/// What says more stands first.
constexpr State kOrder[] = {State::confirmed, State::suspect,     State::drift,
                            State::acked,     State::cleared,     State::environment,
                            State::clock,     State::improvement, State::spike};

/// The state that says most, and what it is said of (none for a spike).
struct Judged {
  State state = State::ok;
  const Found* found = nullptr;
  bool red = false;

  void add(State s, const Found* f, bool is_red) {
    const auto rank = [](State x) { return std::find(std::begin(kOrder), std::end(kOrder), x); };
    red |= is_red;
    if (rank(s) > rank(state)) return;
    state = s;
    found = f;
  }
};

/// A change, or the surprise of the last night; `confirmation` where it was measured again.
void add_alert(Judged& judged, const Found& f, bool surprise, std::optional<bool> confirmation,
               std::int64_t last, const Options& options) {
  const bool open = is_open(f, last, options);
  if (open && confirmation) {
    judged.add(*confirmation ? State::confirmed : State::cleared, &f, *confirmation);
    return;
  }
  const State state = state_of_change(f, options);
  if (surprise)
    judged.add(open ? State::suspect : state, &f, false);
  else
    judged.add(state, &f, open && f.change.q <= options.false_discovery);
}

Judged judge_changes(const Examined& e, std::int64_t last, const Options& options) {
  Judged judged;
  const Found* asked = alert_to_confirm(e, last, options);
  const auto add = [&](const Found& f, bool surprise) {
    const auto confirmation = &f == asked ? e.confirmation : std::nullopt;
    add_alert(judged, f, surprise, confirmation, last, options);
  };
  for (const Found& f : e.found)
    if (in_window(f, last, options)) add(f, false);
  if (e.surprise) add(*e.surprise, true);
  for (const std::size_t spike : e.spikes)
    if (last - e.ordinal_of(spike) < options.window) judged.add(State::spike, nullptr, false);
  return judged;
}

/// Changes to list: a surprise is one once it was confirmed.
std::vector<Change> changes_of(const Examined& e, const Judged& judged) {
  std::vector<Change> changes;
  for (const Found& f : e.found) changes.push_back(f.change);
  const bool surprise = e.surprise && judged.found == &*e.surprise;
  if (surprise && judged.state == State::confirmed) changes.push_back(e.surprise->change);
  return changes;
}

}  // namespace

bool was_judged(State state) {
  switch (state) {
    case State::warming_up:
    case State::missing:
    case State::fresh:
    case State::removed:
    case State::failed:
      return false;
    default:
      return true;
  }
}

const Found* alert_to_confirm(const Examined& e, std::int64_t last, const Options& options) {
  if (e.surprise && is_open(*e.surprise, last, options)) return &*e.surprise;
  for (auto f = e.found.rbegin(); f != e.found.rend(); ++f)
    if (is_open(*f, last, options)) return &*f;
  return nullptr;
}

Verdict verdict_of(const Examined& e, std::int64_t last, const Options& options) {
  Verdict verdict;
  verdict.name = e.series->name;
  verdict.nights = static_cast<std::int64_t>(e.track.data.size() - e.track.epoch_begin());
  verdict.state = state_of_nights(e, last, options);
  if (verdict.state == State::warming_up || verdict.state == State::fresh) {
    const std::int64_t most = longest_epoch(e.track);
    verdict.missing_nights = std::max<std::int64_t>(0, options.warm_up - most);
    verdict.reason = warming_up_reason(most, options.warm_up);
    return verdict;
  }
  const Judged judged = judge_changes(e, last, options);
  verdict.changes = changes_of(e, judged);
  verdict.regression = judged.red && verdict.state != State::removed;
  if (verdict.state == State::ok) {
    verdict.state = judged.state;
    verdict.reason = reason_of(judged.state, judged.found, e, options);
    if (!e.unconfirmed.empty()) verdict.reason += "; not measured again: " + e.unconfirmed;
  } else {
    verdict.reason = absence_reason(verdict.state, e);
    if (verdict.regression)
      verdict.reason += "; before that " + reason_of(judged.state, judged.found, e, options);
  }
  return verdict;
}

}  // namespace nsa::nightly
