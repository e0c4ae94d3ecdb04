#include "attend_selected/cpu/backward/query_lists.hpp"

#include <algorithm>

#include "attend_selected/cpu/spans.hpp"

namespace nsa::cpu {

QueryListMemory QueryListMemory::of_thread(std::int64_t thread, std::int64_t threads) const {
  const auto part = [&](auto all) {
    const auto size = all.size() / static_cast<std::size_t>(threads);
    return all.subspan(static_cast<std::size_t>(thread) * size, size);
  };
  return {part(queries), part(chosen), part(begins), part(ids)};
}

QueryLists::QueryLists(const TensorView& blocks, const Sequence& sequence, std::int64_t kv_head,
                       std::int64_t sel_block, std::int64_t first, std::int64_t count,
                       const QueryListMemory& memory)
    : memory_(memory) {
  if (count <= 0) return;
  const std::int64_t position = sequence.first_position() + first;
  blocks_ = (position + count - 1) / sel_block + 1;
  const auto begins = memory_.begins.first(static_cast<std::size_t>(blocks_) + 1);
  std::ranges::fill(begins, 0);
  const std::size_t width = memory_.ids.size();
  // Chosen blocks once, with -1 after them; begins[b + 1] counts those of block b.
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = memory_.chosen.subspan(static_cast<std::size_t>(i) * width, width);
    const std::int64_t found = row_blocks(blocks, sequence.q_begin + first + i, kv_head,
                                          position + i, sel_block, memory_.ids.data());
    for (std::size_t k = 0; k < width; ++k) {
      row[k] =
          static_cast<std::int64_t>(k) < found ? static_cast<std::int32_t>(memory_.ids[k]) : -1;
      if (row[k] >= 0) ++begins[static_cast<std::size_t>(row[k]) + 1];
    }
  }
  for (std::size_t b = 1; b < begins.size(); ++b) begins[b] += begins[b - 1];
  for (std::int64_t i = 0; i < count; ++i) {
    for (const std::int32_t id :
         memory_.chosen.subspan(static_cast<std::size_t>(i) * width, width)) {
      if (id < 0) break;
      const std::int64_t at = begins[static_cast<std::size_t>(id)]++;
      memory_.queries[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(first + i);
    }
  }
  // Each begin has moved to the next one's.
  std::copy_backward(begins.begin(), begins.end() - 1, begins.end());
  begins[0] = 0;
}

std::span<const std::int32_t> QueryLists::of(std::int64_t block) const noexcept {
  const auto b = static_cast<std::size_t>(block);
  const auto begin = static_cast<std::size_t>(memory_.begins[b]);
  return memory_.queries.subspan(begin, static_cast<std::size_t>(memory_.begins[b + 1]) - begin);
}

}  // namespace nsa::cpu
