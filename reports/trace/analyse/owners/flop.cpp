#include "flop.hpp"

#include <array>

#include "nsa/schemas/json.hpp"

namespace nsa::trace {
namespace {

using Dims = std::vector<double>;

double product(const Dims& dims, std::size_t first, std::size_t end) {
  double out = 1;
  for (std::size_t i = first; i < end; ++i) out *= dims[i];
  return out;
}

/// [..., m, k] times [..., k, n].
std::optional<double> of_product(const Dims& a, const Dims& b) {
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) return {};
  return 2 * product(a, 0, a.size()) * b.back();
}

/// Scores and their product with the values: q [batch, heads, queries, width], k [.., keys, width].
std::optional<double> of_attention(const Dims& q, const Dims& k, const Dims& v, double passes) {
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) return {};
  return passes * 2 * product(q, 0, 3) * k[2] * (q[3] + v[3]);
}

struct Product {
  std::string_view name;
  std::size_t a, b;  // which inputs are multiplied
};
constexpr std::array kProducts{Product{"aten::mm", 0, 1}, Product{"aten::bmm", 0, 1},
                               Product{"aten::addmm", 1, 2}, Product{"aten::baddbmm", 1, 2},
                               Product{"aten::_scaled_mm", 0, 1}};

struct Attention {
  std::string_view name;
  std::size_t q;  // the first of q, k and v
  double passes;  // products of the forward pass count once, backward has five for its two
};
constexpr std::array kAttentions{
    Attention{"aten::_scaled_dot_product_flash_attention", 0, 1},
    Attention{"aten::_scaled_dot_product_efficient_attention", 0, 1},
    Attention{"aten::_scaled_dot_product_cudnn_attention", 0, 1},
    Attention{"aten::_scaled_dot_product_flash_attention_backward", 1, 2.5},
    Attention{"aten::_scaled_dot_product_efficient_attention_backward", 1, 2.5},
    Attention{"aten::_scaled_dot_product_cudnn_attention_backward", 1, 2.5}};

}  // namespace

OperatorInputs inputs_of(const std::string& arguments) {
  OperatorInputs out;
  const Json object = Json::parse("{" + arguments + "}", nullptr, false);
  if (!object.is_object()) return out;
  const auto at =
      object.contains("Input Dims") ? object.find("Input Dims") : object.find("Input dims");
  if (at == object.end() || !at->is_array()) return out;
  constexpr std::size_t kLongest = 300;
  out.text = at->dump().substr(0, kLongest);
  for (const Json& input : *at) {
    Dims dims;
    if (input.is_array())
      for (const Json& n : input) dims.push_back(n.is_number() ? n.get<double>() : 0);
    out.dims.push_back(std::move(dims));
  }
  return out;
}

std::optional<double> flop_of(const std::string& name, const OperatorInputs& inputs) {
  const auto& dims = inputs.dims;
  for (const Product& product : kProducts)
    if (name == product.name && dims.size() > product.b)
      return of_product(dims[product.a], dims[product.b]);
  for (const Attention& attention : kAttentions)
    if (name == attention.name && dims.size() > attention.q + 2)
      return of_attention(dims[attention.q], dims[attention.q + 1], dims[attention.q + 2],
                          attention.passes);
  return {};
}

}  // namespace nsa::trace
