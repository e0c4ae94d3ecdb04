// `packed`, `varlen_v1` and `varlen_v2` on a GPU: the users' ways to copy what a row selected and
// to attend to the copies.
#include <cuda_runtime_api.h>

#include <map>
#include <string_view>
#include <vector>

#include "attend_selected/cuda/packed/packed_row.hpp"
#include "attend_selected/cuda/packed/plan.hpp"
#include "attend_selected/cuda/packed/rows.hpp"
#include "attend_selected/cuda/rows/host_ranges.hpp"
#include "cuda/flash/attend_params.hpp"
#include "cuda/launch/coordinate.hpp"
#include "cuda/launch/typed_kernels.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {
namespace {

constexpr TypedKernels kAttendListed{attend_listed_fp32, attend_listed_bf16, attend_listed_fp16};

template <class T>
void read_back(T* to, const T* from, std::size_t count, cudaStream_t stream) {
  NSA_CUDA(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
  NSA_CUDA(cudaStreamSynchronize(stream));
}

/// One launch: its parameters, and the packed copies that it works on.
class PackedLaunch {
 public:
  explicit PackedLaunch(const LaunchArgs& args)
      : args_(args),
        p_(make_attend_params(args)),
        rows_(p_.tokens * p_.kv_heads),
        bound_(row_key_bound(args.problem)),
        element_(size_of(args.problem.dtype)) {}

  const AttendParams& params() const { return p_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t bound() const { return bound_; }

  /// Room for the copies of `keys` keys, or for as many as the caller reserved.
  void take_copies(std::int64_t keys, std::int64_t reserved) {
    const auto most = static_cast<std::size_t>(std::max({keys, reserved, std::int64_t{1}}));
    k_ = args_.workspace.take(most * static_cast<std::size_t>(p_.dk) * element_);
    v_ = args_.workspace.take(most * static_cast<std::size_t>(p_.dv) * element_);
  }
  PackedRow* take_list(std::int64_t rows) {
    return args_.workspace.take<PackedRow>(std::max<std::int64_t>(rows, 1)).data();
  }
  /// Where key `key` of the copies lies.
  void* k_at(std::int64_t key) const { return at(k_, key * p_.dk); }
  void* v_at(std::int64_t key) const { return at(v_, key * p_.dv); }

  void upload(PackedRow* list, const std::vector<PackedRow>& from) const {
    NSA_CUDA(cudaMemcpyAsync(list, from.data(), from.size() * sizeof(PackedRow),
                             cudaMemcpyHostToDevice, args_.stream));
  }
  void pack(const PackedRow* list, std::int64_t count) const {
    pack_rows(p_, args_.problem.dtype, list, count, k_, v_, args_.stream);
  }
  void attend(const PackedRow* list, std::int64_t count) const {
    AttendParams packed = p_;
    const auto vectors = [&](int dim) {
      return static_cast<std::size_t>(dim) * element_ % 16 == 0;
    };
    packed.k = {k_, p_.dk, 0, vectors(p_.dk)};
    packed.v = {v_, p_.dv, 0, vectors(p_.dv)};
    kAttendListed.of(args_.problem.dtype)(packed, list, count, args_.stream);
  }

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

/// A host loop over rows that waits for each row's ranges and copies them run by run, then one
/// attention by where rows begin.
void attend_varlen_v1(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  PackedLaunch launch(args);
  const AttendParams& p = launch.params();
  const std::int64_t chunk = packed_rows_at_once(args.problem, launch.bound());
  launch.take_copies(chunk * launch.bound(), 0);
  PackedRow* list = launch.take_list(chunk);
  std::vector<PackedRow> rows;
  std::int64_t keys = 0;
  const auto flush = [&] {
    if (rows.empty()) return;
    const auto count = static_cast<std::int64_t>(rows.size());
    args.workspace.note_need({.varlen_n = count, .varlen_k = keys});
    launch.upload(list, rows);
    launch.attend(list, count);
    rows.clear();
    keys = 0;
  };
  for (const Sequence& s : args.sequences) {
    for (std::int64_t token = s.q_begin; token < s.q_begin + s.q_len; ++token) {
      for (int kv_head = 0; kv_head < p.kv_heads; ++kv_head) {
        const auto ranges = read_ranges(p, token, kv_head, s.kv_len, args.stream);
        const int length = total_keys(ranges);
        expects(length <= launch.bound(), "ranges of n l' keys or less");
        copy_ranges(p, size_of(args.problem.dtype), s.kv_begin, kv_head, ranges, launch.k_at(keys),
                    launch.v_at(keys), args.stream);
        rows.push_back({keys, static_cast<int>(token * p.kv_heads + kv_head), length});
        keys += length;
        if (static_cast<std::int64_t>(rows.size()) == chunk) flush();
      }
    }
  }
  flush();
}

/// Lists and copies made by kernels, for as many keys as rows can have, so that nobody waits.
void attend_varlen_v2(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  PackedLaunch launch(args);
  const std::int64_t chunk = packed_rows_at_once(args.problem, launch.bound());
  auto* lengths = args.workspace.take<std::int32_t>(launch.rows()).data();
  PackedRow* list = launch.take_list(chunk);
  measure_rows(launch.params(), lengths, args.stream);
  for (std::int64_t first = 0; first < launch.rows(); first += chunk) {
    const WorkspaceScope copies(args.workspace);
    const std::int64_t count = std::min(chunk, launch.rows() - first);
    list_rows(lengths, first, count, launch.bound(), list, args.stream);
    const std::int64_t keys = count * launch.bound();  // at most: nobody waits to know it exactly
    args.workspace.note_need({.varlen_n = count, .varlen_k = keys});
    launch.take_copies(keys, coordinate(args, kReserveKeys, 0));
    launch.pack(list, count);
    launch.attend(list, count);
  }
}

}  // namespace
}  // namespace nsa::cuda

namespace nsa::attend_selected {

extern constinit const LaunchFunction kCudaPacked = cuda::attend_packed;
extern constinit const LaunchFunction kCudaVarlenV1 = cuda::attend_varlen_v1;
extern constinit const LaunchFunction kCudaVarlenV2 = cuda::attend_varlen_v2;

}  // namespace nsa::attend_selected
