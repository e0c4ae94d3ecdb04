// A launch that copies what rows selected and attends to the copies, for the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attend_selected/cuda/packed_rows/packed_row.hpp"
#include "cuda/flash/attend_params.hpp"

namespace nsa::cuda {

/// One launch: its parameters, and the packed copies that it works on.
class PackedLaunch {
 public:
  explicit PackedLaunch(const LaunchArgs& args);

  const AttendParams& params() const { return p_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t bound() const { return bound_; }

  /// Room for the copies of `keys` keys, or for as many as the caller reserved.
  void take_copies(std::int64_t keys, std::int64_t reserved);
  PackedRow* take_list(std::int64_t rows);
  /// Where key `key` of the copies lies.
  void* k_at(std::int64_t key) const { return at(k_, key * p_.dk); }
  void* v_at(std::int64_t key) const { return at(v_, key * p_.dv); }

  void upload(PackedRow* list, const std::vector<PackedRow>& from) const;
  void pack(const PackedRow* list, std::int64_t count) const;
  void attend(const PackedRow* list, std::int64_t count) const;

 private:
  void* at(void* copies, std::int64_t elements) const {
    return static_cast<std::byte*>(copies) + static_cast<std::size_t>(elements) * element_;
  }

  const LaunchArgs& args_;
  AttendParams p_;
  std::int64_t rows_, bound_;
  std::size_t element_;
  void *k_ = nullptr, *v_ = nullptr;  // [keys, dk], [keys, dv]
};

}  // namespace nsa::cuda
