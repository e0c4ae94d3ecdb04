#include "state.hpp"

#include <algorithm>

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

bool in_window(std::int64_t ordinal, std::int64_t last, const Options& options) {
  return last - ordinal < options.window;
}

bool is_red(const Found& f, std::int64_t last, const Options& options) {
  return f.worse && f.cause == Cause::code && !f.change.reverted && !f.change.acked &&
         f.change.q <= options.false_discovery && in_window(f.ordinal, last, options);
}

/// What a change of the window is called.
State state_of_change(const Found& f, const Options& options) {
  if (f.cause == Cause::machine) return State::environment;
  if (f.cause == Cause::clock) return State::clock;
  if (f.change.reverted) return State::ok;
  if (!f.worse) return State::improvement;
  if (f.change.acked) return State::acked;
  return f.change.q <= options.false_discovery ? State::confirmed : State::suspect;
}

/// What says more stands first.
constexpr State kOrder[] = {State::confirmed, State::suspect,     State::acked,
                            State::cleared,   State::drift,       State::environment,
                            State::clock,     State::improvement, State::spike};

State state_of_changes(const Examined& e, std::int64_t last, const Options& options) {
  std::vector<State> states;
  for (const Found& f : e.found)
    if (in_window(f.ordinal, last, options)) states.push_back(state_of_change(f, options));
  if (e.surprise) states.push_back(State::suspect);
  for (const std::size_t spike : e.spikes)
    if (in_window((*e.ordinal)[e.track.nights[spike]], last, options))
      states.push_back(State::spike);
  for (const State state : kOrder)
    if (std::find(states.begin(), states.end(), state) != states.end()) return state;
  return State::ok;
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

Verdict verdict_of(const Examined& e, std::int64_t last, const Options& options) {
  Verdict verdict;
  verdict.name = e.series->name;
  verdict.nights = static_cast<std::int64_t>(e.track.data.size() - e.track.epoch_begin());
  verdict.state = state_of_nights(e, last, options);
  if (verdict.state == State::warming_up || verdict.state == State::fresh) {
    const std::int64_t most = longest_epoch(e.track);
    verdict.missing_nights = std::max<std::int64_t>(0, options.warm_up - most);
    return verdict;
  }
  for (const Found& f : e.found) {
    verdict.changes.push_back(f.change);
    verdict.regression |= verdict.state != State::removed && is_red(f, last, options);
  }
  if (verdict.state == State::ok) verdict.state = state_of_changes(e, last, options);
  return verdict;
}

}  // namespace nsa::nightly
