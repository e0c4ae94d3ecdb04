#include "pool/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "nsa/schemas/json.hpp"

namespace nsa::tuner {

std::vector<std::size_t> round_order(std::uint64_t seed, std::string_view contest,
                                     std::int64_t process, std::int64_t round, std::size_t slots) {
  const std::string key = fmt::format("{}/{}/{}/{}", seed, contest, process, round);
  std::mt19937_64 random(std::stoull(hash_hex(key), nullptr, 16));
  std::vector<std::size_t> order(slots);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Fisher-Yates by hand: std::shuffle differs between standard libraries, a resume must not.
  for (std::size_t i = slots; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  order.insert(order.end(), order.rbegin(), order.rend());
  return order;
}

namespace {

/// Both sides of the block boundaries inside each sequence, its first row included.
std::vector<std::int64_t> boundaries(std::int64_t rows, const std::vector<std::int64_t>& begins,
                                     std::int64_t block) {
  std::vector<std::int64_t> found;
  for (std::size_t s = 0; s < begins.size(); ++s) {
    const std::int64_t end = s + 1 < begins.size() ? begins[s + 1] : rows;
    for (std::int64_t row = begins[s]; row < end; row += block) {
      if (row > 0) found.push_back(row - 1);
      found.push_back(row);
    }
  }
  return found;
}

}  // namespace

std::vector<std::int64_t> rows_to_verify(std::int64_t rows, const std::vector<std::int64_t>& begins,
                                         std::int64_t block, std::int64_t count,
                                         std::uint64_t seed) {
  std::set<std::int64_t> chosen;
  count = std::min(count, rows);
  if (count <= 0) return {};
  chosen.insert(0);
  if (count > 1) chosen.insert(rows - 1);
  const auto edges = boundaries(rows, begins, std::max<std::int64_t>(1, block));
  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(0, count * 3 / 4 - 2));
  const std::size_t taken = std::min(room, edges.size());
  // Two neighbours at a time, so that a boundary is seen from both sides.
  for (std::size_t i = 0; i < taken; ++i) {
    const std::size_t pair = (i / 2) * edges.size() / std::max<std::size_t>(1, taken) * 2;
    chosen.insert(edges[std::min(pair + i % 2, edges.size() - 1)]);
  }
  std::mt19937_64 random(seed);
  while (static_cast<std::int64_t>(chosen.size()) < count)
    chosen.insert(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows)));
  return {chosen.begin(), chosen.end()};
}

}  // namespace nsa::tuner
