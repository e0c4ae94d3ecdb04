// Inputs of a stage, made from a seed: any tensor, any row, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/tensor.hpp"

namespace nsa {

struct ModelConfig;

/// Elements that are made without a value are not set. Setting fresh memory is what makes the
/// system provide it, page by page: for large tensors all threads have to do that, not one.
template <class T>
struct UnsetAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  template <class U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
  }
};

using HostBytes = std::vector<std::byte, UnsetAllocator<std::byte>>;

/// A named tensor in host memory, contiguous.
struct HostTensor {
  std::string name;
  TensorShape shape;
  HostBytes bytes;
  /// The view may be written through by the owner only.
  TensorView view() const noexcept;
  /// As many bytes as the shape has, not set.
  void make_room();
  /// The same, each of them `value`.
  void fill(std::byte value);
};

/// Inputs of a row that covers `stages`, in the order of its signature. Activations: generate(i,
/// seed + index of the tensor, 2 sqrt(3)), rounded to the problem's dtype; weights likewise,
/// divided by sqrt(fan in). `blocks` and `ranges` follow the problem's selection pattern (forced
/// blocks always included). Of a backward problem, those of make_backward_inputs(), and what the
/// forward pass saved after them under its name in Saved ("lse_sel").
std::vector<HostTensor> make_inputs(std::span<const Stage> stages, const Problem& problem,
                                    std::uint64_t seed);
std::vector<HostTensor> make_inputs(Stage stage, const Problem& problem, std::uint64_t seed);
/// Names and shapes of its outputs, without bytes.
std::vector<HostTensor> output_shapes(std::span<const Stage> stages, const Problem& problem);
/// Its outputs, every byte filled with the poison 0xA5, which no variant writes on purpose.
std::vector<HostTensor> make_outputs(std::span<const Stage> stages, const Problem& problem);
std::vector<HostTensor> make_outputs(Stage stage, const Problem& problem);
inline constexpr std::byte kPoison{0xA5};

/// Weights of a model in one flat tensor (bind_weights, nsa/kernels/runtime.hpp), made from a seed:
/// uniform, scaled by 1/sqrt(fan in); norms are ones, biases zeros.
HostTensor make_weights(const ModelConfig& config, std::uint64_t seed);

/// Selected blocks of one query by the pattern: [sel_count] int32, ascending, -1 in front = unused.
/// `position` is the query's absolute position, `stream` tells sequence and KV head apart.
void pattern_blocks(const Problem& problem, std::int64_t position, std::uint64_t stream,
                    std::uint64_t seed, std::int32_t* blocks);
/// Canonical ranges of a row of blocks (docs/nsa.md 6): [sel_count, 2] int32, (0,0) = unused.
void blocks_to_ranges(const Geometry& geometry, std::int64_t position, std::int64_t seq_blocks,
                      const std::int32_t* blocks, std::int32_t* ranges);
/// Share of each query's non-forced blocks that the query before it chose too, over all rows.
std::optional<double> measured_overlap(const Problem& problem, const TensorView& blocks);

}  // namespace nsa
