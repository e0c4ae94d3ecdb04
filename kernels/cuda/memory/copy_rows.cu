// Copies between strided tensors [rows, heads, dim]. As many as 32 ride in the parameters of one
// launch, for a small copy costs less than a launch. A thread moves one unit, the largest power of
// two up to 16 bytes that divides all strides and addresses.
#include <algorithm>
#include <vector>

#include "cuda/launch/launch.cuh"
#include "cuda/memory/copy_rows.hpp"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::size_t kAtOnce = 32;

/// One copy in units of 1, 2, 4, 8 or 16 bytes.
struct Job {
  const char* from;
  char* to;
  std::int64_t from_row, from_head, to_row, to_head;  // strides in bytes
  unsigned units;  // in all: 32 bits, for a division takes ten times as long in 64
  int unit_bytes, heads, units_per_head;
  int first_block;  // of this job in the grid
};
struct Jobs {
  Job job[kAtOnce];
  int count;
};
static_assert(sizeof(Jobs) <= 4000, "the parameters of a kernel");

template <class Unit>
__device__ void move_unit(char* to, const char* from) {
  *reinterpret_cast<Unit*>(to) = *reinterpret_cast<const Unit*>(from);
}

__global__ void __launch_bounds__(kThreads) copy_kernel(const __grid_constant__ Jobs jobs) {
  int j = 0;
  while (j + 1 < jobs.count && static_cast<int>(blockIdx.x) >= jobs.job[j + 1].first_block) ++j;
  const Job& job = jobs.job[j];
  const unsigned i = (blockIdx.x - static_cast<unsigned>(job.first_block)) * kThreads + threadIdx.x;
  if (i >= job.units) return;
  const unsigned head_units = static_cast<unsigned>(job.units_per_head);
  const unsigned row_units = static_cast<unsigned>(job.heads) * head_units;
  const std::int64_t row = i / row_units, head = i % row_units / head_units;
  const std::int64_t byte = std::int64_t{i % head_units} * job.unit_bytes;
  const char* from = job.from + row * job.from_row + head * job.from_head + byte;
  char* to = job.to + row * job.to_row + head * job.to_head + byte;
  switch (job.unit_bytes) {
    case 16:
      return move_unit<uint4>(to, from);
    case 8:
      return move_unit<uint2>(to, from);
    case 4:
      return move_unit<std::uint32_t>(to, from);
    case 2:
      return move_unit<std::uint16_t>(to, from);
    default:
      return move_unit<std::uint8_t>(to, from);
  }
}

Job make_job(const TensorCopy& copy) {
  const TensorView &from = copy.from, &to = copy.to;
  expects(from.rank == 3 && to.rank == 3 && from.shape == to.shape && from.dtype == to.dtype &&
              from.rows_contiguous() && to.rows_contiguous(),
          "two tensors [rows, heads, dim] of one shape and dtype");
  const auto element = static_cast<std::int64_t>(size_of(from.dtype));
  Job job{};
  job.from = from.as<const char>();
  job.to = to.as<char>();
  job.from_row = from.stride[0] * element;
  job.from_head = from.stride[1] * element;
  job.to_row = to.stride[0] * element;
  job.to_head = to.stride[1] * element;
  const std::int64_t head_bytes = from.shape[2] * element;
  const auto bits = reinterpret_cast<std::uintptr_t>(job.from) |
                    reinterpret_cast<std::uintptr_t>(job.to) |
                    static_cast<std::uintptr_t>(job.from_row | job.from_head | job.to_row |
                                                job.to_head | head_bytes | 16);
  job.unit_bytes = static_cast<int>(bits & (~bits + 1));  // the largest that divides all of them
  job.heads = static_cast<int>(from.shape[1]);
  job.units_per_head = static_cast<int>(head_bytes / job.unit_bytes);
  const std::int64_t units = from.shape[0] * job.heads * job.units_per_head;
  expects(units <= 0x7fffffff, "a copy of 2^31 pieces or less");
  job.units = static_cast<unsigned>(units);
  return job;
}

}  // namespace

void copy_tensors(std::span<const TensorCopy> copies, CUstream_st* stream) {
  Jobs jobs{};
  std::int64_t blocks = 0;
  const auto flush = [&] {
    launch(copy_kernel, blocks, kThreads, 0, stream, jobs);
    jobs.count = 0;
    blocks = 0;
  };
  for (const TensorCopy& copy : copies) {
    if (copy.from.elements() == 0) continue;
    Job job = make_job(copy);
    job.first_block = static_cast<int>(blocks);
    blocks += (job.units + kThreads - 1) / kThreads;
    jobs.job[jobs.count++] = job;
    if (jobs.count == static_cast<int>(kAtOnce)) flush();
  }
  flush();
}

}  // namespace nsa::cuda
