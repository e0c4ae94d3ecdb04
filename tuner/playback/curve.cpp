#include "playback/world.hpp"

#include <algorithm>
#include <cmath>

#include "playback/random.hpp"

namespace nsa::tuner::playback {
namespace {

double at(const World&, const Terms& curve, double length) {
  double ns = curve.launch_ns;
  for (const Term& term : curve.terms) ns += term.ns * std::pow(length, term.order);
  return ns;
}

double at(const World&, const Points& curve, double length) {
  const auto& points = curve.points;
  const auto right = std::find_if(points.begin() + 1, points.end() - 1,
                                  [&](const auto& point) { return point.first >= length; });
  const auto left = right - 1;
  const double share = std::log(length / left->first) / std::log(right->first / left->first);
  return left->second * std::pow(right->second / left->second, share);
}

/// Octaves from the nearest crossing (the turn between two is their geometric mean), with the sign
/// of the slope there: positive where the ratio is above its factor, for a rising first slope.
double signed_octaves(const std::vector<double>& crossings, double length) {
  if (crossings.empty()) return 0;
  std::size_t nearest = 0;
  while (nearest + 1 < crossings.size() &&
         length * length >= crossings[nearest] * crossings[nearest + 1])
    ++nearest;
  return (nearest % 2 == 0 ? 1 : -1) * std::log2(length / crossings[nearest]);
}

double at(const World& world, const Relative& curve, double length) {
  return smooth_ns(world, curve.base, length) * curve.factor *
         std::pow(1 + curve.slope_percent / 100, signed_octaves(curve.crossings, length));
}

}  // namespace

double smooth_ns(const World& world, std::size_t variant, double length) {
  return std::visit([&](const auto& curve) { return at(world, curve, length); },
                    world.variants[variant].time);
}

double true_ns(const World& world, std::size_t variant, std::int64_t length) {
  const PlayedVariant& v = world.variants[variant];
  double factor = 1;
  std::int64_t paid = length;
  if (v.tile) {
    paid = (length + v.tile->size - 1) / v.tile->size * v.tile->size;
    if (paid != length) factor *= v.tile->remainder_factor;
  }
  if (v.ripple > 0) {
    const auto k = key(world.seed, Stream::ripple, text_key(v.name), length);
    factor *= std::exp(v.ripple * normal(k));
  }
  return factor * smooth_ns(world, variant, static_cast<double>(paid));
}

}  // namespace nsa::tuner::playback
