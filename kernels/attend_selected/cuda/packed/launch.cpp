// `packed` on a GPU: rows of equal length are copied together and attended to together.
#include <cuda_runtime_api.h>

#include <map>
#include <vector>

#include "attend_selected/cuda/packed_rows/packed_launch.hpp"
#include "attend_selected/cuda/packed_rows/plan.hpp"
#include "attend_selected/cuda/packed_rows/rows.hpp"
#include "cuda/launch/coordinate.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {
namespace {

template <class T>
void read_back(T* to, const T* from, std::size_t count, cudaStream_t stream) {
  NSA_CUDA(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
  NSA_CUDA(cudaStreamSynchronize(stream));
}

/// Rows of each length, by a wait for the device.
std::map<int, std::vector<int>> buckets_of(const PackedLaunch& launch, const LaunchArgs& args) {
  const WorkspaceScope scratch(args.workspace);
  auto* lengths = args.workspace.take<std::int32_t>(launch.rows()).data();
  measure_rows(launch.params(), lengths, args.stream);
  std::vector<std::int32_t> host(static_cast<std::size_t>(launch.rows()));
  read_back(host.data(), lengths, host.size(), args.stream);
  std::map<int, std::vector<int>> buckets;
  for (std::size_t row = 0; row < host.size(); ++row) {
    expects(host[row] <= launch.bound(), "ranges of n l' keys or less");
    buckets[host[row]].push_back(static_cast<int>(row));
  }
  return buckets;
}

/// A list of rows of one length.
std::vector<PackedRow> list_of(const std::vector<int>& bucket, std::int64_t first,
                               std::int64_t count, int length) {
  std::vector<PackedRow> list;
  for (std::int64_t i = 0; i < count; ++i)
    list.push_back({i * length, bucket[static_cast<std::size_t>(first + i)], length});
  return list;
}

/// Lengths are read back, the host puts rows of equal length into buckets, and each bucket is a
/// copy and an attention of its own.
void attend_packed(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  PackedLaunch launch(args);
  const auto buckets = buckets_of(launch, args);
  std::int64_t most_keys = 0, most_rows = 0;
  for (const auto& [length, bucket] : buckets) {
    const auto rows = std::min<std::int64_t>(static_cast<std::int64_t>(bucket.size()),
                                             packed_rows_at_once(args.problem, length));
    args.workspace.note_need({.sel_pack_n = rows, .sel_pack_l = length});
    most_keys = std::max(most_keys, rows * length);
    most_rows = std::max(most_rows, rows);
  }
  const std::int64_t reserved_rows = coordinate(args, kReserveRows, 0);
  launch.take_copies(most_keys, reserved_rows * launch.bound());
  PackedRow* list = launch.take_list(std::max(most_rows, reserved_rows));
  for (const auto& [length, bucket] : buckets) {
    const auto size = static_cast<std::int64_t>(bucket.size());
    const std::int64_t chunk = packed_rows_at_once(args.problem, length);
    for (std::int64_t first = 0; first < size; first += chunk) {
      const std::int64_t count = std::min(chunk, size - first);
      launch.upload(list, list_of(bucket, first, count, length));
      launch.pack(list, count);
      launch.attend(list, count);
    }
  }
}

}  // namespace
}  // namespace nsa::cuda

namespace nsa::attend_selected {

extern constinit const LaunchFunction kCudaPacked = cuda::attend_packed;

}  // namespace nsa::attend_selected
