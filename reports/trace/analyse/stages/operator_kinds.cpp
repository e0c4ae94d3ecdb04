#include "operator_kinds.hpp"

#include <unordered_map>

namespace nsa::trace {
namespace {

using KindOfName = std::unordered_map<std::string_view, OperatorKind>;

KindOfName make_kinds() {
  KindOfName out;
  const auto put = [&out](OperatorKind kind, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) out.emplace(name, kind);
  };
  using enum OperatorKind;
  put(view, {"as_strided",    "view",       "view_as", "_unsafe_view", "reshape",    "flatten",
             "permute",       "transpose",  "t",       "movedim",      "moveaxis",   "expand",
             "expand_as",     "unsqueeze",  "squeeze", "select",       "slice",      "narrow",
             "unbind",        "alias",      "detach",  "detach_",      "lift_fresh", "resolve_conj",
             "resolve_neg",   "contiguous", "clone",   "to",           "_to_copy",   "copy_",
             "_reshape_alias"});
  put(fill, {"empty", "empty_like", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like",
             "clamp", "clamp_", "clamp_min", "clamp_min_", "clamp_max", "clamp_max_"});
  put(check, {"any", "all", "is_nonzero", "item"});
  put(pool, {"avg_pool1d", "avg_pool2d"});
  put(product, {"einsum", "matmul", "bmm", "baddbmm"});
  put(softmax, {"softmax", "_softmax"});
  put(scatter_add, {"scatter_add", "index_add"});
  put(scatter_add_in_place, {"scatter_add_"});
  put(sum, {"sum"});
  put(topk, {"topk"});
  put(sort, {"sort", "argsort"});
  put(cumsum, {"cumsum"});
  put(index_put, {"index_put_", "index_put"});
  put(compare, {"le", "lt", "ge", "gt", "eq", "ne"});
  put(where, {"where", "masked_fill", "masked_fill_"});
  put(arange, {"arange"});
  put(cat, {"cat"});
  put(linear, {"linear", "addmm", "mm", "conv1d", "conv2d", "conv3d"});
  put(rotation, {"sin", "cos"});
  put(norm, {"rsqrt", "rms_norm", "_fused_rms_norm", "layer_norm", "native_layer_norm"});
  put(activation, {"silu", "silu_", "gelu", "relu", "relu_"});
  put(attention, {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention",
                  "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
                  "_flash_attention_forward", "_efficient_attention_forward"});
  put(mean, {"mean"});
  put(mul, {"mul", "mul_"});
  put(add, {"add", "add_"});
  return out;
}

}  // namespace

OperatorKind kind_of_operator(std::string_view name) {
  constexpr std::string_view kPrefix = "aten::";
  if (!name.starts_with(kPrefix)) return OperatorKind::none;
  static const KindOfName kinds = make_kinds();
  const auto at = kinds.find(name.substr(kPrefix.size()));
  return at == kinds.end() ? OperatorKind::other : at->second;
}

}  // namespace nsa::trace
