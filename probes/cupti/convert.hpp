// CUPTI's records as records of the spool, which both the session inside of a program and the
// injected tracer keep.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cupti/api.hpp"
#include "nsa/schemas/trace_spool.hpp"

namespace nsa::probes::cupti {

inline std::int64_t ns(std::uint64_t time) { return static_cast<std::int64_t>(time); }

/// Where records go. Calls come one at a time, from any thread.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// Number of a text, the same for equal texts; 0 for the empty one.
  virtual std::uint32_t text(std::string_view text) = 0;
  /// A whole record.
  virtual void append(const void* record, std::uint32_t bytes) = 0;
};

template <class Record>
void append(RecordSink& sink, const Record& record) {
  sink.append(&record, sizeof record);
}

/// What belongs to a recording; the rest is counted as outside and left out. Correlation ids grow
/// with each call of the API.
struct Keep {
  std::int64_t from_ns = 0;  // by the start of the operation or call
  std::int64_t calls_until_ns = std::numeric_limits<std::int64_t>::max();
  std::uint32_t first_correlation = 0;
  std::uint32_t end_correlation = std::numeric_limits<std::uint32_t>::max();
};

/// A set of numbers that grow: a bit each.
class BitSet {
 public:
  bool contains(std::uint32_t number) const {
    return number / 64 < words_.size() && (words_[number / 64] >> number % 64 & 1) != 0;
  }
  /// False when it was there already.
  bool insert(std::uint32_t number) {
    if (words_.size() <= number / 64) words_.resize(number / 64 + 1024);
    std::uint64_t& word = words_[number / 64];
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// Not thread-safe: its owner calls it under a lock.
class Converter {
 public:
  explicit Converter(const Api& api) : api_(api) {}

  /// All records of a buffer that are to be kept, to the sink.
  void convert(std::uint8_t* buffer, std::size_t valid_bytes, const Keep& keep, RecordSink& sink);
  /// Counts since the start; dropped and lost are left to the owner. A launch that became a node of
  /// a graph instead of running is none.
  spool::SpoolTotals totals() const;
  /// The latest end of an operation of the GPU, and the name of the latest kernel that has none.
  std::int64_t last_end_ns() const noexcept { return last_end_ns_; }
  std::uint32_t unfinished_kernel() const noexcept { return unfinished_kernel_; }
  /// Operations that came without an end.
  std::uint32_t unfinished() const noexcept { return unfinished_; }

 private:
  struct Call {
    std::uint32_t text = 0;
    bool known = false, kernel = false, graph = false, begins_capture = false, ends_capture = false;
  };

  void put(const CUpti_Activity* record, const Keep& keep, RecordSink& sink);
  void put(const CUpti_ActivityKernel10& k, const Keep& keep, RecordSink& sink);
  void put(const CUpti_ActivityMemcpy6& c, const Keep& keep, RecordSink& sink);
  void put(const CUpti_ActivityMemcpyPtoP4& c, const Keep& keep, RecordSink& sink);
  void put(const CUpti_ActivityMemset4& s, const Keep& keep, RecordSink& sink);
  void put(const CUpti_ActivityAPI& a, const Keep& keep, RecordSink& sink);
  void put(const CUpti_ActivitySynchronization2& s, const Keep& keep, RecordSink& sink);
  void put(const CUpti_ActivityCudaEvent2& e, RecordSink& sink);
  void put(const CUpti_ActivityMarker2& m, const Keep& keep, RecordSink& sink);
  void put(const CUpti_ActivityMemory4& m, RecordSink& sink);
  void put(const CUpti_ActivityOverhead3& o, RecordSink& sink);
  void put(const CUpti_ActivityDevice5& d, RecordSink& sink);
  /// Whether an operation belongs to the record; counts it and remembers its end.
  template <class Record>
  bool keeps(const Record& record, const Keep& keep, std::uint64_t& counter);
  const Call& call(CUpti_CallbackDomain domain, CUpti_CallbackId id, RecordSink& sink);
  void count_launch(const CUpti_ActivityAPI& a);
  void count_ran(std::uint32_t correlation);
  void see_capture(const CUpti_ActivityAPI& a, bool begins);

  const Api& api_;
  std::array<std::vector<Call>, 2> calls_;                   // runtime, driver; by number
  BitSet launched_, ran_;                                    // by correlation id
  std::unordered_map<std::uint32_t, std::int64_t> pending_;  // launched, not seen to run: when
  struct Capture {
    std::uint32_t thread;
    std::int64_t from_ns, until_ns;
  };
  std::vector<Capture> captures_;
  std::unordered_map<std::uint32_t, std::int64_t> allocated_;  // bytes, by device
  spool::SpoolTotals totals_;
  std::int64_t last_end_ns_ = 0;
  std::uint32_t unfinished_kernel_ = 0, unfinished_ = 0;
};

}  // namespace nsa::probes::cupti
