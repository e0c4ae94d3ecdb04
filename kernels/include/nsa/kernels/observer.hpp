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

}  // namespace nsa
