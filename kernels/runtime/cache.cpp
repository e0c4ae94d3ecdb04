#include "cache.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "operands/select.hpp"
#include "stage.hpp"

namespace nsa {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

CacheState::Rows CacheState::make_rows(std::int64_t rows, std::int64_t dim) const {
  Rows made;
  made.view = make_view(nullptr, dtype, {rows, kv_heads, dim});
  if (rows == 0) return made;
  const std::size_t bytes = made.view.bytes();
  made.memory = {allocator->allocate(bytes), Free{allocator, bytes}};
  made.view.data = made.memory.get();
  return made;
}

KvCache::KvCache(const Problem& p, std::int64_t batch, std::int64_t capacity, AttentionKind kind,
                 Allocator& allocator)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.allocator = &allocator;
  s.dtype = p.dtype;
  s.kv_heads = p.kv_heads;
  s.capacity = capacity;
  s.lengths.assign(at(batch), 0);
  s.win_lengths.assign(at(batch), 0);
  s.k_sel = s.make_rows(batch * capacity, p.head_dim_k);
  s.v_sel = s.make_rows(batch * capacity, p.head_dim_v);
  if (kind == AttentionKind::dense) return;
  // Twice the window, so that the rows are moved to the front once in `window` decode steps.
  s.win_stride = std::min(capacity, std::max<std::int64_t>(2 * p.geometry.window, 1));
  s.k_win = s.make_rows(batch * s.win_stride, p.head_dim_k);
  s.v_win = s.make_rows(batch * s.win_stride, p.head_dim_v);
  s.k_raw = s.make_rows(batch * p.geometry.cmp_block, p.head_dim_k);
  s.v_raw = s.make_rows(batch * p.geometry.cmp_block, p.head_dim_v);
  const std::int64_t compressed = batch * num_compressed(capacity, p.geometry);
  s.k_cmp = s.make_rows(compressed, p.head_dim_k);
  s.v_cmp = s.make_rows(compressed, p.head_dim_v);
}

KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;
KvCache& KvCache::operator=(KvCache&&) noexcept = default;

std::int64_t KvCache::length(std::int64_t sequence) const { return state_->lengths[at(sequence)]; }

std::int64_t KvCache::capacity() const noexcept { return state_->capacity; }

std::size_t KvCache::bytes() const noexcept {
  std::size_t sum = 0;
  for (const State::Rows* rows : state_->rows()) {
    if (rows->memory) sum += rows->view.bytes();
  }
  return sum;
}

CachedLayer::CachedLayer(const Context& context, KvCache& whole, const Problem& problem)
    : context_(context), cache_(KvCacheInside::of(whole)), problem_(problem) {
  const CacheState& cache = cache_;
  if (problem.seq_lens.size() != cache.lengths.size()) {
    throw InputError("cache: holds " + std::to_string(cache.lengths.size()) +
                     " sequences, the problem has " + std::to_string(problem.seq_lens.size()));
  }
  std::int64_t q_begin = 0;
  for (std::size_t b = 0; b < problem.seq_lens.size(); ++b) {
    if (problem.context_lens[b] != cache.lengths[b]) {
      throw InputError("cache: sequence " + std::to_string(b) + " holds " +
                       std::to_string(cache.lengths[b]) + " tokens, context_lens says " +
                       std::to_string(problem.context_lens[b]));
    }
    const std::int64_t kv_len = cache.lengths[b] + problem.seq_lens[b];
    if (kv_len > cache.capacity) {
      throw InputError("cache: sequence " + std::to_string(b) + " would hold " +
                       std::to_string(kv_len) + " tokens, the capacity is " +
                       std::to_string(cache.capacity));
    }
    sequences_.push_back(
        {.q_begin = q_begin, .q_len = problem.seq_lens[b], .kv_begin = 0, .kv_len = kv_len});
    q_begin += problem.seq_lens[b];
  }
  zero(context, whole);
}

void CachedLayer::zero(const Context& context, KvCache& whole) {
  CacheState& cache = KvCacheInside::of(whole);
  if (cache.zeroed) return;
  for (const CacheState::Rows* rows : cache.rows()) {
    if (rows->memory) ops_of(context).fill(context, rows->view, std::byte{0});
  }
  cache.zeroed = true;
}

decode::CacheTensors CachedLayer::tensors_of(const CacheState& cache) {
  return {.sel = {.k = cache.k_sel.view, .v = cache.v_sel.view},
          .win = {.k = cache.k_win.view, .v = cache.v_win.view},
          .raw = {.k = cache.k_raw.view, .v = cache.v_raw.view},
          .cmp = {.k = cache.k_cmp.view, .v = cache.v_cmp.view}};
}

void CachedLayer::copy(const KvTensors& from, std::int64_t from_row, const KvTensors& to,
                       std::int64_t to_row, std::int64_t count) {
  copy(from.k, from_row, to.k, to_row, count);
  copy(from.v, from_row, to.v, to_row, count);
}

void CachedLayer::copy(const TensorView& from, std::int64_t from_row, const TensorView& to,
                       std::int64_t to_row, std::int64_t count) {
  if (!from || count == 0) return;  // a branch that is off was not projected
  copies_.push_back({slice_rows(from, from_row, count), slice_rows(to, to_row, count)});
}

void CachedLayer::flush() {
  if (copies_.empty()) return;
  ops_of(context_).copy(context_, copies_);
  copies_.clear();
}

CachedKeys CachedLayer::append_selected(const AttentionTensors& fresh) {
  CachedKeys keys{tensors_of(cache_).sel, sequences_, problem_.context_lens};
  const std::int64_t cmp_stride = num_compressed(cache_.capacity, problem_.geometry);
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    Sequence& s = keys.sequences[b];
    s.kv_begin = static_cast<std::int64_t>(b) * cache_.capacity;
    s.cmp_begin = static_cast<std::int64_t>(b) * cmp_stride;
    s.cmp_len = num_compressed(s.kv_len, problem_.geometry);
    copy(fresh.sel, s.q_begin, keys.kv, s.kv_begin + s.first_position(), s.q_len);
  }
  return keys;
}

void CachedLayer::grow_window(std::int64_t rows) {
  const auto batch = static_cast<std::int64_t>(sequences_.size());
  const std::int64_t old_stride = cache_.win_stride;
  CacheState::Rows k = cache_.make_rows(batch * rows, problem_.head_dim_k);
  CacheState::Rows v = cache_.make_rows(batch * rows, problem_.head_dim_v);
  for (const CacheState::Rows* grown : {&k, &v}) {
    ops_of(context_).fill(context_, grown->view, std::byte{0});
  }
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t stored = cache_.win_lengths[at(b)];
    copy(cache_.k_win.view, b * old_stride, k.view, b * rows, stored);
    copy(cache_.v_win.view, b * old_stride, v.view, b * rows, stored);
  }
  flush();
  cache_.outgrown.push_back(std::exchange(cache_.k_win, std::move(k)));
  cache_.outgrown.push_back(std::exchange(cache_.v_win, std::move(v)));
  cache_.win_stride = rows;
}

void CachedLayer::keep_last_of_window(std::int64_t sequence, std::int64_t keep) {
  std::int64_t& stored = cache_.win_lengths[at(sequence)];
  const std::int64_t kept = std::min(stored, keep), dropped = stored - kept;
  const std::int64_t begin = sequence * cache_.win_stride;
  const WorkspaceScope scratch(*context_.workspace);
  for (const TensorView& rows : {cache_.k_win.view, cache_.v_win.view}) {
    if (dropped >= kept) {
      copy(rows, begin + dropped, rows, begin, kept);
      continue;
    }
    // The rows overlap where they go: by way of the workspace.
    const TensorView apart =
        take_tensor(*context_.workspace, rows.dtype, {kept, rows.shape[1], rows.shape[2]});
    copy(rows, begin + dropped, apart, 0, kept);
    flush();
    copy(apart, 0, rows, begin, kept);
  }
  flush();  // before the workspace is taken again, and before new rows go where these came from
  stored = kept;
}

void CachedLayer::make_room_in_window() {
  const std::int64_t keep = std::max<std::int64_t>(problem_.geometry.window - 1, 0);
  std::int64_t need = 0;
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    need = std::max(need, std::min(cache_.win_lengths[b], keep) + sequences_[b].q_len);
  }
  if (need > cache_.win_stride) grow_window(need);
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    if (cache_.win_lengths[b] + sequences_[b].q_len <= cache_.win_stride) continue;
    keep_last_of_window(static_cast<std::int64_t>(b), keep);
  }
}

CachedKeys CachedLayer::start_window(const AttentionTensors& fresh) {
  const std::int64_t keep = std::max<std::int64_t>(problem_.geometry.window - 1, 0);
  CachedKeys keys{fresh.win, sequences_, problem_.context_lens};
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    Sequence& s = keys.sequences[b];
    s.kv_begin = s.q_begin;
    const std::int64_t kept = std::min({s.q_len, keep, cache_.win_stride});
    const std::int64_t begin = static_cast<std::int64_t>(b) * cache_.win_stride;
    copy(fresh.win, s.q_begin + s.q_len - kept, tensors_of(cache_).win, begin, kept);
    cache_.win_lengths[b] = kept;
  }
  return keys;
}

CachedKeys CachedLayer::append_window(const AttentionTensors& fresh) {
  const bool empty = std::all_of(cache_.lengths.begin(), cache_.lengths.end(),
                                 [](std::int64_t length) { return length == 0; });
  if (empty) return start_window(fresh);
  make_room_in_window();
  CachedKeys keys{tensors_of(cache_).win, sequences_, problem_.context_lens};
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    Sequence& s = keys.sequences[b];
    std::int64_t& stored = cache_.win_lengths[b];
    s.kv_begin = static_cast<std::int64_t>(b) * cache_.win_stride;
    copy(fresh.win, s.q_begin, keys.kv, s.kv_begin + stored, s.q_len);
    keys.context_lens[b] = stored;
    stored += s.q_len;
    s.kv_len = stored;
  }
  return keys;
}

CachedLayer::RawRows CachedLayer::gather_raw(const AttentionTensors& fresh, const Sequence& s,
                                             std::int64_t sequence, std::int64_t old_rows) {
  if (old_rows == 0) return {fresh.cmp, s.q_begin};
  const std::int64_t rows = old_rows + s.q_len;
  const std::int64_t begin = sequence * problem_.geometry.cmp_block;
  const auto joined = [&](const TensorView& old, const TensorView& more) {
    const TensorView all =
        take_tensor(*context_.workspace, more.dtype, {rows, more.shape[1], more.shape[2]});
    copy(old, begin, all, 0, old_rows);
    copy(more, s.q_begin, all, old_rows, s.q_len);
    return all;
  };
  return {
      {.k = joined(cache_.k_raw.view, fresh.cmp.k), .v = joined(cache_.v_raw.view, fresh.cmp.v)},
      0};
}

/// Blocks [first, last) become complete; rows past the last one wait for the next call.
void CachedLayer::append_compressed_of(const AttentionTensors& fresh, std::int64_t sequence,
                                       CachedKeys& keys) {
  const Geometry& g = problem_.geometry;
  const Sequence& s = sequences_[at(sequence)];
  const std::int64_t seen = cache_.lengths[at(sequence)];
  const std::int64_t first = num_compressed(seen, g), last = num_compressed(s.kv_len, g);
  const std::int64_t old_rows = seen - first * g.cmp_stride;  // below cmp_block: docs/nsa.md 9
  const std::int64_t raw_begin = sequence * g.cmp_block;
  const KvTensors stored = tensors_of(cache_).raw;
  if (last == first) {
    copy(fresh.cmp, s.q_begin, stored, raw_begin + old_rows, s.q_len);
    return;
  }
  const WorkspaceScope scratch(*context_.workspace);
  const RawRows raw = gather_raw(fresh, s, sequence, old_rows);
  flush();
  Problem pooled = problem_;
  pooled.phase = Phase::prefill;
  pooled.context_lens = {0};
  pooled.seq_lens = {old_rows + s.q_len};
  const std::int64_t cmp_stride = num_compressed(cache_.capacity, g);
  const Sequence one{.q_begin = 0,
                     .q_len = pooled.seq_lens[0],
                     .kv_begin = raw.begin,
                     .kv_len = pooled.seq_lens[0],
                     .cmp_begin = sequence * cmp_stride + first,
                     .cmp_len = last - first};
  run_stage(context_, Stage::compress, pooled, place_sequences(context_, {&one, 1}),
            CompressTensors{.raw = raw.kv, .pooled = keys.kv});
  const std::int64_t kept = s.kv_len - last * g.cmp_stride;
  const std::int64_t from = raw.begin + pooled.seq_lens[0] - kept;
  copy(raw.kv, from, stored, raw_begin, kept);
  flush();  // before the workspace is taken again
}

CachedKeys CachedLayer::append_compressed(const AttentionTensors& fresh) {
  CachedKeys keys{tensors_of(cache_).cmp, {}, {}};
  if (fresh.cmp.k) {
    const auto batch = static_cast<std::int64_t>(sequences_.size());
    for (std::int64_t b = 0; b < batch; ++b) append_compressed_of(fresh, b, keys);
  }
  flush();
  return keys;
}

void CachedLayer::commit() {
  for (std::size_t b = 0; b < sequences_.size(); ++b) cache_.lengths[b] = sequences_[b].kv_len;
}

}  // namespace nsa
