// What the tests on a device share: the device, tensors on it, one run of a variant.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"
#include "device_launch.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/oracle.hpp"
#include "nsa/kernels/stream.hpp"
#include "nsa/schemas/device.hpp"

namespace nsa::test {

/// Stages as rows of the table have them, and what tensors on a device are stored as.
inline constexpr std::array kSelected{Stage::attend_selected};
inline constexpr std::array kScored{Stage::attend_compressed, Stage::score};
inline constexpr std::array kDeviceTypes{Dtype::fp32, Dtype::bf16, Dtype::fp16};

/// The first CUDA device, made current; or nothing, and the reason is printed.
std::optional<Device> gpu_or_skip();

/// The CUDA row of that name; fails the test where the table has none.
const Variant& cuda_row(std::span<const Stage> stages, std::string_view name);
const Variant& cuda_row(Stage stage, std::string_view name);

/// The CUDA rows that this build has and `wanted` takes, in the order of the table.
template <class Wanted>
std::vector<const Variant*> cuda_rows(Wanted wanted) {
  std::vector<const Variant*> rows;
  for (const Variant& row : catalog())
    if (row.backend == Backend::cuda && row.launch && wanted(row)) rows.push_back(&row);
  return rows;
}

/// The device where it runs the row, which is built for compute capability 9.0 and has to run
/// there; else nothing, and the reason is printed.
std::optional<Device> hopper_or_skip(const Variant& row, const Problem& problem);

/// NSA_TEST_SANITIZED=1, as run_on_device.sh sets it: a sanitizer makes a launch take up to a
/// second, so every row runs on fewer problems, and its numbers, which the run before compared with
/// the CPU's oracle, are not compared again.
bool sanitized();

/// Device memory full of NaN. initcheck does not see what cuBLASLt writes, and reports every read
/// of it; here it reports none, and what a launch reads without having written it makes its numbers
/// NaN.
Allocator& nan_filled_memory();

using device::Stream;

/// A host tensor's copy on the device. `row_gap` elements are left between the rows of dimension 0
/// and `offset` elements before the first, so that strides and alignment can be tested.
class DeviceTensor {
 public:
  DeviceTensor(const HostTensor& host, CUstream_st* stream, std::int64_t row_gap = 0,
               std::int64_t offset = 0);
  const TensorView& view() const noexcept { return view_; }
  /// Its numbers, contiguous again.
  HostTensor download(CUstream_st* stream) const;

 private:
  device::Buffer buffer_;
  TensorView view_;
  std::string name_;
  TensorShape shape_;
};

std::vector<DeviceTensor> upload(const std::vector<HostTensor>& tensors, CUstream_st* stream,
                                 std::int64_t row_gap = 0, std::int64_t offset = 0);
std::vector<HostTensor> download(const std::vector<DeviceTensor>& tensors, CUstream_st* stream);
std::vector<TensorView> views(const std::vector<DeviceTensor>& tensors);
std::vector<TensorView> views(const std::vector<HostTensor>& tensors);

/// With a workspace of nan_filled_memory() where cuBLASLt writes to it.
class Launchable : public DeviceLaunch {
 public:
  Launchable(const Variant& variant, const Problem& problem, const std::vector<TensorView>& inputs,
             const std::vector<TensorView>& outputs, CUstream_st* stream, Saved* saved = nullptr,
             Point point = {});
};

/// Launches a Launchable, for timers and tracers.
inline void launch_it(void* launchable) { static_cast<Launchable*>(launchable)->launch(); }

/// What one launch of a variant writes, from host to host; tensors lie as `row_gap` and `offset` of
/// DeviceTensor say.
std::vector<HostTensor> produce(const Variant& variant, const Problem& problem,
                                const std::vector<HostTensor>& inputs, CUstream_st* stream,
                                Point point = {}, std::int64_t row_gap = 0,
                                std::int64_t offset = 0);
/// Checks what an oracle said of an output.
void check_verdict(const Oracle::Verdict& verdict, double tolerance);
/// Checks these rows of it, or all where none are named, with the CPU's oracle; not where a
/// sanitizer watches (sanitized()).
void check_with_oracle(const Variant& variant, const Problem& problem,
                       const std::vector<HostTensor>& inputs,
                       const std::vector<HostTensor>& produced,
                       std::span<const std::int64_t> rows = {});

/// produce(), and check_with_oracle() of all that it gives.
void check_launch(const Variant& variant, const Problem& problem,
                  const std::vector<HostTensor>& inputs, CUstream_st* stream, Point point = {},
                  std::int64_t row_gap = 0, std::int64_t offset = 0);
/// Checks that two launches wrote the same bits.
void check_same_bits(const std::vector<HostTensor>& one, const std::vector<HostTensor>& other);

/// What one forward launch of an attention branch writes, and the log-sum-exp that it saves,
/// [tokens, q_heads] fp32; `lse_gap` elements lie between the rows of that.
struct SavingRun {
  HostTensor o, lse;
};
SavingRun produce_saving(const Variant& variant, const Problem& problem,
                         const std::vector<DeviceTensor>& inputs, CUstream_st* stream,
                         Point point = {}, std::int64_t lse_gap = 0);
/// The log-sum-exp of an attention branch by the definition, in fp64: [tokens, q_heads].
std::vector<double> expected_lse(Stage stage, const Problem& problem,
                                 const std::vector<HostTensor>& inputs);
/// Checks each number of a log-sum-exp: infinite where it is to be, else at most `most` off.
void check_lse(const HostTensor& lse, const std::vector<double>& want, double most);

/// A problem for a test, with what most tests leave alone already set.
Problem small_problem(std::vector<std::int64_t> seq_lens, std::vector<std::int64_t> context_lens,
                      std::int64_t q_heads, std::int64_t kv_heads, std::int64_t dk, std::int64_t dv,
                      Dtype dtype);
/// Ranges of one row of [tokens, kv_heads], as pairs begin, end; the rest of the row is unused.
void set_ranges(HostTensor& ranges, const Problem& problem, std::int64_t row,
                const std::vector<std::int32_t>& pairs);
/// Inputs of attend_selected whose rows select nothing, ranges of negative length, ranges that
/// overlap, one key, or parts of blocks with a hole in the list. One sequence, n of 3 or more.
std::vector<HostTensor> odd_selected_inputs(const Problem& problem);
/// "S=[1,37] C=[0,0] H=4/2 D=16/16 l'=16 n=4 bf16", for messages.
std::string describe(const Problem& problem);

}  // namespace nsa::test
