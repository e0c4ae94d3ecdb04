// One launch on the current device, with all that LaunchArgs only borrows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/routing.hpp"

namespace nsa::test {

class DeviceLaunch {
 public:
  /// Tensors on the device. The workspace is of `memory`.
  DeviceLaunch(const Variant& row, Problem problem, std::vector<TensorView> in,
               std::vector<TensorView> out, CUstream_st* stream, Saved* saved = nullptr,
               Point point = {}, Allocator& memory = device::allocator())
      : row_(row),
        problem_(std::move(problem)),
        sequences_(sequences_of(problem_)),
        device_sequences_(sequences_.size() * sizeof(Sequence)),
        in_(std::move(in)),
        out_(std::move(out)),
        point_(std::move(point)),
        workspace_(memory),
        stream_(stream),
        saved_(saved) {
    device::copy_to_device(device_sequences_.data(), sequences_.data(), device_sequences_.bytes(),
                           stream);
    device::synchronize(stream);
  }

  /// `accumulate` as in LaunchArgs. The workspace grows in the first launches only.
  void launch(unsigned accumulate = 0) {
    workspace_.reset();
    fallback_reason_ = nullptr;
    row_.launch({.row = row_,
                 .problem = problem_,
                 .sequences = sequences_,
                 .device_sequences = static_cast<const Sequence*>(device_sequences_.data()),
                 .in = in_,
                 .out = out_,
                 .point = point_,
                 .options = options_,
                 .workspace = workspace_,
                 .stream = stream_,
                 .saved = saved_,
                 .fallback_reason = &fallback_reason_,
                 .router = &built_in_router(),
                 .accumulate = accumulate});
  }
  void set_options(const AttentionOptions& options) { options_ = options; }
  /// The most that launches took of the workspace so far.
  std::int64_t workspace_bytes() const {
    return static_cast<std::int64_t>(workspace_.peak_bytes());
  }
  /// Why the last launch ran another row's kernels or copied its tensors; empty where it did not.
  std::string fallback_reason() const { return fallback_reason_ ? fallback_reason_ : ""; }

 private:
  /// Of the current device, without a table.
  static const Router& built_in_router() {
    static const Router router(device::current());
    return router;
  }

  const Variant& row_;
  Problem problem_;
  std::vector<Sequence> sequences_;
  device::Buffer device_sequences_;
  std::vector<TensorView> in_, out_;
  Point point_;
  AttentionOptions options_;
  Workspace workspace_;
  CUstream_st* stream_;
  Saved* saved_;
  const char* fallback_reason_ = nullptr;
};

}  // namespace nsa::test
