#include "segmentation.hpp"

#include <limits>

namespace nsa::tuner {
namespace {

struct Cell {
  double cost = std::numeric_limits<double>::infinity();
  std::size_t before = 0;  // variant at the point before
  bool switched = false;   // and whether a switch was spent on it
};
using Layer = std::vector<std::vector<Cell>>;  // [switches][variant]

/// Costs that differ by less are the same sum in another order.
bool cheaper(double a, double b) { return a < b - 1e-12; }

std::size_t cheapest(const std::vector<Cell>& cells) {
  std::size_t best = 0;
  for (std::size_t v = 1; v < cells.size(); ++v) {
    if (cheaper(cells[v].cost, cells[best].cost)) best = v;
  }
  return best;
}

Layer next_layer(const Layer& last, const std::vector<double>& cost, bool may_switch) {
  Layer layer(last.size(), std::vector<Cell>(cost.size()));
  for (std::size_t s = 0; s < last.size(); ++s) {
    for (std::size_t v = 0; v < cost.size(); ++v) {
      Cell& cell = layer[s][v];
      cell = {last[s][v].cost + cost[v], v, false};
      if (s == 0 || !may_switch) continue;
      const std::size_t from = cheapest(last[s - 1]);
      const double switched = last[s - 1][from].cost + cost[v];
      if (from != v && cheaper(switched, cell.cost)) cell = {switched, from, true};
    }
  }
  return layer;
}

Assignment read_back(const std::vector<Layer>& layers, std::size_t switches) {
  Assignment assignment(layers.size());
  std::size_t v = cheapest(layers.back()[switches]);
  for (std::size_t i = layers.size(); i-- > 0;) {
    assignment[i] = v;
    const Cell& cell = layers[i][switches][v];
    v = cell.before;
    if (cell.switched) --switches;
  }
  return assignment;
}

}  // namespace

std::vector<Assignment> cheapest_assignments(const SegmentationInput& input,
                                             std::size_t max_switches) {
  if (input.cost.empty()) return {};
  Layer first(max_switches + 1);
  for (std::vector<Cell>& cells : first) {
    for (std::size_t v = 0; v < input.cost[0].size(); ++v) cells.push_back({input.cost[0][v], v});
  }
  std::vector<Layer> layers{std::move(first)};
  for (std::size_t i = 1; i < input.cost.size(); ++i) {
    layers.push_back(next_layer(layers.back(), input.cost[i], input.may_switch[i]));
  }
  std::vector<Assignment> assignments;
  for (std::size_t s = 0; s <= max_switches; ++s) assignments.push_back(read_back(layers, s));
  return assignments;
}

double cost_of(const SegmentationInput& input, const Assignment& assignment) {
  double sum = 0;
  for (std::size_t i = 0; i < assignment.size(); ++i) sum += input.cost[i][assignment[i]];
  return sum;
}

}  // namespace nsa::tuner
