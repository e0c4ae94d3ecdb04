// Simulated nights whose truth is known.
#pragma once

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nsa/nightly/judge.hpp"

namespace nsa::test {

enum class Noise : std::uint8_t {
  independent,     // normal
  autocorrelated,  // normal, lag-1 correlation of 0.4
  outliers,        // normal, and 3 % of the nights 4 to 12 SD higher
};

/// Seeded; the same on every machine.
class World {
 public:
  explicit World(std::uint64_t seed) : bits_(seed) {}

  double normal() { return normal_(bits_); }
  double uniform() { return uniform_(bits_); }
  std::vector<double> nights(std::size_t count, Noise noise);  // SD 1

 private:
  boost::random::mt19937_64 bits_;
  boost::random::normal_distribution<double> normal_;
  boost::random::uniform_01<double> uniform_;
};

/// One replicate a night, exp(sd * y) times 100; NaN is a missing night.
nightly::Series series_of(const std::vector<double>& y, double sd = 0.01,
                          const std::string& name = "a");

/// `values` as they are, one replicate a night.
nightly::Series series_of_values(const std::vector<double>& values, const std::string& name = "a");

/// The verdict on a series alone.
nightly::Verdict judge_one(const nightly::Series& series, const nightly::Options& options = {});

}  // namespace nsa::test
