#include "worlds.hpp"

#include <cmath>

namespace nsa::test {

std::vector<double> World::nights(std::size_t count, Noise noise) {
  constexpr double kRho = 0.4;
  std::vector<double> y(count);
  double state = normal();
  for (double& value : y) {
    const double fresh = normal();
    state = kRho * state + std::sqrt(1 - kRho * kRho) * fresh;
    value = noise == Noise::autocorrelated ? state : fresh;
    if (noise == Noise::outliers && uniform() < 0.03) value += 4 + 8 * uniform();
  }
  return y;
}

nightly::Series series_of(const std::vector<double>& y, double sd, const std::string& name) {
  std::vector<double> values;
  for (const double d : y) values.push_back(100 * std::exp(sd * d));
  return series_of_values(values, name);
}

nightly::Series series_of_values(const std::vector<double>& values, const std::string& name) {
  nightly::Series series;
  series.name = name;
  for (std::size_t i = 0; i < values.size(); ++i) {
    nightly::Night night;
    night.index = static_cast<std::int64_t>(i);
    night.time = std::to_string(i);
    if (!std::isnan(values[i])) night.values = {values[i]};
    series.nights.push_back(std::move(night));
  }
  return series;
}

nightly::Verdict judge_one(const nightly::Series& series, const nightly::Options& options) {
  return nightly::judge({series}, options).series.front();
}

}  // namespace nsa::test
