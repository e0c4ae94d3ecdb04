#include "quantise.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace nsa::page {
namespace {

constexpr double kSteps = 20'000;    // 0.005 % of the typical value
constexpr double kMostQuanta = 1e9;  // a value far outside of the others coarsens the rest

double quantum_of(const std::vector<std::optional<NightValues>>& nights) {
  std::vector<double> medians;
  double low = 0, high = 0;  // of all, and zero
  for (const auto& night : nights) {
    if (!night) continue;
    medians.push_back(night->median);
    low = std::min(low, night->low);
    high = std::max(high, night->high);
  }
  if (medians.empty()) return 1;
  const auto middle = medians.begin() + static_cast<std::ptrdiff_t>(medians.size() / 2);
  std::nth_element(medians.begin(), middle, medians.end());
  const double spread = high / kMostQuanta - low / kMostQuanta;
  const double typical = low < 0 || *middle == 0 ? high / kSteps - low / kSteps : *middle / kSteps;
  const double quantum = std::max(typical, spread);
  return quantum > 0 ? quantum : 1;
}

std::int64_t quanta(double value, double quantum) { return std::llround(value / quantum); }

}  // namespace

Json quantised(const std::vector<std::optional<NightValues>>& nights) {
  const double quantum = quantum_of(nights);
  Json median = Json::array(), below = Json::array(), above = Json::array();
  std::int64_t before = 0;
  for (const auto& night : nights) {
    if (!night) {
      for (Json* list : {&median, &below, &above}) list->push_back(nullptr);
      continue;
    }
    const std::int64_t at = quanta(night->median, quantum);
    median.push_back(at - before);
    below.push_back(at - quanta(night->low, quantum));
    above.push_back(quanta(night->high, quantum) - at);
    before = at;
  }
  return {{"quantum", quantum}, {"median", median}, {"below", below}, {"above", above}};
}

}  // namespace nsa::page
