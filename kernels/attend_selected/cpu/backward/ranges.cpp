// `ranges`, backward: the users' slow path. A host loop over rows and groups on one thread; each
// row copies its keys, makes its probabilities again and adds what it knows of their gradients.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "attend_selected/cpu/spans.hpp"
#include "cpu/backward/gradients.hpp"
#include "cpu/blas.hpp"
#include "cpu/compute.hpp"
#include "operands/attend_backward.hpp"

namespace nsa::cpu {
namespace {

template <class T>
class RowLoop {
 public:
  template <class Taker>
  RowLoop(Taker& taker, const Problem& p)
      : heads_(p.heads_per_group()),
        dk_(p.head_dim_k),
        dv_(p.head_dim_v),
        most_(longest_row(p)),
        q_(taker.template take<T>(heads_ * dk_)),
        d_q_(taker.template take<T>(heads_ * dk_)),
        o_(taker.template take<T>(heads_ * dv_)),
        d_o_(taker.template take<T>(heads_ * dv_)),
        k_(taker.template take<T>(most_ * dk_)),
        v_(taker.template take<T>(most_ * dv_)),
        d_k_(taker.template take<T>(most_ * dk_)),
        d_v_(taker.template take<T>(most_ * dv_)),
        weights_(taker.template take<T>(heads_ * most_)),
        d_scores_(taker.template take<T>(heads_ * most_)),
        room_(taker.template take<T>(std::max(dk_, dv_))),
        sum_k_(taker.template take<T>(p.total_context() * p.kv_heads * dk_)),
        sum_v_(taker.template take<T>(p.total_context() * p.kv_heads * dv_)),
        spans_(taker.template take<TokenSpan>(p.geometry.sel_count)) {}

  void run(const LaunchArgs& args, const SelectedBackwardTensors& t) {
    std::fill(sum_k_.begin(), sum_k_.end(), T{0});
    std::fill(sum_v_.begin(), sum_v_.end(), T{0});
    const std::int64_t groups = args.problem.kv_heads;
    const RowIndex rows(args.sequences, groups);
    for (std::int64_t i = 0; i < rows.size(); ++i) one_row(args, t, rows[i]);
    const KvTensors& d_kv = t.attention.d_kv;
    for (std::int64_t i = 0; i < args.problem.total_context() * groups; ++i) {
      const std::int64_t row = i / groups, group = i % groups;
      if (d_kv.k)
        put(d_kv.k, row, group, dk_, sum_k_.data() + i * dk_,
            args.adds_to(BandBackwardTensors::kDK));
      if (d_kv.v)
        put(d_kv.v, row, group, dv_, sum_v_.data() + i * dv_,
            args.adds_to(BandBackwardTensors::kDV));
    }
  }

 private:
  void put(const TensorView& to, std::int64_t row, std::int64_t head, std::int64_t dim,
           const T* values, bool add) {
    store_gradient(to, to.at(row, head), dim, values, add, room_.data());
  }

  void one_row(const LaunchArgs& args, const SelectedBackwardTensors& tensors,
               const SelectedRow& row) {
    const BandBackwardTensors& t = tensors.attention;
    const std::int64_t first = row.kv_head * heads_;
    for (std::int64_t h = 0; h < heads_; ++h) {
      load_row(t.q, t.q.at(row.q_row, first + h), dk_, q_.data() + h * dk_);
      load_row(t.o, t.o.at(row.q_row, first + h), dv_, o_.data() + h * dv_);
      load_row(t.d_o, t.d_o.at(row.q_row, first + h), dv_, d_o_.data() + h * dv_);
    }
    std::fill(d_q_.begin(), d_q_.end(), T{0});
    const std::span spans(spans_.data(),
                          static_cast<std::size_t>(row_spans(tensors.ranges, row.q_row, row.kv_head,
                                                             row.position, spans_.data())));
    const std::int64_t length = length_of(spans);
    expects(length <= most_, "ranges with n l' tokens or less in a row");
    if (length > 0) {
      each_key(row, spans, [&](std::int64_t i, std::int64_t at) {
        load_row(t.kv.k, t.kv.k.at(at, row.kv_head), dk_, k_.data() + i * dk_);
        load_row(t.kv.v, t.kv.v.at(at, row.kv_head), dv_, v_.data() + i * dv_);
      });
      gradients(length);
      each_key(row, spans, [&](std::int64_t i, std::int64_t at) {
        const std::int64_t to = at * args.problem.kv_heads + row.kv_head;
        for (std::int64_t c = 0; c < dk_; ++c) sum_k_[index(to, dk_, c)] += d_k_[index(i, dk_, c)];
        for (std::int64_t c = 0; c < dv_; ++c) sum_v_[index(to, dv_, c)] += d_v_[index(i, dv_, c)];
      });
    }
    for (std::int64_t h = 0; t.d_q && h < heads_; ++h)
      put(t.d_q, row.q_row, first + h, dk_, d_q_.data() + h * dk_,
          args.adds_to(BandBackwardTensors::kDQ));
  }

  static std::size_t index(std::int64_t row, std::int64_t dim, std::int64_t column) {
    return static_cast<std::size_t>(row * dim + column);
  }

  /// f(number of the key in the row, its row in K and V).
  template <class F>
  static void each_key(const SelectedRow& row, std::span<const TokenSpan> spans, const F& f) {
    std::int64_t i = 0;
    for (const TokenSpan& span : spans) {
      for (std::int64_t key = span.begin; key < span.end; ++key)
        f(i++, row.sequence->kv_begin + key);
    }
  }

  /// Of the keys that were copied: d_q, d_k and d_v.
  void gradients(std::int64_t length) {
    const MatrixView<const T> q{q_.data(), heads_, dk_, dk_}, d_o{d_o_.data(), heads_, dv_, dv_},
        k{k_.data(), length, dk_, dk_}, v{v_.data(), length, dv_, dv_},
        weights{weights_.data(), heads_, length, length},
        d_scores{d_scores_.data(), heads_, length, length};
    gemm(q, k.transpose(), MatrixView<T>{weights_.data(), heads_, length, length});
    gemm(d_o, v.transpose(), MatrixView<T>{d_scores_.data(), heads_, length, length});
    for (std::int64_t h = 0; h < heads_; ++h) through_softmax(h, length);
    gemm(d_scores, k, MatrixView<T>{d_q_.data(), heads_, dk_, dk_});
    gemm(d_scores.transpose(), q, MatrixView<T>{d_k_.data(), length, dk_, dk_});
    gemm(weights.transpose(), d_o, MatrixView<T>{d_v_.data(), length, dv_, dv_});
  }

  /// Products q k of a head become probabilities, and gradients of those become gradients of the
  /// products.
  void through_softmax(std::int64_t head, std::int64_t length) {
    T* weights = weights_.data() + head * length;
    T* gradients = d_scores_.data() + head * length;
    const T scale = T{1} / std::sqrt(static_cast<T>(dk_));
    const T largest = *std::max_element(weights, weights + length);
    const T* o = o_.data() + head * dv_;
    const T mean = std::inner_product(o, o + dv_, d_o_.data() + head * dv_, T{0});
    T sum = 0;
    for (std::int64_t i = 0; i < length; ++i)
      sum += weights[i] = std::exp((weights[i] - largest) * scale);
    for (std::int64_t i = 0; i < length; ++i) {
      weights[i] /= sum;
      gradients[i] = weights[i] * (gradients[i] - mean) * scale;
    }
  }

  std::int64_t heads_, dk_, dv_, most_;
  std::span<T> q_, d_q_, o_, d_o_;     // [heads, d]
  std::span<T> k_, v_, d_k_, d_v_;     // [keys of a row, d]
  std::span<T> weights_, d_scores_;    // [heads, keys of a row]
  std::span<T> room_, sum_k_, sum_v_;  // [d], [context tokens, kv_heads, d]
  std::span<TokenSpan> spans_;
};

}  // namespace

void selected_backward_ranges(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const SelectedBackwardTensors tensors = SelectedBackwardTensors::of(args);
  with_compute_type(args.problem.dtype, [&]<class T>() {
    RowLoop<T>(args.workspace, args.problem).run(args, tensors);
  });
}

std::int64_t selected_backward_ranges_bytes(const Problem& problem) {
  return with_compute_type(problem.dtype, [&]<class T>() {
    ByteCounter counter;
    const RowLoop<T> loop(counter, problem);
    return counter.bytes();
  });
}

}  // namespace nsa::cpu
