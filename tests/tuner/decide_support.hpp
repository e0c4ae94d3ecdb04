// A machine whose truth is known: rows as the pool would store them, with the noise of a trace.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "nsa/tuner/decide.hpp"

namespace sim {

using nsa::Measurement;
using nsa::VariantId;

inline VariantId id(const std::string& name, const std::string& stage = "attend_selected") {
  return {{stage}, name, {}};
}

/// True time in ns at a length.
using Truth = std::function<double(double)>;
/// Factor on the time of sample `i` of the contest at length index `l`, for variant `v`.
using Noise = std::function<double(std::size_t l, std::size_t i, std::size_t v)>;

struct Session {
  std::vector<std::pair<std::string, Truth>> variants;
  std::vector<std::int64_t> lengths{128, 256, 512, 1024, 2048, 4096, 8192, 16384};
  std::string stage = "attend_selected";
  std::int64_t processes = 2, rounds = 2, samples = 2;
  bool control = false;  // an A/A control of the first variant
  Noise noise = [](std::size_t, std::size_t, std::size_t) { return 1.0; };
  std::string run_id = "run";
};

/// Independent noise of relative size `sigma`.
inline Noise white(double sigma, std::uint64_t seed) {
  return [random = std::mt19937_64(seed), sigma](std::size_t, std::size_t, std::size_t) mutable {
    return std::exp(sigma * std::normal_distribution<>()(random));
  };
}

inline std::int64_t to_ns(double value) { return static_cast<std::int64_t>(std::llround(value)); }

inline nsa::Problem problem_at(std::int64_t length) {
  nsa::Problem problem;
  problem.seq_lens = {length};
  return problem;
}

inline Measurement row_of(const Session& s, std::size_t variant, std::int64_t length) {
  Measurement row;
  row.run_id = s.run_id;
  row.problem = problem_at(length);
  row.variant = id(s.variants[variant].first, s.stage);
  row.source_hash = "hash_" + s.variants[variant].first;
  row.pair_id = "contest_" + std::to_string(length);
  row.verification = nsa::Verification::verified;
  return row;
}

/// Visits of one round: a random order of the variants, then the same backwards (A B B A).
inline std::vector<std::size_t> visit_order(std::size_t count, std::mt19937_64& random) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  for (std::size_t i = count; i-- > 0;) order.push_back(order[i]);
  return order;
}

inline std::vector<Measurement> measure(const Session& s, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<Measurement> rows;
  const std::size_t arms = s.variants.size() + (s.control ? 1 : 0);
  for (std::size_t l = 0; l < s.lengths.size(); ++l) {
    std::size_t sample = 0;
    for (std::int64_t p = 0; p < s.processes; ++p) {
      for (std::int64_t r = 0; r < s.rounds; ++r) {
        std::int64_t position = 0;
        for (const std::size_t arm : visit_order(arms, random)) {
          const bool control = arm == s.variants.size();
          const std::size_t v = control ? 0 : arm;
          Measurement row = row_of(s, v, s.lengths[l]);
          row.process = p;
          row.round = r;
          row.position = position++;
          row.control = control;
          const double truth = s.variants[v].second(static_cast<double>(s.lengths[l]));
          for (std::int64_t i = 0; i < s.samples; ++i) {
            const std::int64_t ns = to_ns(truth * s.noise(l, sample++, v));
            row.samples.push_back({.start_ns = 0, .device_ns = ns, .host_ns = ns, .cycles = {}});
          }
          row.samples_n = s.samples;
          rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

inline nsa::tuner::DecideInput input_of(const Session& s, std::vector<Measurement> rows) {
  nsa::tuner::DecideInput input;
  input.device.name = "simulated";
  for (const auto& [name, truth] : s.variants) {
    const auto path = nsa::switch_target_of(name).value_or(nsa::SwitchTarget::none);
    input.variants.push_back({.id = id(name, s.stage), .path = path});
  }
  input.rows = std::move(rows);
  input.options.bootstrap = 200;
  input.options.created_by = "test";
  return input;
}

inline nsa::tuner::DecideReport decide(const Session& s, std::uint64_t seed = 1) {
  return nsa::tuner::decide(input_of(s, measure(s, seed)));
}

inline nsa::ThresholdRange range(std::int64_t from, std::optional<std::int64_t> to,
                                 const VariantId& variant) {
  nsa::ThresholdRange result;
  result.from = from;
  result.to = to;
  result.variant = variant;
  return result;
}

inline const nsa::ThresholdRange& range_at(const nsa::Decision& decision, std::int64_t at) {
  for (const nsa::ThresholdRange& range : decision.ranges) {
    if (at >= range.from && (!range.to || at < *range.to)) return range;
  }
  throw std::runtime_error("no range covers the length");
}

/// Mean over `lengths` of what the decision loses against the best variant in truth.
inline double mean_regret(const Session& s, const nsa::Decision& decision) {
  double sum = 0;
  for (const std::int64_t length : s.lengths) {
    const auto at = static_cast<double>(length);
    const std::string name = range_at(decision, length).variant.name;
    double best = INFINITY, chosen = 0;
    for (const auto& [variant, truth] : s.variants) {
      best = std::min(best, truth(at));
      if (variant == name) chosen = truth(at);
    }
    sum += chosen / best - 1;
  }
  return sum / static_cast<double>(s.lengths.size());
}

/// Truth with log2 slope: `slope` per octave faster than the reference above `crossing`.
inline Truth crossing_at(double crossing, double slope, Truth reference) {
  return [=](double n) { return reference(n) * std::exp(-slope * std::log2(n / crossing)); };
}
inline Truth linear(double ns_per_token) {
  return [=](double n) { return 1e5 + ns_per_token * n * 100; };
}

}  // namespace sim
