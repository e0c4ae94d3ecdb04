#include "nsa/tuner/observations.hpp"

#include <algorithm>
#include <cmath>

#include "nsa/schemas/median.hpp"

namespace nsa::tuner {
namespace {

double log_median_ns(const Measurement& row) {
  std::vector<double> times;
  times.reserve(row.samples.size());
  for (const Sample& sample : row.samples) {
    if (sample.device_ns > 0) times.push_back(static_cast<double>(sample.device_ns));
  }
  if (!times.empty()) return std::log(median(std::move(times)));
  const double ns = row.median_ns.value_or(0);
  return ns > 0 ? std::log(ns) : std::numeric_limits<double>::quiet_NaN();
}

/// Problems with other lengths are other problems, so that few have to be compared in full.
std::string lengths_key(const Problem& problem) {
  std::string key;
  for (const std::int64_t n : problem.seq_lens) key += std::to_string(n) + ',';
  for (const std::int64_t n : problem.context_lens) key += std::to_string(n) + ';';
  return key;
}

}  // namespace

const Problem* Observations::shared(const Problem& problem) {
  // Rows of one problem mostly come one after another.
  if (!rows_.empty() && *rows_.back().problem == problem) return rows_.back().problem;
  auto& alike = common_->problems_by_lengths[lengths_key(problem)];
  const auto same = [&](const Problem* one) { return *one == problem; };
  const auto found = std::ranges::find_if(alike, same);
  if (found != alike.end()) return *found;
  alike.push_back(&common_->problems.emplace_back(problem));
  return alike.back();
}

const std::string* Observations::shared(std::string_view text) {
  const auto found = common_->texts.find(text);
  return found != common_->texts.end() ? &*found : &*common_->texts.emplace(text).first;
}

void Observations::add(const Measurement& row) {
  if (row.reason.starts_with(kContestLeftOut)) return;
  Observation o;
  o.problem = shared(row.problem);
  o.variant = &*common_->variants.insert(row.variant).first;
  o.executor = shared(row.executor);
  o.run_id = shared(row.run_id);
  o.board = shared(row.placement.empty() ? "" : row.placement.front().device_uuid);
  o.pair_id = shared(row.pair_id);
  o.source_hash = shared(row.source_hash);
  o.measured_at = shared(row.measured_at);
  o.process = row.process;
  o.round = row.round;
  o.position = row.position;
  o.control = row.control;
  o.first_call_ns = row.first_call_ns;
  o.held_out = row.held_out;
  o.cold = row.cold;
  o.launch = row.launch;
  o.timer = row.timer;
  o.outcome = row.outcome;
  o.not_believed = row.outcome == Outcome::bad_reply && row.reason.starts_with(kNotBelieved);
  o.verification = row.verification;
  if (row.outcome == Outcome::ok || row.outcome == Outcome::noisy) o.log_ns = log_median_ns(row);
  o.grow_events = row.grow_events.value_or(0);
  if (row.need) o.need = *row.need;
  rows_.push_back(o);
}

}  // namespace nsa::tuner
