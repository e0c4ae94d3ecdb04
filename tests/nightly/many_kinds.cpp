#include "many_kinds.hpp"

#include <fmt/format.h>

#include <cmath>

#include "worlds.hpp"

namespace nsa::test {

using namespace nightly;

namespace {

std::vector<double> random_values(World& world, int kind) {
  std::vector<double> y = world.nights(20 + static_cast<std::size_t>(60 * world.uniform()),
                                       kind % 3 == 0 ? Noise::outliers : Noise::independent);
  for (std::size_t i = y.size() - y.size() / 4; i < y.size(); ++i) y[i] += 5 * world.uniform() * 2;
  for (double& value : y) {
    value = 100 + value;
    if (kind % 4 == 1) value = std::round(value);          // a coarse timer
    if (kind % 4 == 2) value = std::round(value / 4) * 4;  // a very coarse one: few levels
    if (kind % 8 == 3) value -= 100;                       // not all positive
  }
  return y;
}

}  // namespace

std::string unit_free(const Report& report, int digits) {
  std::string text = fmt::format("exit {}\n", report.exit_code);
  for (const Verdict& v : report.series) {
    text += fmt::format("{} {} {} {}\n", v.name, static_cast<int>(v.state), v.regression, v.nights);
    for (const Change& c : v.changes) {
      text += fmt::format("  {} {} {:.{}g} {:.{}g} {}", c.index, c.up, c.p, digits, c.q, digits,
                          c.reverted);
      if (c.ratio)
        text += fmt::format(" {:.{}g} [{:.{}g}, {:.{}g}]", *c.ratio, digits, c.interval.first,
                            digits, c.interval.second, digits);
      text += "\n";
    }
  }
  return text;
}

std::vector<Series> many_kinds(std::uint64_t seed, double scale) {
  World world(seed);
  std::vector<Series> all;
  for (int kind = 0; kind < 48; ++kind) {
    Series series = series_of_values(random_values(world, kind), fmt::format("s{}", kind));
    for (Night& night : series.nights) {
      if (kind % 5 == 0)
        for (const double step : {0.0, 1.0, 3.0, 2.0})
          night.values.push_back(night.values[0] + step);
      for (double& value : night.values) value *= scale;
    }
    all.push_back(std::move(series));
  }
  return all;
}

}  // namespace nsa::test
