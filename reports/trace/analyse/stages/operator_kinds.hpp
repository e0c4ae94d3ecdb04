// What PyTorch's operators do, as far as the pattern of a layer of NSA asks.
#pragma once

#include <cstdint>
#include <string_view>

namespace nsa::trace {

enum class OperatorKind : std::uint8_t {
  none,  // no operator of ATen
  other,
  view,   // also copies and casts
  fill,   // also clamps
  check,  // what the host asks for
  pool,
  product,
  softmax,
  scatter_add,
  scatter_add_in_place,
  sum,
  topk,
  sort,
  cumsum,
  index_put,
  compare,
  where,
  arange,
  cat,
  linear,
  rotation,
  norm,
  activation,
  attention,
  mean,
  mul,
  add
};

OperatorKind kind_of_operator(std::string_view name);

}  // namespace nsa::trace
