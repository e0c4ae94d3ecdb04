// Problems and checks that the tests of the three attention stages share.
#pragma once

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

/// CPU rows of one attention stage that may be chosen or are slow paths.
inline std::vector<const Variant*> cpu_rows(Stage stage) {
  std::vector<const Variant*> rows;
  for (const Variant& v : catalog()) {
    if (v.backend == Backend::cpu && v.launch && v.stages.size() == 1 && v.stages[0] == stage &&
        v.role != Role::yardstick) {
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

inline double element(const HostTensor& tensor, std::int64_t i) {
  double value = 0;
  load_row(tensor.view(), i, 1, &value);
  return value;
}

inline void set_element(HostTensor& tensor, std::int64_t i, double value) {
  store_row(tensor.view(), i, 1, &value);
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
