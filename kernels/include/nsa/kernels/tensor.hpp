// A view of a tensor that somebody else owns: data, type, shape and strides, on any device. Threads
// may share a view that none of them changes; what it points at is for its owner to guard.
// Functions look at the view and never at the data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/types.hpp"

namespace nsa {

inline constexpr int kMaxRank = 4;

/// Borrowed strided tensor. Strides are in elements. An absent optional tensor has data == nullptr.
struct TensorView {
  void* data = nullptr;
  Dtype dtype = Dtype::fp32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> stride{};

  explicit operator bool() const noexcept { return data != nullptr; }
  /// The product of the extents; 1 where the rank is 0.
  std::int64_t elements() const noexcept {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= shape[static_cast<std::size_t>(i)];
    return n;
  }
  /// Of its elements, without gaps between them.
  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(elements()) * size_of(dtype);
  }
  /// True when the last dimension has stride 1 (what every variant of ours needs).
  bool rows_contiguous() const noexcept {
    return rank == 0 || stride[static_cast<std::size_t>(rank - 1)] == 1;
  }
  /// True when all elements lie one after another, row-major, without gaps.
  bool contiguous() const noexcept {
    std::int64_t expected = 1;
    for (int i = rank - 1; i >= 0; --i) {
      const auto k = static_cast<std::size_t>(i);
      if (shape[k] != 1 && stride[k] != expected) return false;
      expected *= shape[k];
    }
    return true;
  }
  /// Element offset of [i, j, k, l]; missing indices are 0.
  std::int64_t at(std::int64_t i, std::int64_t j = 0, std::int64_t k = 0,
                  std::int64_t l = 0) const noexcept {
    return i * stride[0] + j * stride[1] + k * stride[2] + l * stride[3];
  }
  /// The data as elements of T, which is not compared with `dtype`.
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data);
  }
};

/// Contiguous row-major view of `data`. ContractError where `shape` has more than kMaxRank extents.
inline TensorView make_view(void* data, Dtype dtype, std::initializer_list<std::int64_t> shape) {
  expects(shape.size() <= kMaxRank, "a tensor of rank 4 or less");
  TensorView view{data, dtype, static_cast<int>(shape.size()), {}, {}};
  std::size_t i = 0;
  for (const std::int64_t extent : shape) view.shape[i++] = extent;
  std::int64_t stride = 1;
  for (i = shape.size(); i-- > 0;) {
    view.stride[i] = stride;
    stride *= view.shape[i];
  }
  return view;
}

/// True when all elements of a row (the trailing dimensions) are contiguous.
inline bool rows_are_flat(const TensorView& tensor) {
  std::int64_t expected = 1;
  for (auto i = static_cast<std::size_t>(tensor.rank); i-- > 1;) {
    if (tensor.shape[i] != 1 && tensor.stride[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// Elements of a row: the product of the trailing dimensions.
inline std::int64_t row_elements(const TensorView& tensor) {
  std::int64_t count = 1;
  for (int i = 1; i < tensor.rank; ++i) count *= tensor.shape[static_cast<std::size_t>(i)];
  return count;
}

}  // namespace nsa
