// Backward of the attention of every branch. With p = softmax(scale q K^T) and o = p V:
//   d_v_i = p_i d_o,  d_logit_i = p_i (d_o . v_i - d_o . o),  d_q = scale sum d_logit_i k_i,
//   d_k_i = scale d_logit_i q.
#include <cmath>
#include <numeric>

#include "reference/backward/backward.hpp"

namespace nsa::reference {
namespace {

double dot(const Row& a, const Row& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void add_scaled(double factor, const Row& from, double* to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += factor * from[i];
}

double* head_of(const TensorView& tensor, std::int64_t row, std::int64_t head) {
  return tensor.as<double>() + tensor.at(row, head);
}

}  // namespace

void attend_backward(const AttendedRow& of, Row& d_q, const KvTensors& d_kv) {
  const auto& [q, kv, rows, head, d_o, o] = of;
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size()));
  double lse = 0;
  const Row again = attend(q, kv.k, kv.v, rows, head, &lse);
  const double d_mean = dot(d_o, o ? *o : again);
  for (const std::int64_t row : rows) {
    const Row key = load_head(kv.k, row, head), value = load_head(kv.v, row, head);
    const double p = std::exp(scale * dot(q, key) - lse);
    const double d_logit = scale * p * (dot(d_o, value) - d_mean);
    add_scaled(p, d_o, head_of(d_kv.v, row, head));
    add_scaled(d_logit, key, d_q.data());
    add_scaled(d_logit, q, head_of(d_kv.k, row, head));
  }
}

}  // namespace nsa::reference
