// Large problems of attention are looked at through one KV head: heads know nothing of one another.
#pragma once

#include <optional>
#include <string_view>

#include "nsa/kernels/inputs.hpp"
#include "nsa/schemas/problem.hpp"

namespace nsa::reference {

/// One KV head of a problem, with its query heads.
class OfHead {
 public:
  OfHead(const Problem& problem, std::int64_t kv_head);
  /// The problem of this head alone.
  const Problem& problem() const noexcept { return one_; }
  /// What a tensor of a stage's signature, or its gradient, holds of the head, packed: of a tensor
  /// with heads those, of w_qkv rows, of w_o columns. Empty where it belongs to all heads.
  std::optional<HostTensor> part(std::string_view name, const TensorView& tensor) const;

 private:
  HostTensor rows(const TensorView& w_qkv) const;

  Problem all_, one_;
  std::int64_t kv_head_;
};

}  // namespace nsa::reference
