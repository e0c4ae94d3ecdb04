#include "causes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

namespace nsa::nightly {
namespace {

constexpr double kMoved = 3;               // t of a neighbour that moved too
constexpr double kShared = 0.5;            // of the step, by which it moved at least
constexpr std::int64_t kNightsBefore = 7;  // that are compared with those after, at least
constexpr std::size_t kFewestSeries = 4;   // of a device, before a majority means anything

/// The place of a change is certain to a night or so: the binary must be one all around it.
bool same_binary(const Examined& e, const Found& f) {
  const std::size_t first = std::max(f.begin + 2, f.at) - 2;
  const std::size_t last = f.drift ? f.end - 1 : std::min(f.at + 1, f.end - 1);
  const std::string& binary = e.night(last).binary;
  if (binary.empty()) return false;
  for (std::size_t i = first; i < last; ++i)
    if (e.night(i).binary != binary) return false;
  return true;
}

struct Mean {
  double sum = 0, squares = 0, count = 0;

  void add(double y) {
    sum += y;
    squares += y * y;
    ++count;
  }
  double value() const { return sum / count; }
  double spread() const { return std::max(0.0, squares - sum * sum / count); }
};

Mean log_cycles(const Examined& e, std::size_t begin, std::size_t end) {
  Mean mean;
  for (std::size_t i = begin; i < end; ++i) {
    double cycles = 0;
    if (finite_median(e.night(i).cycles, cycles) && cycles > 0) mean.add(std::log(cycles));
  }
  return mean;
}

/// Whether device cycles changed by less than half of what time did.
bool cycles_stood_still(const Examined& e, const Found& f) {
  if (!e.track.log_scale) return false;
  const std::size_t from = f.drift ? f.end - std::min<std::size_t>(3, f.end - f.at) : f.at;
  const Mean before = log_cycles(e, f.begin, f.at), after = log_cycles(e, from, f.end);
  if (before.count == 0 || after.count == 0) return false;
  return (after.value() - before.value()) / f.size() < 0.5;
}

void explain(const Examined& e, Found& f) {
  if (f.cause != Cause::code) return;
  if (cycles_stood_still(e, f)) f.cause = Cause::clock;
  if (same_binary(e, f)) f.cause = Cause::machine;
}

/// Whether `other` moved the same way and by half as much at least (a small move of its own does
/// not explain a large step) between the nights of the two levels of `f` in `e`; nothing where it
/// has too few nights there.
std::optional<bool> moved_with(const Examined& other, const Examined& e, const Found& f) {
  // No further back than it goes on: what `other` did long before is another change.
  const std::int64_t end = e.ordinal_of(f.end - 1);
  const std::int64_t begin =
      std::max(e.ordinal_of(f.begin), f.ordinal - std::max(kNightsBefore, end - f.ordinal + 1));
  Mean before, after;
  for (std::size_t i = 0; i < other.track.data.size(); ++i) {
    const std::int64_t night = other.ordinal_of(i);
    if (night >= begin && night <= end)
      (night < f.ordinal ? before : after).add(other.track.data[i]);
  }
  if (before.count < 2 || after.count < 1) return std::nullopt;
  const double variance = (before.spread() + after.spread()) / (before.count + after.count - 2);
  const double sd = std::max(std::sqrt(variance), other.least_sd);
  const double step = (f.change.up ? 1 : -1) * (after.value() - before.value());
  const double t = step / (sd * std::sqrt(1 / before.count + 1 / after.count));
  // Differences of two units cannot be compared, ratios can.
  const bool comparable = e.track.log_scale && other.track.log_scale;
  const bool shares = !comparable || step >= kShared * std::abs(f.size());
  return sd > 0 && t > kMoved && shares;
}

/// Whether a series runs other machine code since about the night of a change.
bool binary_changed(const Examined& e, const Found& f) {
  const std::string* known = nullptr;
  for (std::size_t i = 0; i < e.track.data.size(); ++i) {
    const std::int64_t night = e.ordinal_of(i);
    const std::string& binary = e.night(i).binary;
    if (night < f.ordinal - 2 || night > f.ordinal + 1 || binary.empty()) continue;
    if (known && *known != binary) return true;
    known = &binary;
  }
  return false;
}

/// The canary moved, or most series of a device did, another one with unchanged code at least: a
/// slower part that all of them share is a change of code all the same. Where nobody says which
/// series share a machine, the canary alone speaks for it.
bool is_of_device(const std::vector<const Examined*>& device, const Examined& e, const Found& f) {
  std::size_t moved = 0, judged = 0;
  bool with_old_code = false;
  for (const Examined* other : device) {
    const auto with = other == &e ? true : moved_with(*other, e, f);
    if (!with) continue;
    const bool with_machine = *with && !binary_changed(*other, f);
    if (with_machine && other->series->canary) return true;
    ++judged;
    moved += *with;
    with_old_code = with_old_code || (with_machine && other != &e);
  }
  const bool one_machine = !e.series->device.empty();
  return one_machine && judged >= kFewestSeries && 2 * moved > judged && with_old_code;
}

}  // namespace

void explain_by_itself(Examined& e) {
  for (Found& f : e.found) explain(e, f);
  if (e.surprise) explain(e, *e.surprise);
}

void explain_by_device(std::vector<Examined>& all) {
  std::map<std::string, std::vector<const Examined*>> devices;
  for (const Examined& e : all) devices[e.series->device].push_back(&e);
  for (Examined& e : all) {
    const auto& device = devices[e.series->device];
    const auto judge = [&](Found& f) {
      if (f.cause == Cause::code && is_of_device(device, e, f)) f.cause = Cause::machine;
    };
    for (Found& f : e.found) judge(f);
    if (e.surprise) judge(*e.surprise);
  }
}

}  // namespace nsa::nightly
