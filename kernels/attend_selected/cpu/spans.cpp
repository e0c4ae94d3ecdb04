#include "attend_selected/cpu/spans.hpp"

#include <algorithm>

namespace nsa::cpu {

std::int64_t row_spans(const TensorView& ranges, std::int64_t row, std::int64_t kv_head,
                       std::int64_t t, TokenSpan* out) {
  const auto* data = ranges.as<const std::int32_t>();
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < ranges.shape[2]; ++r) {
    const std::int64_t at = ranges.at(row, kv_head, r);
    const TokenSpan span{std::max<std::int64_t>(0, data[at]),
                         std::min<std::int64_t>(data[at + ranges.stride[3]], t + 1)};
    if (span.end <= span.begin) continue;
    std::int64_t place = count++;
    for (; place > 0 && out[place - 1].begin > span.begin; --place) out[place] = out[place - 1];
    out[place] = span;
  }
  std::int64_t merged = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (merged > 0 && out[i].begin <= out[merged - 1].end) {
      out[merged - 1].end = std::max(out[merged - 1].end, out[i].end);
    } else {
      out[merged++] = out[i];
    }
  }
  return merged;
}

std::int64_t length_of(std::span<const TokenSpan> spans) {
  std::int64_t length = 0;
  for (const TokenSpan& span : spans) length += span.end - span.begin;
  return length;
}

std::int64_t longest_row(const Problem& p) {
  return std::min(p.max_kv_len(), p.geometry.sel_count * p.geometry.sel_block);
}

std::int64_t row_blocks(const TensorView& blocks, std::int64_t row, std::int64_t kv_head,
                        std::int64_t t, std::int64_t sel_block, std::int64_t* out) {
  const auto* data = blocks.as<const std::int32_t>();
  const std::int64_t current = t / sel_block;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < blocks.shape[2]; ++i) {
    const std::int64_t id = data[blocks.at(row, kv_head, i)];
    if (id < 0 || id > current) continue;
    std::int64_t place = count;
    while (place > 0 && out[place - 1] > id) --place;
    if (place > 0 && out[place - 1] == id) continue;
    std::copy_backward(out + place, out + count, out + count + 1);
    out[place] = id;
    ++count;
  }
  return count;
}

std::int64_t RowIndex::size() const noexcept {
  std::int64_t tokens = 0;
  for (const Sequence& s : sequences_) tokens += s.q_len;
  return tokens * kv_heads_;
}

SelectedRow RowIndex::operator[](std::int64_t i) const noexcept {
  const Sequence* s = sequences_.data();
  while (i >= s->q_len * kv_heads_) i -= s++->q_len * kv_heads_;
  const std::int64_t token = i % s->q_len;
  return {s, s->q_begin + token, s->first_position() + token, i / s->q_len};
}

}  // namespace nsa::cpu
