#include "times.hpp"

#include <charconv>
#include <cmath>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::exchange {
namespace {

constexpr double kLongest = 1e15;  // ns: eleven days

}  // namespace

std::int64_t nanoseconds(double value, double unit_ns, const std::string& where) {
  const double ns = value * unit_ns;
  if (!(std::abs(ns) <= kLongest))
    throw InputError(where + ": is not a time, or one of more than eleven days");
  return ns > 0 ? std::llround(ns) : 0;
}

double parse_number(const std::string& text, const std::string& where) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || !std::isfinite(value))
    throw InputError(where + ": '" + text.substr(0, 40) + "' is not a number");
  return value;
}

Tree milliseconds(const std::vector<std::int64_t>& times) {
  Tree list = Tree::array();
  for (const std::int64_t ns : times) list.push_back(static_cast<double>(ns) / kMillisecond);
  return list;
}

std::vector<std::int64_t> nanoseconds_of(const Tree& list, double unit_ns,
                                         const std::string& where) {
  if (!list.is_array()) throw InputError(where + ": is not a list of times");
  std::vector<std::int64_t> times;
  for (const Tree& value : list)
    times.push_back(nanoseconds(number_of(value, where), unit_ns, where));
  return times;
}

void set_samples(Measurement& row, std::vector<Sample> samples) {
  row.samples_n = static_cast<std::int64_t>(samples.size());
  row.samples = std::move(samples);
  if (row.samples.empty()) return;
  std::vector<double> times;
  for (const Sample& sample : row.samples) times.push_back(static_cast<double>(sample.device_ns));
  row.median_ns = median(times);
  for (double& time : times) time = std::abs(time - *row.median_ns);
  row.mad_ns = median(times);
}

}  // namespace nsa::exchange
