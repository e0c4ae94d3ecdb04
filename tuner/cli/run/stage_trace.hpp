// When each stage of the runtime began and ended, as the launching thread sees it. On a CPU a
// launch returns when it is done, so that these are the times of the stages.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "nsa/schemas/json.hpp"
#include "stage_ranges.hpp"

namespace nsa::cli {

class StageTrace final : public StageRanges {
 public:
  explicit StageTrace(bool records) : records_(records) {}
  void stage_begin(Stage stage, std::string_view variant, std::int64_t seq_len,
                   CUstream_st* stream) override;
  void stage_end(Stage stage, CUstream_st* stream) override;
  /// Chrome's trace format: a complete event ("X") for each stage, nested as they ran.
  Json chrome_json() const;

 private:
  struct Event {
    Stage stage;
    std::string variant;
    std::int64_t seq_len, begin_ns, end_ns;
  };
  std::int64_t now_ns() const;

  bool records_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<Event> events_;
  std::vector<std::size_t> open_;  // of events_, the innermost last
};

}  // namespace nsa::cli
