// Ranges of a row as the host sees them, one at a time: what the slow paths wait for.
#pragma once

#include <cstdint>
#include <vector>

struct CUstream_st;

namespace nsa::cuda {

struct AttendParams;

/// Keys [begin, end) of a sequence by position.
struct HostRange {
  int begin, end;
};

/// The ranges of one row, read back: a copy and a wait. They ascend and do not overlap; empty ones
/// have begin == end.
std::vector<HostRange> read_ranges(const AttendParams& p, std::int64_t token, int kv_head,
                                   std::int64_t kv_len, CUstream_st* stream);
int total_keys(const std::vector<HostRange>& ranges);

/// Appends the rows of each range to packed copies k [keys, dk] and v [keys, dv], a copy each;
/// `first_row` of k and v is the sequence's first key.
void copy_ranges(const AttendParams& p, std::size_t element_bytes, std::int64_t first_row,
                 int kv_head, const std::vector<HostRange>& ranges, void* k, void* v,
                 CUstream_st* stream);

}  // namespace nsa::cuda
