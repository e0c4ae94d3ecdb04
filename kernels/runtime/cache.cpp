#include "cache.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "stage.hpp"

namespace nsa {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

HostTensor zeros(std::string name, Dtype dtype, std::int64_t rows, std::int64_t heads,
                 std::int64_t dim) {
  HostTensor tensor;
  tensor.name = std::move(name);
  tensor.shape = {dtype, 3, {rows, heads, dim, 0}};
  tensor.bytes.resize(at(rows * heads * dim) * size_of(dtype));
  return tensor;
}

/// Copies rows between tensors of equal row shape; the target is contiguous.
void copy_rows(const TensorView& from, std::int64_t from_row, const TensorView& to,
               std::int64_t to_row, std::int64_t count) {
  if (!from) return;  // a branch that is off was not projected
  const auto element = static_cast<std::int64_t>(size_of(to.dtype));
  const std::int64_t head_bytes = to.shape[2] * element;
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t h = 0; h < to.shape[1]; ++h) {
      std::memcpy(to.as<char>() + to.at(to_row + r, h) * element,
                  from.as<char>() + from.at(from_row + r, h) * element, at(head_bytes));
    }
  }
}

/// Moves rows inside one contiguous tensor towards its begin.
void move_rows(const TensorView& t, std::int64_t from_row, std::int64_t to_row,
               std::int64_t count) {
  const std::int64_t row_bytes = t.stride[0] * static_cast<std::int64_t>(size_of(t.dtype));
  std::memmove(t.as<char>() + to_row * row_bytes, t.as<char>() + from_row * row_bytes,
               at(count * row_bytes));
}

}  // namespace

KvCache::KvCache(const Problem& p, std::int64_t batch, std::int64_t capacity, AttentionKind kind)
    : capacity_(capacity), lengths_(index(batch), 0), win_lengths_(index(batch), 0) {
  const auto make = [&](const char* name, std::int64_t rows, std::int64_t dim) {
    return zeros(name, p.dtype, batch * rows, p.kv_heads, dim);
  };
  k_sel_ = make("k_sel", capacity, p.head_dim_k);
  v_sel_ = make("v_sel", capacity, p.head_dim_v);
  if (kind == AttentionKind::dense) return;
  // Twice the window, so that the rows are moved to the front once in `window` decode steps.
  win_stride_ = std::min(capacity, std::max<std::int64_t>(2 * p.geometry.window, 1));
  k_win_ = make("k_win", win_stride_, p.head_dim_k);
  v_win_ = make("v_win", win_stride_, p.head_dim_v);
  k_raw_ = make("k_cmp_raw", p.geometry.cmp_block, p.head_dim_k);
  v_raw_ = make("v_cmp_raw", p.geometry.cmp_block, p.head_dim_v);
  k_cmp_ = make("k_cmp", num_compressed(capacity, p.geometry), p.head_dim_k);
  v_cmp_ = make("v_cmp", num_compressed(capacity, p.geometry), p.head_dim_v);
}

std::size_t KvCache::bytes() const noexcept {
  std::size_t sum = 0;
  for (const HostTensor* t :
       {&k_sel_, &v_sel_, &k_win_, &v_win_, &k_raw_, &v_raw_, &k_cmp_, &v_cmp_}) {
    sum += t->bytes.size();
  }
  return sum;
}

CachedLayer::CachedLayer(KvCache& cache, const Problem& problem)
    : cache_(cache), problem_(problem) {
  if (problem.seq_lens.size() != cache.lengths_.size()) {
    throw InputError("cache: holds " + std::to_string(cache.lengths_.size()) +
                     " sequences, the problem has " + std::to_string(problem.seq_lens.size()));
  }
  std::int64_t q_begin = 0;
  for (std::size_t b = 0; b < problem.seq_lens.size(); ++b) {
    if (problem.context_lens[b] != cache.lengths_[b]) {
      throw InputError("cache: sequence " + std::to_string(b) + " holds " +
                       std::to_string(cache.lengths_[b]) + " tokens, context_lens says " +
                       std::to_string(problem.context_lens[b]));
    }
    const std::int64_t kv_len = cache.lengths_[b] + problem.seq_lens[b];
    if (kv_len > cache.capacity_) {
      throw InputError("cache: sequence " + std::to_string(b) + " would hold " +
                       std::to_string(kv_len) + " tokens, the capacity is " +
                       std::to_string(cache.capacity_));
    }
    sequences_.push_back({q_begin, problem.seq_lens[b], 0, kv_len, 0, 0});
    q_begin += problem.seq_lens[b];
  }
}

CachedKeys CachedLayer::append_selected(const Projected& fresh) {
  CachedKeys keys{cache_.k_sel_.view(), cache_.v_sel_.view(), sequences_, problem_.context_lens};
  const std::int64_t cmp_stride = num_compressed(cache_.capacity_, problem_.geometry);
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    Sequence& s = keys.sequences[b];
    s.kv_begin = static_cast<std::int64_t>(b) * cache_.capacity_;
    s.cmp_begin = static_cast<std::int64_t>(b) * cmp_stride;
    s.cmp_len = num_compressed(s.kv_len, problem_.geometry);
    copy_rows(fresh.k_sel, s.q_begin, keys.k, s.kv_begin + s.first_position(), s.q_len);
    copy_rows(fresh.v_sel, s.q_begin, keys.v, s.kv_begin + s.first_position(), s.q_len);
  }
  return keys;
}

void CachedLayer::make_room_in_window() {
  const std::int64_t keep = std::max<std::int64_t>(problem_.geometry.window - 1, 0);
  std::int64_t need = 0;
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    need = std::max(need, std::min(cache_.win_lengths_[b], keep) + sequences_[b].q_len);
  }
  const std::int64_t old_stride = cache_.win_stride_;
  if (need > old_stride) {
    const auto batch = static_cast<std::int64_t>(sequences_.size());
    HostTensor k =
        zeros("k_win", problem_.dtype, batch * need, problem_.kv_heads, problem_.head_dim_k);
    HostTensor v =
        zeros("v_win", problem_.dtype, batch * need, problem_.kv_heads, problem_.head_dim_v);
    for (std::int64_t b = 0; b < batch; ++b) {
      copy_rows(cache_.k_win_.view(), b * old_stride, k.view(), b * need,
                cache_.win_lengths_[at(b)]);
      copy_rows(cache_.v_win_.view(), b * old_stride, v.view(), b * need,
                cache_.win_lengths_[at(b)]);
    }
    cache_.k_win_ = std::move(k);
    cache_.v_win_ = std::move(v);
    cache_.win_stride_ = need;
  }
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    std::int64_t& stored = cache_.win_lengths_[b];
    if (stored + sequences_[b].q_len <= cache_.win_stride_) continue;
    const std::int64_t kept = std::min(stored, keep);
    const std::int64_t begin = static_cast<std::int64_t>(b) * cache_.win_stride_;
    move_rows(cache_.k_win_.view(), begin + stored - kept, begin, kept);
    move_rows(cache_.v_win_.view(), begin + stored - kept, begin, kept);
    stored = kept;
  }
}

CachedKeys CachedLayer::start_window(const Projected& fresh) {
  const std::int64_t keep = std::max<std::int64_t>(problem_.geometry.window - 1, 0);
  CachedKeys keys{fresh.k_win, fresh.v_win, sequences_, problem_.context_lens};
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    Sequence& s = keys.sequences[b];
    s.kv_begin = s.q_begin;
    const std::int64_t kept = std::min({s.q_len, keep, cache_.win_stride_});
    const std::int64_t begin = static_cast<std::int64_t>(b) * cache_.win_stride_;
    copy_rows(fresh.k_win, s.q_begin + s.q_len - kept, cache_.k_win_.view(), begin, kept);
    copy_rows(fresh.v_win, s.q_begin + s.q_len - kept, cache_.v_win_.view(), begin, kept);
    cache_.win_lengths_[b] = kept;
  }
  return keys;
}

CachedKeys CachedLayer::append_window(const Projected& fresh) {
  const bool empty = std::all_of(cache_.lengths_.begin(), cache_.lengths_.end(),
                                 [](std::int64_t length) { return length == 0; });
  if (empty) return start_window(fresh);
  make_room_in_window();
  CachedKeys keys{cache_.k_win_.view(), cache_.v_win_.view(), sequences_, problem_.context_lens};
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    Sequence& s = keys.sequences[b];
    std::int64_t& stored = cache_.win_lengths_[b];
    s.kv_begin = static_cast<std::int64_t>(b) * cache_.win_stride_;
    copy_rows(fresh.k_win, s.q_begin, keys.k, s.kv_begin + stored, s.q_len);
    copy_rows(fresh.v_win, s.q_begin, keys.v, s.kv_begin + stored, s.q_len);
    keys.context_lens[b] = stored;
    stored += s.q_len;
    s.kv_len = stored;
  }
  return keys;
}

CachedKeys CachedLayer::append_compressed(const Context& context, const Projected& fresh) {
  CachedKeys keys{cache_.k_cmp_.view(), cache_.v_cmp_.view(), {}, {}};
  const Geometry& g = problem_.geometry;
  const std::int64_t cmp_stride = num_compressed(cache_.capacity_, g);
  Problem pooled = problem_;
  pooled.phase = Phase::prefill;
  pooled.context_lens = {0};
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    const Sequence& s = sequences_[b];
    const auto seq = static_cast<std::int64_t>(b);
    const std::int64_t seen = cache_.lengths_[b];
    const std::int64_t first = num_compressed(seen, g);  // next block to emit
    const std::int64_t last = num_compressed(s.kv_len, g);
    const std::int64_t old_rows = seen - first * g.cmp_stride;  // below cmp_block: docs/nsa.md 9
    const std::int64_t rows = old_rows + s.q_len;
    const WorkspaceScope scratch(*context.workspace);
    const TensorView k = take_tensor(*context.workspace, problem_.dtype,
                                     {rows, problem_.kv_heads, problem_.head_dim_k});
    const TensorView v = take_tensor(*context.workspace, problem_.dtype,
                                     {rows, problem_.kv_heads, problem_.head_dim_v});
    copy_rows(cache_.k_raw_.view(), seq * g.cmp_block, k, 0, old_rows);
    copy_rows(cache_.v_raw_.view(), seq * g.cmp_block, v, 0, old_rows);
    copy_rows(fresh.k_cmp_raw, s.q_begin, k, old_rows, s.q_len);
    copy_rows(fresh.v_cmp_raw, s.q_begin, v, old_rows, s.q_len);
    if (fresh.k_cmp_raw && last > first) {
      pooled.seq_lens = {rows};
      const Sequence one{0, rows, 0, rows, seq * cmp_stride + first, last - first};
      run_stage(context, {Stage::compress, pooled, {&one, 1}, {k, v}, {keys.k, keys.v}});
    }
    const std::int64_t kept = s.kv_len - last * g.cmp_stride;
    copy_rows(k, rows - kept, cache_.k_raw_.view(), seq * g.cmp_block, kept);
    copy_rows(v, rows - kept, cache_.v_raw_.view(), seq * g.cmp_block, kept);
  }
  return keys;
}

void CachedLayer::commit() {
  for (std::size_t b = 0; b < sequences_.size(); ++b) cache_.lengths_[b] = sequences_[b].kv_len;
}

}  // namespace nsa
