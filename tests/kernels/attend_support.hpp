// Problems and checks that the tests of the three attention stages share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "cpu/convert.hpp"
#include "launch_support.hpp"

namespace nsa::test {

inline constexpr std::array kAttendStages{Stage::attend_selected, Stage::attend_window,
                                          Stage::attend_compressed};

/// CPU rows with kernels of their own that may be chosen or are slow paths, of one attention stage,
/// or of more that read what it reads: the stage's output is their first.
inline std::vector<const Variant*> cpu_rows(Stage stage) {
  std::vector<const Variant*> rows;
  for (const Variant& v : catalog()) {
    if (v.backend == Backend::cpu && v.direction == Direction::forward && v.launch &&
        !is_composite(v) && v.stages.front() == stage && v.role != Role::baseline &&
        signature_of(v.stages).inputs.size() == signature_of(stage).inputs.size()) {
      rows.push_back(&v);
    }
  }
  return rows;
}

/// A prefill of one sequence, heads 6/2, that is small but has several panels and blocks.
inline Problem middle_problem(std::int64_t tokens = 150) {
  Problem p;
  p.seq_lens = {tokens};
  p.context_lens = {0};
  p.q_heads = 6;
  p.kv_heads = 2;
  p.head_dim_k = 16;
  p.head_dim_v = 12;
  p.geometry = {8, 4, 16, 4, 40};
  p.dtype = Dtype::fp32;
  return p;
}

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  std::int64_t one_of(std::initializer_list<std::int64_t> values) {
    return values.begin()[between(0, static_cast<std::int64_t>(values.size()) - 1)];
  }

 private:
  std::mt19937 engine_;
};

/// Any phase, batch, heads, dims, geometry and storage type.
inline Problem random_problem(Dice& dice) {
  Problem p;
  p.phase = static_cast<Phase>(dice.between(0, 2));
  p.seq_lens.clear(), p.context_lens.clear();
  const std::int64_t batch = dice.between(1, 4);
  for (std::int64_t b = 0; b < batch; ++b) {
    p.seq_lens.push_back(p.phase == Phase::decode ? 1 : dice.between(1, 180));
    p.context_lens.push_back(p.phase == Phase::prefill ? 0 : dice.between(0, 200));
  }
  p.kv_heads = dice.between(1, 3);
  p.q_heads = p.kv_heads * dice.between(1, 16);
  p.head_dim_k = 2 * dice.one_of({1, 3, 4, 8, 20, 32, 96});
  p.head_dim_v = dice.one_of({1, 3, 7, 16, 33, 64, 128});
  const std::int64_t stride = dice.one_of({1, 2, 4, 8});
  p.geometry.cmp_stride = stride;
  p.geometry.cmp_block = stride * dice.between(1, 4);
  p.geometry.sel_block = stride * dice.one_of({1, 3, 8, 16});
  p.geometry.sel_count = dice.between(3, 9);
  p.geometry.window = dice.one_of({0, 1, 5, 63, 64, 65, 400});
  p.dtype = static_cast<Dtype>(dice.between(0, 3));
  p.selection.pattern =
      dice.between(0, 1) == 0 ? SelectionPattern::random : SelectionPattern::smooth;
  return p;
}

inline double element(const HostTensor& tensor, std::int64_t i) {
  double value = 0;
  load_row(tensor.view(), i, 1, &value);
  return value;
}

inline void set_element(HostTensor& tensor, std::int64_t i, double value) {
  store_row(tensor.view(), i, 1, &value);
}

/// Whether row `row` (index of dimension 0) holds the same bytes.
inline bool same_row(const HostTensor& a, const HostTensor& b, std::int64_t row) {
  const std::int64_t bytes =
      a.view().stride[0] * static_cast<std::int64_t>(size_of(a.view().dtype));
  return std::equal(a.bytes.begin() + row * bytes, a.bytes.begin() + (row + 1) * bytes,
                    b.bytes.begin() + row * bytes);
}

/// Elements of row `row` (index of dimension 0).
inline std::vector<double> row_of(const HostTensor& tensor, std::int64_t row) {
  const TensorView view = tensor.view();
  const std::int64_t size = view.stride[0];
  std::vector<double> values(static_cast<std::size_t>(size));
  load_row(view, row * size, size, values.data());
  return values;
}

}  // namespace nsa::test
