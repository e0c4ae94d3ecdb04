// What moved data between GPUs: how fast, and who was waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nsa::trace {

/// Collectives of one kind and size in one group. Of a collective with several ranks recorded, its
/// transfer is the shortest time that a rank spent in it (the last to come waits for nobody); what
/// the others spent beyond that they waited.
struct CollectiveRow {
  std::string collective;  // all_reduce, all_gather, ..., send_recv, other
  std::string transport;   // nccl, symmetric_memory, custom, nvshmem, deep_ep, copy, gloo, ...
  std::string group;       // the program's name of the process group; empty: not recorded
  std::string dtype;
  std::optional<std::int64_t> group_size, bytes;  // size of the message as nccl-tests define it
  std::int64_t count = 0;
  std::int64_t matched = 0;                        // of them with several ranks recorded
  std::int64_t complete = 0;                       // of these with all of their group, as far as
                                                   // its size is known
  std::int64_t total_ns = 0;                       // in them, of all devices together
  std::optional<std::int64_t> wait_ns;             // of it for others; absent: none is matched
  std::optional<std::int64_t> median_transfer_ns;  // of those that are matched
  std::int64_t median_ns = 0;                      // of one device in one of them, with waiting
  std::optional<std::int64_t> median_spread_ns, worst_spread_ns;  // first to last arrival
  /// By transfers; of unmatched ones by all their time, which then is a lower bound. 1 GB = 1e9 B.
  std::optional<double> median_algorithm_gb_per_s, median_bus_gb_per_s, best_bus_gb_per_s;

  /// The rank that came last may be missing in all of them: waiting and rates are lower bounds, and
  /// a transfer is an upper one.
  bool bounds() const { return complete == 0; }
};

/// Who came last to a collective.
struct Straggler {
  std::uint32_t part = 0;
  std::int32_t device = 0;
  std::optional<std::int64_t> rank{};
};

/// One collective in which much was waited.
struct CollectiveCall {
  std::string collective{}, group{};
  std::optional<std::int64_t> bytes{};
  std::int64_t start_ns = 0;  // of the first to come
  std::int64_t ranks = 0;
  std::int64_t transfer_ns = 0, wait_ns = 0, spread_ns = 0;
  Straggler last{};
};

/// What a rank did in collectives that several ranks recorded.
struct StragglerRow {
  std::uint32_t part = 0;
  std::int32_t device = 0;
  std::optional<std::int64_t> rank;
  std::int64_t collectives = 0, last = 0;  // in how many it was the last to come
  std::int64_t late_ns = 0;                // then after the last but one, added up
  std::int64_t wait_ns = 0;                // it waited for others
  std::int64_t comm_ns = 0;                // in all of them
};

struct Collectives {
  std::vector<CollectiveRow> rows;            // largest total first
  std::vector<CollectiveCall> longest_waits;  // longest first
  std::vector<StragglerRow> ranks;            // latest first
  std::int64_t unmatched = 0;                 // of groups of several recorded ranks
  /// What arrivals are taken by: "starts" on one time line, "durations" where clocks are not
  /// comparable (a collective ends everywhere at once); absent where nothing is matched.
  std::optional<std::string> arrivals;
};

}  // namespace nsa::trace
