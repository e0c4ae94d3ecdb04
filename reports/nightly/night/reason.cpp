#include "reason.hpp"

#include <fmt/format.h>

#include <cmath>

#include "nsa/nightly/ratio_text.hpp"

namespace nsa::nightly {
namespace {

/// "+2.13 %", or the difference itself on a linear scale.
std::string size_of(const Found& f) {
  if (f.change.delta) return fmt::format("{:+.4g}", *f.change.delta);
  return ratio_text(*f.change.ratio);
}

std::string when(std::int64_t index, const std::string& time) {
  return time.empty() ? fmt::format("row {}", index) : time;
}

/// Why the code is not what moved.
std::string machine_reason(const Found& f, const Examined& e) {
  if (f.change.environment) return "the environment changed";
  const std::string& before = e.night(f.at - 1).binary;
  if (!before.empty() && before == e.night(f.at).binary) return "the machine code did not change";
  return "other series of the device moved with it";
}

std::string spike_reason(const Examined& e) {
  const std::size_t at = e.spikes.back();
  return fmt::format("{} stands alone", when(e.night(at).index, e.night(at).time));
}

}  // namespace

std::string reason_of(State state, const Found* found, const Examined& e, const Options& options) {
  if (state == State::spike) return spike_reason(e);
  if (!found) return "";
  const Change& c = found->change;
  const std::string step = size_of(*found) + " since " + when(c.index, c.time);
  switch (state) {
    case State::suspect:
      if (c.q > options.false_discovery && (!e.surprise || found != &*e.surprise))
        return fmt::format("{}, but q {:.2g} among all series", step, c.q);
      return fmt::format("{} in the last night, p {:.2g}", size_of(*found), c.p);
    case State::confirmed:
      return e.confirmation.value_or(false) ? step + ", and so in the measurement of both builds"
                                            : fmt::format("{}, p {:.2g}", step, c.p);
    case State::cleared:
      return step + ", but not in the measurement of both builds";
    case State::environment:
      return step + ": " + machine_reason(*found, e);
    case State::clock:
      return step + " in time and not in cycles";
    case State::drift:
      return fmt::format("{}, a little every night", step);
    case State::acked:
      return step + ", answered for";
    default:
      return c.reverted ? step + ", taken back since" : step;
  }
}

std::string absence_reason(State state, const Examined& e) {
  if (state == State::failed) return e.series->nights.back().failure;
  const std::size_t last = e.track.data.size() - 1;
  return "no value since " + when(e.night(last).index, e.night(last).time);
}

std::string warming_up_reason(std::int64_t nights, std::int64_t warm_up) {
  return fmt::format("{} of {} nights", nights, warm_up);
}

}  // namespace nsa::nightly
