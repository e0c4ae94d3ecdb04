// The worker protocol: one JSON document a line on stdin (requests) and stdout (replies).
// schemas/json/worker_request.schema.json and worker_reply.schema.json are its public form. Values
// are plain: threads may share one that none of them changes. Functions share nothing: threads may
// call them at the same time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/launch_counters.hpp"
#include "nsa/schemas/launch_trace.hpp"
#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/variant.hpp"

namespace nsa::worker {

inline constexpr int kProtocol = 1;

struct HelloRequest {
  int protocol = kProtocol;
  std::string device = "cpu";
};
struct DescribeRequest {
  std::int64_t id = 0;
  Problem problem;
  VariantId variant;
};
struct PrepareRequest {
  std::int64_t id = 0;
  Problem problem;
  VariantId variant;
  std::uint64_t seed = 0;
  std::optional<std::string> inputs;  // safetensors file for workers without the generator
};
struct VerifyRequest {
  std::int64_t id = 0;
  std::int64_t handle = 0;
  std::optional<std::vector<std::int64_t>> rows;  // rows of the outputs to write; none = all
  std::string outputs;                            // safetensors file to write
};
struct MeasureRequest {
  std::int64_t id = 0;
  std::int64_t handle = 0;
  std::int64_t samples = 20;
  bool cold = true;
  LaunchMode launch = LaunchMode::eager;
  Timer timer = Timer::events;
};
/// Comes after all timed samples of a process: a process that was traced is no longer a fresh one.
struct TraceRequest {
  std::int64_t id = 0;
  std::int64_t handle = 0;
  LaunchMode launch = LaunchMode::eager;
  std::int64_t samples = 5;  // launches that both timers time, to be compared; 0 = none
};
/// Comes after all timed samples of a process, and after all traces: see docs/tracer.md.
struct CountRequest {
  std::int64_t id = 0;
  std::int64_t handle = 0;
  LaunchMode launch = LaunchMode::eager;
  bool cold = true;  // empty the caches before the launch
};
struct ReleaseRequest {
  std::int64_t id = 0;
  std::int64_t handle = 0;
};
struct ByeRequest {};
using Request =
    std::variant<HelloRequest, DescribeRequest, PrepareRequest, VerifyRequest, MeasureRequest,
                 TraceRequest, CountRequest, ReleaseRequest, ByeRequest>;

/// How the work of a variant grows in each axis: {"seq_len", 2} for its square.
using Orders = std::map<std::string, double>;

/// A variant that a worker brings.
struct OfferedVariant {
  std::vector<std::string> stages;
  std::string name;
  std::vector<Point> points;  // at least one; a variant without coordinates has one empty point
  std::string source_hash;
  Orders order = {};  // empty: nothing is said of it
  Direction direction = Direction::forward;
};
struct HelloReply {
  int protocol = kProtocol;
  std::string worker;    // "nsatune 0.1.0"
  std::string executor;  // "nsatune"
  bool generator = false;
  bool verifies = true;
  Device device;
  std::vector<OfferedVariant> variants;
  bool simulated = false;  // its clock is virtual: its times are not held against ours
};
struct DescribedReply {
  std::int64_t id = 0;
  bool supported = false;
  std::string reason;
  double flop = 0, bytes = 0;
  std::int64_t workspace_bytes = 0;
};
struct PreparedReply {
  std::int64_t id = 0;
  std::int64_t handle = 0;
  std::int64_t first_call_ns = 0;
  std::int64_t workspace_bytes = 0;
};
struct VerifiedReply {
  std::int64_t id = 0;
  std::int64_t poison_left = 0;  // output elements that still hold the poison
  std::int64_t non_finite = 0;
  std::optional<double> worst_row_error;  // only from workers with the oracle
};
struct MeasuredReply {
  std::int64_t id = 0;
  std::vector<Sample> samples;
  ClockReading clocks;                      // optional in JSON
  std::optional<std::int64_t> grow_events;  // of the workspace since prepare; optional in JSON
  std::optional<ReserveNeed> need;          // optional in JSON
  std::string note;                         // on the samples; left out when empty
};
struct TracedReply {
  std::int64_t id = 0;
  LaunchTrace trace;
};
struct CountedReply {
  std::int64_t id = 0;
  LaunchCounters counters;
};
struct ReleasedReply {
  std::int64_t id = 0;
};
struct FailedReply {
  std::int64_t id = 0;
  Outcome status = Outcome::crashed;
  std::string reason;
};
using Reply = std::variant<HelloReply, DescribedReply, PreparedReply, VerifiedReply, MeasuredReply,
                           TracedReply, CountedReply, ReleasedReply, FailedReply>;

/// One line (without the newline) of the protocol.
std::string encode(const Request& request);
std::string encode(const Reply& reply);
/// Throws InputError with a JSON pointer on anything that breaks the schema.
Request decode_request(std::string_view line);
/// Likewise.
Reply decode_reply(std::string_view line);

}  // namespace nsa::worker
