#include "attend_selected/cuda/packed_rows/packed_launch.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "attend_selected/cuda/packed_rows/rows.hpp"
#include "attend_selected/cuda/rows/row_bound.hpp"
#include "cuda/launch/typed_kernels.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {
namespace {

constexpr TypedKernels kAttendListed{attend_listed_fp32, attend_listed_bf16, attend_listed_fp16};

}  // namespace

PackedLaunch::PackedLaunch(const LaunchArgs& args)
    : args_(args),
      p_(make_attend_params(args)),
      rows_(p_.tokens * p_.kv_heads),
      bound_(row_key_bound(args.problem)),
      element_(size_of(args.problem.dtype)) {}

void PackedLaunch::take_copies(std::int64_t keys, std::int64_t reserved) {
  const auto most = static_cast<std::size_t>(std::max({keys, reserved, std::int64_t{1}}));
  k_ = args_.workspace.take(most * static_cast<std::size_t>(p_.dk) * element_);
  v_ = args_.workspace.take(most * static_cast<std::size_t>(p_.dv) * element_);
}

PackedRow* PackedLaunch::take_list(std::int64_t rows) {
  return args_.workspace.take<PackedRow>(std::max<std::int64_t>(rows, 1)).data();
}

void PackedLaunch::upload(PackedRow* list, const std::vector<PackedRow>& from) const {
  NSA_CUDA(cudaMemcpyAsync(list, from.data(), from.size() * sizeof(PackedRow),
                           cudaMemcpyHostToDevice, args_.stream));
}

void PackedLaunch::pack(const PackedRow* list, std::int64_t count) const {
  pack_rows(p_, args_.problem.dtype, list, count, k_, v_, args_.stream);
}

void PackedLaunch::attend(const PackedRow* list, std::int64_t count) const {
  AttendParams packed = p_;
  const auto vectors = [&](int dim) { return static_cast<std::size_t>(dim) * element_ % 16 == 0; };
  packed.k = {k_, p_.dk, 0, vectors(p_.dk)};
  packed.v = {v_, p_.dv, 0, vectors(p_.dv)};
  kAttendListed.of(args_.problem.dtype)(packed, list, count, args_.stream);
}

}  // namespace nsa::cuda
