// GEMM, softmax, GEMM with the BLAS, over the band of a tile of tokens.
#include <atomic>
#include <vector>

#include "cpu/band/launch.hpp"
#include "cpu/blas.hpp"
#include "cpu/convert.hpp"
#include "cpu/rows.hpp"
#include "cpu/simd/tile_gemm.hpp"
#include "cpu/simd/transpose.hpp"
#include "nsa/kernels/parallel.hpp"

namespace nsa::cpu {
namespace {

constexpr std::int64_t kMathRows = 256;  // rows of a tile: enough for the BLAS, few for the cache

std::int64_t math_tokens(std::int64_t heads) {
  return std::clamp<std::int64_t>(kMathRows / heads, 1, 64);
}

/// The longest run of keys that a tile sees.
std::int64_t widest_band(std::span<const Sequence> sequences, const Band& band,
                         std::int64_t tokens) {
  std::int64_t widest = 0;
  for (const Sequence& s : sequences) {
    const std::int64_t last = s.kv_len - 1;
    const std::int64_t first = std::max(s.first_position(), last - tokens + 1);
    widest = std::max(widest, band.keys_of(last).end - band.keys_of(first).begin);
  }
  return widest;
}

/// Keys that the new tokens of a sequence see together, and where they begin in the memory below.
struct Part {
  KeyRun keys;
  std::int64_t begin;
  std::int64_t at(std::int64_t key) const { return begin + key - keys.begin; }
};

std::vector<Part> parts_of(std::span<const Sequence> sequences, const Band& band) {
  std::vector<Part> parts;
  std::int64_t begin = 0;
  for (const Sequence& s : sequences) {
    const KeyRun keys{band.keys_of(s.first_position()).begin, band.keys_of(s.kv_len - 1).end};
    parts.push_back({keys, begin});
    begin += keys.end - keys.begin;
  }
  return parts;
}

template <class T>
struct Memory {
  std::span<T> k, v;                 // [keys, kv_heads, dim], all parts, in the type of computing
  std::span<std::uint8_t> bad;       // [keys, kv_heads] V row is not finite, and 0 in v
  std::span<T> q, scores, out, row;  // per thread
  std::span<RowSums<T>> sums;        // per thread
  std::int64_t rows, q_size, scores_size, out_size;
};

template <class T, class Taker>
Memory<T> layout_memory(Taker& taker, const Problem& p, std::span<const Sequence> sequences,
                        const Band& band) {
  const std::int64_t heads = p.heads_per_group();
  const std::int64_t tokens = math_tokens(heads), rows = tokens * heads;
  std::int64_t keys = 0;
  for (const Part& part : parts_of(sequences, band)) keys += part.keys.end - part.keys.begin;
  Memory<T> m;
  m.rows = rows;
  m.q_size = rows * p.head_dim_k;
  m.scores_size = rows * pad_up(widest_band(sequences, band, tokens));
  m.out_size = rows * pad_up(p.head_dim_v);
  m.k = taker.template take<T>(keys * p.kv_heads * p.head_dim_k);
  m.v = taker.template take<T>(keys * p.kv_heads * p.head_dim_v);
  m.bad = taker.template take<std::uint8_t>(keys * p.kv_heads);
  const std::int64_t threads = parallel_threads();
  m.q = taker.template take<T>(threads * m.q_size);
  m.scores = taker.template take<T>(threads * m.scores_size);
  m.out = taker.template take<T>(threads * m.out_size);
  m.row = taker.template take<T>(threads * p.head_dim_v);
  m.sums = taker.template take<RowSums<T>>(threads * rows);
  return m;
}

template <class T>
struct Launch {
  const LaunchArgs& args;
  const Band& band;
  const BandTensors& tensors;
  Memory<T> m;
  std::vector<Part> parts;
  bool any_bad = false;

  void convert();
  void tile(std::size_t sequence, std::int64_t kv_head, std::int64_t token) const;
  void mask_and_normalise(T* scores, std::int64_t width, std::int64_t ld, std::int64_t first_key,
                          std::int64_t t0, std::int64_t tokens, RowSums<T>* sums) const;
  void add_bad_rows(std::size_t sequence, std::int64_t kv_head, const T* scores, std::int64_t ld,
                    KeyRun keys, std::int64_t t0, std::int64_t tokens, T* out) const;
};

/// K and V of all keys in the type of computing. The BLAS adds 0 * V for keys that a row does not
/// see, so V rows that are not finite are taken out and added later where they are seen.
template <class T>
void Launch<T>::convert() {
  const Problem& p = args.problem;
  std::atomic<bool> found{false};
  for (std::size_t b = 0; b < parts.size(); ++b) {
    const Part& part = parts[b];
    const std::int64_t key_begin = band.key_begin(args.sequences[b]);
    parallel_for(part.keys.begin, part.keys.end, 64, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t j = from * p.kv_heads; j < to * p.kv_heads; ++j) {
        const std::int64_t key = j / p.kv_heads, head = j % p.kv_heads;
        const std::int64_t row = key_begin + key, i = part.at(key) * p.kv_heads + head;
        T* v = m.v.data() + i * p.head_dim_v;
        load_row(tensors.kv.k, tensors.kv.k.at(row, head), p.head_dim_k,
                 m.k.data() + i * p.head_dim_k);
        load_row(tensors.kv.v, tensors.kv.v.at(row, head), p.head_dim_v, v);
        const bool bad = !all_finite(v, p.head_dim_v);
        m.bad[static_cast<std::size_t>(i)] = bad ? 1 : 0;
        if (bad) std::fill_n(v, p.head_dim_v, T{0}), found = true;
      }
    });
  }
  any_bad = found;
}

template <class T>
void Launch<T>::mask_and_normalise(T* scores, std::int64_t width, std::int64_t ld,
                                   std::int64_t first_key, std::int64_t t0, std::int64_t tokens,
                                   RowSums<T>* sums) const {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  const std::int64_t heads = args.problem.heads_per_group();
  for (std::int64_t r = 0; r < tokens * heads; ++r) {
    T* row = scores + r * ld;
    const KeyRun run = band.keys_of(t0 + r / heads);
    std::fill(row, row + (run.begin - first_key), kNothing);
    std::fill(row + (run.end - first_key), row + pad_up(width), kNothing);
    sums[r] = softmax_row(row, pad_up(width));
  }
}

template <class T>
void Launch<T>::add_bad_rows(std::size_t sequence, std::int64_t kv_head, const T* scores,
                             std::int64_t ld, KeyRun keys, std::int64_t t0, std::int64_t tokens,
                             T* out) const {
  const Problem& p = args.problem;
  const std::int64_t heads = p.heads_per_group(), out_cols = pad_up(p.head_dim_v);
  T* v = m.row.data() + parallel_thread_index() * p.head_dim_v;
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    const std::int64_t row = band.key_begin(args.sequences[sequence]) + key;
    const std::int64_t packed = parts[sequence].at(key) * p.kv_heads + kv_head;
    if (m.bad[static_cast<std::size_t>(packed)] == 0) continue;
    load_row(tensors.kv.v, tensors.kv.v.at(row, kv_head), p.head_dim_v, v);
    for (std::int64_t r = 0; r < tokens * heads; ++r) {
      const KeyRun run = band.keys_of(t0 + r / heads);
      if (key < run.begin || key >= run.end) continue;
      const T weight = scores[r * ld + key - keys.begin];
      for (std::int64_t i = 0; i < p.head_dim_v; ++i) out[r * out_cols + i] += weight * v[i];
    }
  }
}

template <class T>
void Launch<T>::tile(std::size_t sequence, std::int64_t kv_head, std::int64_t token) const {
  const Sequence& s = args.sequences[sequence];
  const Problem& p = args.problem;
  const std::int64_t heads = p.heads_per_group(), out_cols = pad_up(p.head_dim_v);
  const std::int64_t tokens = std::min(math_tokens(heads), s.q_len - token);
  const std::int64_t rows = tokens * heads, t0 = s.first_position() + token;
  const KeyRun keys{band.keys_of(t0).begin, band.keys_of(t0 + tokens - 1).end};
  const std::int64_t width = std::max<std::int64_t>(0, keys.end - keys.begin);
  const std::int64_t ld = pad_up(width), thread = parallel_thread_index();
  T* q = m.q.data() + thread * m.q_size;
  T* scores = m.scores.data() + thread * m.scores_size;
  T* out = m.out.data() + thread * m.out_size;
  RowSums<T>* sums = m.sums.data() + thread * m.rows;
  std::fill_n(out, rows * out_cols, T{0});
  if (width > 0) {
    for (std::int64_t i = 0; i < tokens; ++i) {
      load_queries(tensors.q, s.q_begin + token + i, kv_head * heads, heads, p.head_dim_k,
                   q + i * heads * p.head_dim_k);
    }
    const std::int64_t first = parts[sequence].at(keys.begin) * p.kv_heads + kv_head;
    const std::int64_t dk = p.head_dim_k, dv = p.head_dim_v;
    const MatrixView<const T> keys_of_band{m.k.data() + first * dk, width, dk, p.kv_heads * dk};
    const MatrixView<const T> values{m.v.data() + first * dv, width, dv, p.kv_heads * dv};
    gemm({q, rows, dk, dk}, keys_of_band.transpose(), MatrixView<T>{scores, rows, width, ld});
    mask_and_normalise(scores, width, ld, keys.begin, t0, tokens, sums);
    gemm({scores, rows, width, ld}, values, MatrixView<T>{out, rows, dv, out_cols});
    if (any_bad) add_bad_rows(sequence, kv_head, scores, ld, keys, t0, tokens, out);
  } else {
    constexpr T kNothing = -std::numeric_limits<T>::infinity();
    std::fill_n(sums, rows, RowSums<T>{kNothing, T{0}});
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    store_output(tensors.o, tensors.lse, s.q_begin + token + r / heads, kv_head * heads + r % heads,
                 p.head_dim_v, out + r * out_cols, sums[r]);
  }
}

template <class T>
void run(const LaunchArgs& args, const Band& band, const BandTensors& tensors) {
  const Problem& p = args.problem;
  Launch<T> launch{args, band, tensors, layout_memory<T>(args.workspace, p, args.sequences, band),
                   parts_of(args.sequences, band)};
  launch.convert();
  const std::int64_t step = math_tokens(p.heads_per_group());
  for (std::size_t b = 0; b < args.sequences.size(); ++b) {
    const std::int64_t tiles = (args.sequences[b].q_len + step - 1) / step;
    parallel_for(0, tiles * p.kv_heads, 1, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) launch.tile(b, i / tiles, i % tiles * step);
    });
  }
}

}  // namespace

template <BandKind kKind>
void launch_band_math(const LaunchArgs& args) {
  const Band band{kKind, args.problem.geometry};
  const BandTensors tensors = BandTensors::of(args, branch_of(kKind));
  with_compute_type(args.problem.dtype, [&]<class T>() { run<T>(args, band, tensors); });
}

template <BandKind kKind>
std::int64_t launch_band_math_bytes(const Problem& problem) {
  const std::vector<Sequence> sequences = sequences_of(problem);
  return with_compute_type(problem.dtype, [&]<class T>() {
    ByteCounter counter;
    layout_memory<T>(counter, problem, sequences, Band{kKind, problem.geometry});
    return counter.bytes();
  });
}

template void launch_band_math<BandKind::window>(const LaunchArgs&);
template void launch_band_math<BandKind::compressed>(const LaunchArgs&);
template std::int64_t launch_band_math_bytes<BandKind::window>(const Problem&);
template std::int64_t launch_band_math_bytes<BandKind::compressed>(const Problem&);

}  // namespace nsa::cpu
