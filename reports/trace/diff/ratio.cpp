#include "ratio.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace nsa::trace {
namespace {

/// The logarithm of a mean, or of the ratio of two.
struct Estimate {
  double middle = 0, error2 = 0;  // error2: its squared standard error
  double degrees = 0;             // of freedom of the error
};

/// `values`: in the unit of the logarithm, around any middle.
Estimate estimate(double middle, const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, error2 = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) error2 += (v - mean) * (v - mean) / ((n - 1) * n);
  return {middle, error2, n - 1};
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

/// Shares of the mean are logarithms around it, as far as they are small.
Estimate arithmetic(const Series& side) {
  std::vector<double> shares;
  for (const std::int64_t s : side.samples) shares.push_back(static_cast<double>(s) / side.mean);
  return estimate(std::log(side.mean), shares);
}

Estimate geometric(const Series& side) {
  std::vector<double> logs;
  for (const std::int64_t s : side.samples) logs.push_back(std::log(static_cast<double>(s)));
  return estimate(mean_of(logs), logs);
}

/// Of two sides that know nothing of each other: Welch-Satterthwaite.
Estimate ratio_between(const Estimate& a, const Estimate& b) {
  const double sum = a.error2 + b.error2;
  const double down = a.error2 * a.error2 / a.degrees + b.error2 * b.error2 / b.degrees;
  return {b.middle - a.middle, sum, down > 0 ? sum * sum / down : a.degrees + b.degrees};
}

/// The value is that of the arithmetic means; the interval holds those of both.
Ratio ratio_of_both(const Estimate& arithmetic, const Estimate& geometric, double alpha) {
  Ratio out{std::exp(arithmetic.middle), 1, 1};
  out.low = out.high = out.value;
  for (const Estimate* e : {&arithmetic, &geometric}) {
    const boost::math::students_t t(e->degrees);
    const double half =
        boost::math::quantile(boost::math::complement(t, alpha / 2)) * std::sqrt(e->error2);
    out.low = std::min(out.low, std::exp(e->middle - half));
    out.high = std::max(out.high, std::exp(e->middle + half));
  }
  return out;
}

bool usable(const Series& side) {
  return side.samples.size() >= 2 && side.mean > 0 &&
         std::all_of(side.samples.begin(), side.samples.end(),
                     [](std::int64_t s) { return s > 0; });
}

}  // namespace

std::optional<Ratio> ratio_of(const Series& a, const Series& b, double alpha) {
  if (a == b && !a.samples.empty()) return Ratio{1, 1, 1};
  if (!usable(a) || !usable(b)) return {};
  return ratio_of_both(ratio_between(arithmetic(a), arithmetic(b)),
                       ratio_between(geometric(a), geometric(b)), alpha);
}

std::optional<Ratio> ratio_in_order(const Series& a, const Series& b, double alpha) {
  constexpr std::size_t kFewest = 3;
  const std::size_t n = a.samples.size();
  if (n != b.samples.size() || n < kFewest || !usable(a) || !usable(b)) return {};
  std::vector<double> shares, logs;
  for (std::size_t i = 0; i < n; ++i) {
    const auto in_a = static_cast<double>(a.samples[i]), in_b = static_cast<double>(b.samples[i]);
    shares.push_back(in_b / b.mean - in_a / a.mean);
    logs.push_back(std::log(in_b / in_a));
  }
  return ratio_of_both(estimate(std::log(b.mean / a.mean), shares), estimate(mean_of(logs), logs),
                       alpha);
}

}  // namespace nsa::trace
