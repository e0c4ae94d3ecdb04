#include "ratio.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace nsa::trace {
namespace {

struct Logs {
  double mean = 0, error2 = 0;  // error2: squared standard error of the mean
  double n = 0;
};

Logs logs_of(const std::vector<std::int64_t>& samples) {
  Logs out;
  out.n = static_cast<double>(samples.size());
  for (const std::int64_t s : samples) out.mean += std::log(static_cast<double>(s));
  out.mean /= out.n;
  for (const std::int64_t s : samples) {
    const double d = std::log(static_cast<double>(s)) - out.mean;
    out.error2 += d * d;
  }
  out.error2 /= (out.n - 1) * out.n;
  return out;
}

/// Welch-Satterthwaite.
double degrees_of_freedom(const Logs& a, const Logs& b) {
  const double sum = a.error2 + b.error2;
  const double down = a.error2 * a.error2 / (a.n - 1) + b.error2 * b.error2 / (b.n - 1);
  return down > 0 ? sum * sum / down : a.n + b.n - 2;
}

}  // namespace

std::optional<Ratio> ratio_of(const std::vector<std::int64_t>& a,
                              const std::vector<std::int64_t>& b, double alpha) {
  if (a == b && !a.empty()) return Ratio{1, 1, 1};
  const auto usable = [](const std::vector<std::int64_t>& samples) {
    return samples.size() >= 2 &&
           std::all_of(samples.begin(), samples.end(), [](std::int64_t s) { return s > 0; });
  };
  if (!usable(a) || !usable(b)) return {};
  const Logs in_a = logs_of(a), in_b = logs_of(b);
  const boost::math::students_t t(degrees_of_freedom(in_a, in_b));
  const double half = boost::math::quantile(boost::math::complement(t, alpha / 2)) *
                      std::sqrt(in_a.error2 + in_b.error2);
  const double middle = in_b.mean - in_a.mean;
  return Ratio{std::exp(middle), std::exp(middle - half), std::exp(middle + half)};
}

std::optional<Ratio> ratio_in_order(const std::vector<std::int64_t>& a,
                                    const std::vector<std::int64_t>& b, double alpha) {
  constexpr std::size_t kFewest = 3;
  if (a.size() != b.size() || a.size() < kFewest) return {};
  const auto n = static_cast<double>(a.size());
  std::vector<double> logs;
  double mean = 0, error2 = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] <= 0 || b[i] <= 0) return {};
    logs.push_back(std::log(static_cast<double>(b[i]) / static_cast<double>(a[i])));
    mean += logs.back() / n;
  }
  for (const double log : logs) error2 += (log - mean) * (log - mean) / ((n - 1) * n);
  const boost::math::students_t t(n - 1);
  const double half =
      boost::math::quantile(boost::math::complement(t, alpha / 2)) * std::sqrt(error2);
  return Ratio{std::exp(mean), std::exp(mean - half), std::exp(mean + half)};
}

}  // namespace nsa::trace
