// cuDNN's fused attention. The front end's headers are in one source file alone: they cost a minute
// and 2 GB to compile. The library is opened at run time.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "nsa/kernels/workspace.hpp"
#include "nsa/schemas/types.hpp"

struct CUstream_st;

namespace nsa::vendor {

/// Strides in elements: of a sequence, of a row and of a head. The head's numbers lie together.
struct SdpaStrides {
  std::int64_t sequence = 0, row = 0, head = 0;
  auto operator<=>(const SdpaStrides&) const = default;
};

/// One launch, and the key of its plan. Query i stands at key kv_len - q_len + i and sees the last
/// `window` keys up to that one, or all of them where window is 0.
struct SdpaShape {
  int device = 0;
  Dtype dtype = Dtype::bf16;  // bf16 or fp16
  std::int64_t batch = 1, q_heads = 1, kv_heads = 1;
  std::int64_t q_len = 0, kv_len = 0;  // of every sequence
  std::int64_t dk = 0, dv = 0;
  std::int64_t window = 0;
  SdpaStrides q, k, v, o;
  bool wants_lse = false;
  auto operator<=>(const SdpaShape&) const = default;
};

struct SdpaData {
  const void* q = nullptr;  // [batch, q_len, q_heads, dk] by the shape's strides, 16-byte rows
  const void* k = nullptr;  // [batch, kv_len, kv_heads, dk]
  const void* v = nullptr;  // [batch, kv_len, kv_heads, dv]
  void* o = nullptr;        // [batch, q_len, q_heads, dv]
  float* lse = nullptr;     // [batch, q_heads, q_len] natural logarithm; where the shape wants it
};

/// Least cuDNN whose attention has both a left bound and an offset between queries and keys.
inline constexpr std::int64_t kLeastCudnn = 90600;

/// Why there is no fused attention here (no library, too old); empty where there is. Opens cuDNN
/// once.
const std::string& sdpa_missing();
/// "9.14.0"; empty where sdpa_missing() gives a reason.
std::string sdpa_version();

/// softmax(q k^T / sqrt(dk)) v over the keys of each query. The first call of a shape makes its
/// plan, which takes milliseconds; the plan's workspace comes from `workspace`. Can be captured.
/// EnvironmentError where cuDNN has no plan for the shape, with its own words.
void run_sdpa(const SdpaShape& shape, const SdpaData& data, Workspace& workspace,
              CUstream_st* stream);

}  // namespace nsa::vendor
