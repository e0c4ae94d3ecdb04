// Stages of the runtime as NVTX ranges, under the names that traces are read by.
#pragma once

#include "nsa/kernels/observer.hpp"
#include "nsa/probes/nvtx.hpp"

namespace nsa::cli {

class StageRanges : public Observer {
 public:
  void stage_begin(Stage stage, std::string_view, std::int64_t, CUstream_st*) override {
    probes::push_range(to_string(stage).data());  // a literal: it ends with a zero
  }
  void stage_end(Stage, CUstream_st*) override { probes::pop_range(); }
};

}  // namespace nsa::cli
