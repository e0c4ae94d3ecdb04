// Figures of the nightly check, measured on simulated nights.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nsa::test {

/// A row of the page.
struct Figure {
  std::string what, goal, measured;
  bool met = false;
};

/// How much is simulated: 1 is all of it.
using Share = double;

std::vector<Figure> null_figures(Share share);     // p of series without a change
std::vector<Figure> false_figures(Share share);    // false changes, of a series and of a family
std::vector<Figure> latency_figures(Share share);  // how soon a step or a drift is seen
std::vector<Figure> bisect_figures(Share share);   // the right commit of 64
std::vector<Figure> whole_figures(Share share);    // units, threads, speed

/// `count` of the page, at least one, scaled down for a quick run.
inline std::size_t scaled(std::size_t count, Share share) {
  const auto part = static_cast<std::size_t>(static_cast<double>(count) * share);
  return part > 0 ? part : 1;
}

}  // namespace nsa::test
