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
  /// Before a stage or composite is launched: the row that runs it (of a layer "nsa" or "dense", of
  /// a model its configuration's name), the longest sequence in new tokens, and the stream (null:
  /// the default one, or a CPU). Calls nest: the stages of a layer are between its begin and end.
  virtual void stage_begin(Stage, std::string_view variant, std::int64_t seq_len, CUstream_st*) {
    (void)variant, (void)seq_len;
  }
  /// After its last launch, also where an exception ends it: must not throw.
  virtual void stage_end(Stage, CUstream_st*) {}
};

}  // namespace nsa
