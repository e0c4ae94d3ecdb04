// What must hold of the runtime whatever variants it runs (docs/nsa.md 11).
#include "catch.hpp"
#include "runtime_support.hpp"

namespace nsa::test {
namespace {

constexpr double kExact = 1e-11;  // fp64, another order of sums

std::vector<double> slice(const std::vector<double>& v, std::int64_t begin, std::int64_t end) {
  return {v.begin() + begin, v.begin() + end};
}

HostTensor input(const Problem& p, std::uint64_t seed = 3) {
  return random_tensor(p.dtype, {p.total_tokens(), p.model.model_dim}, seed, 4);
}

/// The layer fed in pieces through its cache.
std::vector<double> run_in_pieces(Layer& layer, const Problem& whole, const TensorView& x,
                                  const std::vector<std::int64_t>& pieces, AttentionKind kind) {
  KvCache cache(whole, 1, whole.seq_lens[0], kind);
  std::vector<double> y;
  std::int64_t done = 0;
  for (const std::int64_t piece : pieces) {
    Problem p = whole;
    p.seq_lens = {piece};
    p.context_lens = {done};
    p.phase = done == 0 ? Phase::prefill : piece == 1 ? Phase::decode : Phase::chunked_prefill;
    const std::vector<double> part = layer.run(p, rows_of(x, done, piece), &cache, kind);
    y.insert(y.end(), part.begin(), part.end());
    done += piece;
  }
  return y;
}

}  // namespace

TEST_CASE("decoding token by token gives what prefill gives", "[kernels][runtime]") {
  const Problem p = small_problem({41});
  Layer layer(p);
  const HostTensor x = input(p);
  const std::vector<double> whole = layer.run(p, x.view());
  const std::vector<std::int64_t> ones(41, 1);
  const std::vector<double> steps = run_in_pieces(layer, p, x.view(), ones, AttentionKind::nsa);
  CHECK(largest_difference(whole, steps) < kExact);
}

TEST_CASE("prefill in chunks, then decode, gives what one prefill gives", "[kernels][runtime]") {
  const Problem p = small_problem({75});
  Layer layer(p);
  const HostTensor x = input(p);
  const std::vector<double> whole = layer.run(p, x.view());
  for (const std::vector<std::int64_t>& pieces :
       {std::vector<std::int64_t>{30, 20, 24, 1}, {3, 1, 1, 40, 29, 1}, {74, 1}, {1, 74}}) {
    CHECK(largest_difference(whole, run_in_pieces(layer, p, x.view(), pieces, AttentionKind::nsa)) <
          kExact);
    const std::vector<double> dense = layer.run(p, x.view(), nullptr, AttentionKind::dense);
    CHECK(largest_difference(
              dense, run_in_pieces(layer, p, x.view(), pieces, AttentionKind::dense)) < kExact);
  }
}

TEST_CASE("sequential prefill equals batched prefill", "[kernels][runtime]") {
  const Problem p = small_problem({53, 7, 1});
  Layer layer(p);
  const HostTensor x = input(p);
  const std::vector<double> batched = layer.run(p, x.view());
  layer.prefill_mode("sequential");
  CHECK(largest_difference(batched, layer.run(p, x.view())) < kExact);
}

TEST_CASE("a ragged batch gives what its sequences give one by one", "[kernels][runtime]") {
  const Problem p = small_problem({33, 1, 48, 5});
  Layer layer(p);
  const HostTensor x = input(p);
  const std::vector<double> together = layer.run(p, x.view());
  std::int64_t begin = 0;
  for (const std::int64_t length : p.seq_lens) {
    const Problem one = small_problem({length});
    const std::vector<double> alone = layer.run(one, rows_of(x.view(), begin, length));
    CHECK(largest_difference(slice(together, begin * 12, (begin + length) * 12), alone) < kExact);
    begin += length;
  }
}

TEST_CASE("tokens after t change nothing at t", "[kernels][runtime]") {
  const Problem p = small_problem({60});
  Layer layer(p);
  HostTensor x = input(p);
  const std::vector<double> before = layer.run(p, x.view());
  const std::int64_t t = 37;
  for (std::int64_t i = (t + 1) * 12; i < 60 * 12; ++i) x.view().as<double>()[i] *= -3;
  const std::vector<double> after = layer.run(p, x.view());
  CHECK(largest_difference(slice(before, 0, (t + 1) * 12), slice(after, 0, (t + 1) * 12)) == 0);
  CHECK(largest_difference(before, after) > 1e-3);
}

TEST_CASE("with full coverage every branch is dense causal attention", "[kernels][runtime]") {
  for (const Branch branch : {Branch::sel, Branch::win}) {
    Problem p = small_problem({40});
    p.geometry.sel_count = 5;
    p.geometry.window = 40;
    Layer layer(p);
    layer.options.force_branch = branch;
    // Dense attention reads the rows of k_sel, v_sel: the window gets the same weights.
    if (branch == Branch::win) {
      const std::int64_t q = p.q_heads * p.head_dim_k, k = p.kv_heads * p.head_dim_k,
                         v = p.kv_heads * p.head_dim_v, dim = p.model.model_dim;
      double* w = layer.w_qkv.view().as<double>();
      std::copy_n(w + (q + k) * dim, k * dim, w + (q + 2 * k) * dim);
      std::copy_n(w + (q + 3 * k + v) * dim, v * dim, w + (q + 3 * k + 2 * v) * dim);
    }
    const HostTensor x = input(p);
    const std::vector<double> nsa = layer.run(p, x.view());
    const std::vector<double> dense = layer.run(p, x.view(), nullptr, AttentionKind::dense);
    CHECK(largest_difference(nsa, dense) < kExact);
  }
}

TEST_CASE("a branch that is switched off is not computed and counts as zeros",
          "[kernels][runtime]") {
  const Problem p = small_problem({48});
  Layer layer(p);
  const HostTensor x = input(p);
  layer.options.force_branch = Branch::win;
  const std::vector<double> window_only = layer.run(p, x.view());
  layer.options.branches = 4;
  CHECK(largest_difference(window_only, layer.run(p, x.view())) == 0);
  layer.options.branches = 3;
  const std::vector<double> nothing = layer.run(p, x.view());
  CHECK(largest_difference(nothing, std::vector<double>(nothing.size(), 0.0)) == 0);
}

TEST_CASE("a cache refuses lengths that are not its own and tokens it has no room for",
          "[kernels][runtime]") {
  const Problem p = small_problem({10});
  Layer layer(p);
  const HostTensor x = input(p);
  KvCache small(p, 1, 9);
  CHECK_THROWS_AS(layer.run(p, x.view(), &small), InputError);
  KvCache cache(p, 1, 20);
  Problem late = p;
  late.phase = Phase::chunked_prefill;
  late.context_lens = {4};
  CHECK_THROWS_AS(layer.run(late, x.view(), &cache), InputError);
  KvCache batch(p, 2, 20);
  CHECK_THROWS_AS(layer.run(p, x.view(), &batch), InputError);
}

}  // namespace nsa::test
