// How the runtime announces its stages, without knowing who listens (NVTX, tracer, telemetry).
#pragma once

#include <cstdint>
#include <string_view>

#include "nsa/schemas/types.hpp"

struct CUstream_st;

namespace nsa {

/// Null object by default: all calls do nothing. Calls come from the launching thread, in order.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void stage_begin(Stage, std::string_view variant, std::int64_t seq_len, CUstream_st*) {
    (void)variant, (void)seq_len;
  }
  virtual void stage_end(Stage, CUstream_st*) {}
};

/// Stage as a scope.
class StageScope {
 public:
  StageScope(Observer* observer, Stage stage, std::string_view variant, std::int64_t seq_len,
             CUstream_st* stream)
      : observer_(observer), stage_(stage), stream_(stream) {
    if (observer_) observer_->stage_begin(stage, variant, seq_len, stream);
  }
  ~StageScope() {
    if (observer_) observer_->stage_end(stage_, stream_);
  }
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  Observer* observer_;
  Stage stage_;
  CUstream_st* stream_;
};

}  // namespace nsa
