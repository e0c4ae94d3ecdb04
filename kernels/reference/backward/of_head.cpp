#include "reference/backward/of_head.hpp"

#include <cstring>

#include "reference/reference.hpp"

namespace nsa::reference {
namespace {

/// `count` of the elements that follow one another in each row, from `first` on.
void copy_columns(const TensorView& from, HostTensor& to, std::int64_t first, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * size_of(from.dtype);
  to.bytes.resize(bytes * static_cast<std::size_t>(from.shape[0]));
  std::byte* at = to.bytes.data();
  for (std::int64_t row = 0; row < from.shape[0]; ++row, at += bytes) {
    const auto element = static_cast<std::size_t>(from.at(row) + first);
    std::memcpy(at, from.as<const std::byte>() + element * size_of(from.dtype), bytes);
  }
}

}  // namespace

OfHead::OfHead(const Problem& problem, std::int64_t kv_head)
    : all_(problem), one_(problem), kv_head_(kv_head) {
  one_.q_heads = all_.heads_per_group();
  one_.kv_heads = 1;
}

std::optional<HostTensor> OfHead::part(std::string_view name, const TensorView& tensor) const {
  if (name.starts_with("d_")) name.remove_prefix(2);
  if (name == "w_qkv") return rows(tensor);
  if (tensor.rank < 3 && name != "w_o") return std::nullopt;
  // Heads, or the columns of w_o, are dimension 1.
  HostTensor part{"", {tensor.dtype, tensor.rank, tensor.shape}, {}};
  const std::int64_t count = tensor.shape[1] / all_.kv_heads;
  part.shape.shape[1] = count;
  copy_columns(tensor, part, kv_head_ * count * tensor.stride[1], count * tensor.stride[1]);
  return part;
}

HostTensor OfHead::rows(const TensorView& w_qkv) const {
  const auto from = projections(all_), to = projections(one_);
  HostTensor part{"", {w_qkv.dtype, 2, {0, w_qkv.shape[1]}}, {}};
  for (const Projection& one : to) part.shape.shape[0] += one.heads * one.dim;
  part.make_room();
  const std::size_t row = static_cast<std::size_t>(w_qkv.shape[1]) * size_of(w_qkv.dtype);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::int64_t count = to[i].heads * to[i].dim;
    const std::int64_t first = from[i].first_row + kv_head_ * count;
    std::memcpy(part.bytes.data() + static_cast<std::size_t>(to[i].first_row) * row,
                w_qkv.as<const std::byte>() + static_cast<std::size_t>(first) * row,
                static_cast<std::size_t>(count) * row);
  }
  return part;
}

}  // namespace nsa::reference
