#include "pool/outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "emit/path_ranges.hpp"
#include "nsa/tuner/project.hpp"
#include "plan/length.hpp"

namespace nsa::tuner {
namespace {

/// As decisions are keyed, so that a width which the stages do not have tells nothing apart.
std::string key_of(const Contest& contest) {
  return fmt::format("{} {} batch {} {}", fmt::join(contest.stages, "+"),
                     to_string(class_of(contest.problem)), contest.problem.batch(),
                     to_string(contest.launch));
}

std::string key_of(const Candidate& candidate) {
  return candidate.executor + "@" + to_string(candidate.id);
}

std::optional<double> order_of(const Candidate& candidate, const Problem& problem) {
  const auto found = candidate.order.find(length_axis(problem));
  return found == candidate.order.end() ? std::nullopt : std::optional(found->second);
}

/// The most that time grows by between two lengths: its declared order, and one more until selected
/// blocks and the window are full, since each token has more to do until then.
double most_growth(const Problem& problem, double order, std::int64_t from, std::int64_t to) {
  const Geometry& g = problem.geometry;
  const std::int64_t full = std::clamp(std::max(g.window, g.sel_count * g.sel_block), from, to);
  const auto factor = [from](std::int64_t length) {
    return static_cast<double>(length) / static_cast<double>(from);
  };
  return std::pow(factor(to), order) * factor(full);
}

/// How far lengths are apart at least whose times show growth: over less it is taken for noise.
constexpr double kLever = 4;

double ratio(std::int64_t length, std::int64_t to) {
  return static_cast<double>(length) / static_cast<double>(to);
}

double least_ns_of(const Contestant& one) { return std::min(one.least_ns, one.least_noisy_ns); }

/// Whether it says anything of longer lengths.
bool tells(const Contestant& one) {
  return !one.control && !std::isinf(least_ns_of(one)) &&
         one.verification != Verification::wrong_result;
}

}  // namespace

std::vector<const Contestant*> Outlook::fastest_of_paths(
    const std::vector<Contestant>& contestants) const {
  std::map<SwitchTarget, const Contestant*> fastest;
  for (const Contestant& one : contestants) {
    if (!tells(one) || one.candidate.direction != Direction::forward) continue;
    const VariantId& id = one.candidate.id;
    const ProjectPath* path = path_of(users_names(), id, named_path(id, variants_));
    if (!path || !path->settable) continue;
    const Contestant*& first = fastest[path->path];
    if (!first || least_ns_of(one) < least_ns_of(*first)) first = &one;
  }
  std::vector<const Contestant*> result;
  for (const auto& [path, one] : fastest) result.push_back(one);
  return result;
}

void Outlook::add(const Contest& contest, const std::vector<Contestant>& contestants) {
  std::vector<const Contestant*> all;
  for (const Contestant& one : contestants)
    if (tells(one)) all.push_back(&one);
  add(all_, contest, all);
  add(users_, contest, fastest_of_paths(contestants));
}

void Outlook::add(Series& series, const Contest& contest,
                  const std::vector<const Contestant*>& contestants) {
  Point point;
  const Contestant* best = nullptr;
  for (const Contestant* one : contestants) {
    point.least_ns[key_of(one->candidate)] = least_ns_of(*one);
    if (!one->out && one->visited() && (!best || better(*one, *best))) best = one;
  }
  if (best) {
    point.best_ns = best->median_ns();
    point.best_order = order_of(best->candidate, contest.problem);
    series[key_of(contest)].insert_or_assign(length_of(contest.problem), std::move(point));
  }
}

std::optional<Outlook::History> Outlook::history_of(const Series& all, const Contest& contest,
                                                    const Candidate& candidate) {
  const auto series = all.find(key_of(contest));
  if (series == all.end()) return std::nullopt;
  const std::string own = key_of(candidate);
  const auto end = series->second.lower_bound(length_of(contest.problem));
  if (end == series->second.begin()) return std::nullopt;
  History history;
  history.nearest = {std::prev(end)->first, &std::prev(end)->second};
  for (auto at = end; at != series->second.begin() && !history.before;) {
    --at;
    if (!at->second.least_ns.contains(own)) continue;
    const Seen seen{at->first, &at->second, at->second.least_ns.at(own)};
    if (!history.last)
      history.last = seen;
    else if (kLever * static_cast<double>(seen.length) <= static_cast<double>(history.last->length))
      history.before = seen;
  }
  return history.last ? std::optional(history) : std::nullopt;
}

/// A lower order closes in on the best: by how much where the sweep may go from here.
double Outlook::closes_in(const History& history, std::optional<double> order) {
  const auto& best_order = history.nearest.point->best_order;
  return order && best_order ? std::pow(kFurthest, std::max(0.0, *best_order - *order)) : 1;
}

/// How many times slower it is at least, by the orders of both, where the sweep may go from here.
std::optional<double> Outlook::least_by_orders(const History& history, const Problem& problem,
                                               std::optional<double> order) {
  const Seen& last = *history.last;
  const auto& best_order = history.nearest.point->best_order;
  if (!order || !best_order) return std::nullopt;
  double growth = 0;
  if (history.before) {
    growth = std::log(last.own_ns / history.before->own_ns) /
             std::log(ratio(last.length, history.before->length));
    growth = std::clamp(growth, 0.0, *order);
  }
  const std::int64_t length = length_of(problem);
  const double best_ns = history.nearest.point->best_ns *
                         most_growth(problem, *best_order, history.nearest.length, length);
  return last.own_ns * std::pow(ratio(length, last.length), growth) / best_ns /
         closes_in(history, order);
}

/// The same where an order is not declared: by how its distance from the best changed so far, taken
/// to fall twice as fast from now on, and with room for what that cannot know.
std::optional<double> Outlook::least_by_trend(const History& history, std::int64_t length) {
  constexpr double kFaster = 2, kRoom = 4;
  if (!history.before) return std::nullopt;
  const Seen &last = *history.last, &before = *history.before;
  const double slower = last.own_ns / last.point->best_ns;
  const double fall = std::log(slower * before.point->best_ns / before.own_ns) /
                      std::log(ratio(last.length, before.length));
  return slower * std::pow(ratio(length, last.length), kFaster * std::min(0.0, fall)) / kRoom;
}

std::optional<double> Outlook::least_ratio(const History& history, const Contest& contest,
                                           const Candidate& candidate) {
  const auto order = order_of(candidate, contest.problem);
  if (order && history.nearest.point->best_order)
    return least_by_orders(history, contest.problem, order);
  return least_by_trend(history, length_of(contest.problem));
}

/// Of what takes milliseconds the growth is worth knowing before a launch takes seconds: where one
/// length has been seen, another one is a lesson that pays, as long as it is cheap itself.
bool Outlook::is_lesson(const History& history, std::int64_t length) {
  constexpr double kSlowNs = 1e6, kCheapNs = 3e8;
  if (history.before || history.last->own_ns < kSlowNs) return false;
  const double times = ratio(length, history.last->length);
  return times >= kLever && history.last->own_ns * times <= kCheapNs;
}

std::optional<std::string> Outlook::hopeless(const Contest& contest, const Candidate& candidate,
                                             double give_up_ratio) const {
  const auto history = history_of(all_, contest, candidate);
  if (!history || is_lesson(*history, length_of(contest.problem))) return std::nullopt;
  const auto least = least_ratio(*history, contest, candidate);
  if (!least || !(*least > give_up_ratio)) return std::nullopt;
  const bool by_orders = order_of(candidate, contest.problem) && history->nearest.point->best_order;
  const Seen& last = *history->last;
  return fmt::format(
      "{}{:.3g} times slower than the best at {} tokens, and at {} still {:.3g} times by the {}",
      kLeftOut, last.own_ns / last.point->best_ns, last.length, length_of(contest.problem), *least,
      by_orders ? "orders of both" : "trend so far");
}

bool Outlook::is_slow(const Contest& contest, const Candidate& candidate) const {
  constexpr double kSlowNs = 2e7;
  const auto history = history_of(all_, contest, candidate);
  if (!history) return false;
  const double times = ratio(length_of(contest.problem), history->last->length);
  return history->last->own_ns * times * times > kSlowNs;
}

bool Outlook::rivals(const Contest& contest, const Candidate& candidate,
                     double give_up_ratio) const {
  const auto history = history_of(users_, contest, candidate);
  // Not the fastest of its path any more, or nobody of its path ran.
  if (!history || history->last->length != history->nearest.length) return false;
  const auto& of_paths = history->nearest.point->least_ns;
  const auto faster = std::ranges::count_if(
      of_paths, [&](const auto& path) { return path.second < history->last->own_ns; });
  if (of_paths.size() < 2 || faster > 1) return false;
  const auto least = least_ratio(*history, contest, candidate);
  // So far behind, it settles nothing here, whatever happens further out.
  constexpr double kFarBehind = 30;
  return !least ||
         (*least <= give_up_ratio &&
          *least * closes_in(*history, order_of(candidate, contest.problem)) <= kFarBehind);
}

}  // namespace nsa::tuner
