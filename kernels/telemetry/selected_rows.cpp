#include "selected_rows.hpp"

#include <algorithm>

namespace nsa::telemetry {
namespace {

constexpr std::int64_t triangle(std::int64_t n) noexcept { return n * (n + 1) / 2; }

}  // namespace

std::int64_t selected_sum(std::int64_t count, const Geometry& g) noexcept {
  const std::int64_t full = g.sel_count * g.sel_block;
  const std::int64_t head = triangle(std::min(count, full));  // all that is visible
  const std::int64_t tail = std::max<std::int64_t>(count - full, 0);
  // Within a block of queries the last selected block grows from 1 token to l'.
  const std::int64_t blocks = tail / g.sel_block, rest = tail % g.sel_block;
  return head + tail * (full - g.sel_block) + blocks * triangle(g.sel_block) + triangle(rest);
}

std::int64_t selected_at_most(std::int64_t tokens, std::int64_t count, const Geometry& g) noexcept {
  const std::int64_t full = g.sel_count * g.sel_block;
  const std::int64_t head = std::clamp<std::int64_t>(tokens, 0, std::min(count, full));
  const std::int64_t tail = std::max<std::int64_t>(count - full, 0);
  const std::int64_t of_block =
      std::clamp<std::int64_t>(tokens - full + g.sel_block, 0, g.sel_block);
  return head + tail / g.sel_block * of_block + std::min(tail % g.sel_block, of_block);
}

}  // namespace nsa::telemetry
