// `ranges_v1` on a GPU: the users' element loop. The host decides about every block id by itself
// and waits for the device to hand it over (their .item()), and writes every pair by itself.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "nsa/schemas/cuda_error.hpp"
#include "nsa/schemas/error.hpp"
#include "operands/select.hpp"

namespace nsa::ranges {
namespace {

struct Pair {
  std::int32_t begin, end;
};

std::int32_t read_element(const std::int32_t* element, cudaStream_t stream) {
  std::int32_t value = 0;
  NSA_CUDA(cudaMemcpyAsync(&value, element, sizeof value, cudaMemcpyDeviceToHost, stream));
  NSA_CUDA(cudaStreamSynchronize(stream));
  return value;
}

/// The pairs of one row, in the order in which they are found.
class RowWriter {
 public:
  RowWriter(std::int32_t* row, std::int64_t pair_stride, cudaStream_t stream)
      : row_(row), pair_stride_(pair_stride), stream_(stream) {}
  /// Starts a pair, or makes the one before longer where they touch.
  void add(Pair pair) {
    if (count_ > 0 && last_.end == pair.begin) {
      last_.end = pair.end;
    } else {
      flush();
      last_ = pair;
      ++count_;
    }
  }
  void flush() {
    if (count_ == 0) return;
    NSA_CUDA(cudaMemcpyAsync(row_ + (count_ - 1) * pair_stride_, &last_, sizeof last_,
                             cudaMemcpyHostToDevice, stream_));
  }

 private:
  std::int32_t* row_;
  std::int64_t pair_stride_;
  cudaStream_t stream_;
  Pair last_{0, 0};
  std::int64_t count_ = 0;
};

/// Rule [C]: skip what is unused, unknown, doubled or in the future; merge neighbours.
void convert_row(const Geometry& g, std::int64_t position, std::int64_t blocks_in_all,
                 const std::int32_t* blocks, std::int64_t block_stride, RowWriter& row,
                 cudaStream_t stream) {
  std::int64_t last_id = -1;
  for (std::int64_t i = 0; i < g.sel_count; ++i) {
    const std::int64_t id = read_element(blocks + i * block_stride, stream);
    if (id < 0 || id >= blocks_in_all || id == last_id) continue;
    const std::int64_t begin = id * g.sel_block;
    const std::int64_t end = std::min(begin + g.sel_block, position + 1);
    if (end <= begin) continue;
    last_id = id;
    row.add({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)});
  }
  row.flush();
}

void launch_v1(const LaunchArgs& args) {
  const auto [blocks, ranges] = RangesTensors::of(args);
  const Geometry& g = args.problem.geometry;
  for (const Sequence& s : args.sequences) {
    const std::int64_t blocks_in_all = num_blocks(s.kv_len, g);
    for (std::int64_t i = 0; i < s.q_len; ++i) {
      for (std::int64_t kv_head = 0; kv_head < args.problem.kv_heads; ++kv_head) {
        const std::int64_t token = s.q_begin + i;
        auto* row = ranges.as<std::int32_t>() + ranges.at(token, kv_head);
        NSA_CUDA(cudaMemset2DAsync(
            row, static_cast<std::size_t>(ranges.stride[2]) * sizeof(std::int32_t), 0, sizeof(Pair),
            static_cast<std::size_t>(g.sel_count), args.stream));
        RowWriter writer(row, ranges.stride[2], args.stream);
        convert_row(g, s.first_position() + i, blocks_in_all,
                    blocks.as<const std::int32_t>() + blocks.at(token, kv_head), blocks.stride[2],
                    writer, args.stream);
      }
    }
  }
}

}  // namespace

extern constinit const LaunchFunction kCudaRangesV1 = launch_v1;

}  // namespace nsa::ranges
