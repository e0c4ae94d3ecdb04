// A row of the table gets the gradients of all places where its token stands: the places are sorted
// by token first, so that a row is added up by one thread, in the order of the tokens.
#include <algorithm>
#include <numeric>

#include "training/cpu/ops.hpp"
#include "training/cpu/rows.hpp"

namespace nsa::training::cpu {
namespace {

/// Places of every token: those of `t` are order[first[t], first[t + 1]).
struct Places {
  std::span<std::int64_t> first, order;
};

Places places_of(const TensorView& tokens, std::int64_t vocab, Workspace& workspace) {
  const std::int64_t rows = tokens.shape[0];
  Places places{workspace.take<std::int64_t>(vocab + 1), workspace.take<std::int64_t>(rows)};
  const std::span<std::int64_t> next = workspace.take<std::int64_t>(vocab);
  const auto each = [&](const auto& visit) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t token = tokens.as<std::int32_t>()[tokens.at(r)];
      if (token >= 0 && token < vocab) visit(static_cast<std::size_t>(token), r);
    }
  };
  std::fill(places.first.begin(), places.first.end(), 0);
  each([&](std::size_t token, std::int64_t) { ++places.first[token + 1]; });
  std::partial_sum(places.first.begin(), places.first.end(), places.first.begin());
  std::copy_n(places.first.begin(), vocab, next.begin());
  each([&](std::size_t token, std::int64_t r) {
    places.order[static_cast<std::size_t>(next[token]++)] = r;
  });
  return places;
}

}  // namespace

void embed_backward(const TensorView& tokens, const TensorView& d_y, const Gradient& d_table,
                    Workspace& workspace) {
  const WorkspaceScope scope(workspace);
  const std::int64_t vocab = d_table.to.shape[0], columns = d_table.to.shape[1];
  const Places places = places_of(tokens, vocab, workspace);
  with_accumulator(d_y.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_rows<T>(vocab, 3 * columns, [&](std::int64_t token, T* v) {
      T *sum = v, *row = v + columns, *old = v + 2 * columns;
      std::fill_n(sum, columns, T{0});
      const auto begin = places.first[static_cast<std::size_t>(token)];
      const auto end = places.first[static_cast<std::size_t>(token) + 1];
      for (std::int64_t i = begin; i < end; ++i) {
        load_row(d_y, d_y.at(places.order[static_cast<std::size_t>(i)]), columns, row);
        for (std::int64_t c = 0; c < columns; ++c) sum[c] += row[c];
      }
      write(d_table, d_table.to.at(token), columns, sum, old);
    });
  });
}

}  // namespace nsa::training::cpu
