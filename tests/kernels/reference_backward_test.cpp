// The fp64 backward pass against central differences of the fp64 forward pass.
#include <cmath>
#include <numeric>

#include "catch.hpp"
#include "launch_support.hpp"
#include "nsa/kernels/inputs.hpp"
#include "nsa/schemas/generator.hpp"
#include "reference/backward/backward.hpp"
#include "runtime/model_ops.hpp"

namespace nsa::test {
namespace {

using reference::Row;

constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-6;  // relative; the differences are good to about 1e-9

Row random_row(std::size_t count, std::uint64_t seed) {
  Row row(count);
  for (std::size_t i = 0; i < count; ++i) row[i] = generate(i, seed, 2);
  return row;
}

double dot(const Row& a, const Row& b) {
  REQUIRE(a.size() == b.size());
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

bool agree(double a, double b) {
  return std::abs(a - b) <= kTolerance * std::max({std::abs(a), std::abs(b), 1e-3});
}

/// x + factor * direction, in place.
void move_by(double factor, const Row& direction, double* x) {
  for (std::size_t i = 0; i < direction.size(); ++i) x[i] += factor * direction[i];
}

/// d loss / d t at x + t * direction.
template <class Loss>
double difference(double* x, const Row& direction, const Loss& loss) {
  const Row before(x, x + direction.size());
  move_by(kStep, direction, x);
  const double above = loss();
  std::copy(before.begin(), before.end(), x);
  move_by(-kStep, direction, x);
  const double below = loss();
  std::copy(before.begin(), before.end(), x);
  return (above - below) / (2 * kStep);
}

/// A layer on inputs of its own, and a loss that is linear in its output.
class Layer {
 public:
  Layer(Problem problem, AttentionOptions options, std::uint64_t seed)
      : problem_(std::move(problem)),
        options_(options),
        tensors_(make_inputs(Stage::layer, problem_, seed)) {
    for (const HostTensor& tensor : tensors_) views_.push_back(tensor.view());
    trace_ = reference::run_layer(problem_, views_, options_);
    d_y_ = random_row(trace_.y.size(), seed + 100);
  }
  std::size_t size() const { return tensors_.size(); }
  const std::string& name(std::size_t input) const { return tensors_[input].name; }
  std::vector<Row> gradients() const {
    auto d = reference::run_layer_backward(problem_, views_, trace_, d_y_, options_);
    return {d.x, d.w_qkv, d.fc1_w, d.fc1_b, d.fc2_w, d.fc2_b, d.w_o};
  }
  /// Moves one input; no query may see other blocks on the way, since that is not differentiated.
  double difference_along(std::size_t input, const Row& direction) {
    return difference(views_[input].as<double>(), direction, [&] {
      const auto trace = reference::run_layer(problem_, views_, options_);
      REQUIRE(trace.ranges == trace_.ranges);
      return dot(trace.y, d_y_);
    });
  }

 private:
  Problem problem_;
  AttentionOptions options_;
  std::vector<HostTensor> tensors_;
  std::vector<TensorView> views_;
  reference::LayerTrace trace_;
  Row d_y_;
};

void require_right(Layer layer) {
  const std::vector<Row> gradients = layer.gradients();
  REQUIRE(gradients.size() == layer.size());
  for (std::size_t input = 0; input < layer.size(); ++input) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Row direction = random_row(gradients[input].size(), 1000 * seed + input);
      const double expected = layer.difference_along(input, direction);
      INFO(layer.name(input) << ": " << dot(gradients[input], direction) << " for " << expected);
      CHECK(agree(dot(gradients[input], direction), expected));
    }
  }
}

Problem ragged() {
  Problem p = small_problem();
  p.seq_lens = {37, 1, 20};
  p.context_lens = {0, 0, 0};
  p.head_dim_v = 6;
  return p;
}

/// Keys and values [rows, 1, dim], a query and the gradient of its output.
struct OneRow {
  std::vector<std::int64_t> rows;
  Row q, k, v, d_o;
  Row d_q, d_k, d_v;

  OneRow(std::int64_t keys, double scale, std::uint64_t seed)
      : rows(static_cast<std::size_t>(keys)),
        q(random_row(8, seed)),
        k(random_row(static_cast<std::size_t>(12 * 8), seed + 1)),
        v(random_row(static_cast<std::size_t>(12 * 6), seed + 2)),
        d_o(random_row(6, seed + 3)),
        d_q(8, 0.0),
        d_k(k.size(), 0.0),
        d_v(v.size(), 0.0) {
    std::iota(rows.begin(), rows.end(), 1);
    for (double& x : q) x *= scale;
  }
  double loss() { return dot(reference::attend(q, view(k, 8), view(v, 6), rows, 0), d_o); }
  void backward() {
    reference::attend_backward(
        {.q = q, .kv = {view(k, 8), view(v, 6)}, .rows = rows, .head = 0, .d_o = d_o}, d_q,
        {view(d_k, 8), view(d_v, 6)});
  }
  static TensorView view(Row& data, std::int64_t dim) {
    return make_view(data.data(), Dtype::fp64,
                     {static_cast<std::int64_t>(data.size()) / dim, 1, dim});
  }
};

}  // namespace

TEST_CASE("the gradients of a layer are the differences of its loss", "[backward]") {
  require_right(Layer(small_problem(), {}, 11));
}

TEST_CASE("a ragged batch with values of another width has its gradients", "[backward]") {
  require_right(Layer(ragged(), {}, 12));
}

TEST_CASE("one head a group, and all heads in one group", "[backward]") {
  Problem p = small_problem();
  p.kv_heads = GENERATE(1, 4);
  require_right(Layer(p, {}, 13));
}

TEST_CASE("gates that are sharp, uniform or forced have their gradients", "[backward]") {
  AttentionOptions options;
  SECTION("sharp") { options.gate_tau = 0.25; }
  SECTION("uniform") { options.uniform_gate = true; }
  SECTION("forced") { options.force_branch = Branch::sel; }
  require_right(Layer(small_problem(), options, 14));
}

TEST_CASE("attention with small and with large logits has its gradients", "[backward]") {
  OneRow one(9, GENERATE(1.0, 32.0), 21);
  one.backward();
  const std::pair<Row*, Row*> parts[] = {
      {&one.q, &one.d_q}, {&one.k, &one.d_k}, {&one.v, &one.d_v}};
  for (const auto& [x, d_x] : parts) {
    const Row direction = random_row(x->size(), 22);
    const double expected = difference(x->data(), direction, [&] { return one.loss(); });
    INFO(dot(*d_x, direction) << " for " << expected);
    CHECK(agree(dot(*d_x, direction), expected));
  }
}

TEST_CASE("keys that nobody saw have no gradient, and a query without keys adds none",
          "[backward]") {
  OneRow one(3, 1, 23);
  one.backward();
  CHECK(std::all_of(one.d_k.begin(), one.d_k.begin() + 8, [](double x) { return x == 0; }));
  CHECK(std::all_of(one.d_k.begin() + 4 * 8, one.d_k.end(), [](double x) { return x == 0; }));
  CHECK(std::any_of(one.d_k.begin(), one.d_k.end(), [](double x) { return x != 0; }));
  OneRow none(0, 1, 23);
  none.backward();
  CHECK(std::all_of(none.d_q.begin(), none.d_q.end(), [](double x) { return x == 0; }));
}

TEST_CASE("the norm of a row has the gradients of the runtime's norm", "[backward]") {
  Row x = random_row(7, 31), weight = random_row(7, 32);
  const Row d_y = random_row(7, 33);
  const auto matrix = [](Row& row) { return make_view(row.data(), Dtype::fp64, {1, 7}); };
  const auto loss = [&] {
    Row y(7);
    rms_norm(matrix(x), make_view(weight.data(), Dtype::fp64, {7}), matrix(y));
    return dot(y, d_y);
  };
  Row d_weight(7, 0.0), d_x(7, 0.0);
  reference::rms_norm_backward(x, weight, d_y, d_weight, d_x);
  const Row direction = random_row(7, 34);
  CHECK(agree(dot(d_x, direction), difference(x.data(), direction, loss)));
  CHECK(agree(dot(d_weight, direction), difference(weight.data(), direction, loss)));
}

TEST_CASE("the MLP of a block has its gradients", "[backward]") {
  Row w1 = random_row(5 * 3, 41), w2 = random_row(4 * 5, 42), x = random_row(3, 43);
  const Row d_y = random_row(4, 44);
  const auto matrix = [](Row& w, std::int64_t columns) {
    return make_view(w.data(), Dtype::fp64,
                     {static_cast<std::int64_t>(w.size()) / columns, columns});
  };
  const auto loss = [&] {
    Row hidden = reference::linear(matrix(w1, 3), 0, 5, x);
    silu_rows(matrix(hidden, 5));
    return dot(reference::linear(matrix(w2, 5), 0, 4, hidden), d_y);
  };
  Row d_w1(w1.size(), 0.0), d_w2(w2.size(), 0.0), d_x(x.size(), 0.0);
  reference::mlp_backward(matrix(w1, 3), matrix(w2, 5), x, d_y, matrix(d_w1, 3), matrix(d_w2, 5),
                          d_x);
  const std::pair<Row*, Row*> parts[] = {{&w1, &d_w1}, {&w2, &d_w2}, {&x, &d_x}};
  for (const auto& [value, gradient] : parts) {
    const Row direction = random_row(value->size(), 45);
    CHECK(agree(dot(*gradient, direction), difference(value->data(), direction, loss)));
  }
}

TEST_CASE("cross-entropy has its gradient, with logits that exp cannot take too", "[backward]") {
  Row logits = random_row(6, 51), d_logits, unused;
  for (double& logit : logits) logit += GENERATE(0.0, 1e4);
  reference::cross_entropy(logits, 2, d_logits);
  const Row direction = random_row(6, 52);
  const auto loss = [&] { return reference::cross_entropy(logits, 2, unused); };
  CHECK(agree(dot(d_logits, direction), difference(logits.data(), direction, loss)));
  CHECK(std::abs(std::accumulate(d_logits.begin(), d_logits.end(), 0.0)) < 1e-12);
  CHECK(std::abs(reference::cross_entropy(Row(8, 3.0), 5, d_logits) - std::log(8.0)) < 1e-12);
}

TEST_CASE("gradients are added to what is there", "[backward]") {
  OneRow once(5, 1, 24), twice(5, 1, 24);
  once.backward();
  twice.backward();
  twice.backward();
  for (std::size_t i = 0; i < once.d_k.size(); ++i)
    CHECK(std::abs(twice.d_k[i] - 2 * once.d_k[i]) <= 1e-12);
}

TEST_CASE("a wrong gradient does not pass for a right one", "[backward]") {
  Layer layer(small_problem(), {}, 11);
  const std::vector<Row> gradients = layer.gradients();
  for (std::size_t input = 0; input < layer.size(); ++input) {
    Row wrong = gradients[input];
    SECTION("scaled: " + layer.name(input)) {
      for (double& x : wrong) x *= 1.00001;
    }
    SECTION("one element of another sign: " + layer.name(input)) {
      const auto largest = std::max_element(
          wrong.begin(), wrong.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
      *largest = -*largest;
    }
    if (wrong == gradients[input]) continue;
    const Row direction = random_row(wrong.size(), 1000 + input);
    CHECK_FALSE(agree(dot(wrong, direction), layer.difference_along(input, direction)));
  }
}

}  // namespace nsa::test
