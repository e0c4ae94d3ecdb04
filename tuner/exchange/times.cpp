#include "times.hpp"

#include <charconv>
#include <chrono>
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

bool is_time(const std::string& text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < kForm.size() || text.size() > 40) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    const bool good = kForm[i] == 'd' ? digit : text[i] == kForm[i] || text[i] == ' ';
    if (!good) return false;
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    return std::stoi(text.substr(at, digits));
  };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  return date.ok() && number(11, 2) < 24 && number(14, 2) < 60 && number(17, 2) < 61;
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
