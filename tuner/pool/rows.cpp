#include "pool/rows.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "nsa/schemas/json.hpp"
#include "nsa/schemas/median.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/tuner/observations.hpp"
#include "pool/account.hpp"
#include "pool/outlook.hpp"

namespace nsa::tuner {

RowWriter::RowWriter(const SweepInput& input, Sink& sink, SweepReport& report)
    : input_(input),
      sink_(sink),
      report_(report),
      timer_(timer_of(input.spec.policy, input.device)) {}

/// What belongs to a variant on a problem, whatever was seen of it.
template <class Row>
Row RowWriter::row_of(const Problem& problem, const Candidate& candidate) const {
  Row row;
  row.run_id = input_.run_id;
  row.executor = candidate.executor;
  row.placement = {{input_.host, device_of(input_, candidate).uuid}};
  row.problem = problem;
  row.variant = candidate.id;
  row.source_hash = candidate.source_hash;
  row.launch = input_.spec.policy.launch;
  return row;
}

Measurement RowWriter::blank(const Problem& problem, const Candidate& candidate,
                             const Cost& cost) const {
  auto row = row_of<Measurement>(problem, candidate);
  row.timer = timer_;
  row.cold = input_.spec.policy.cold;
  row.cost = cost;
  return row;
}

void RowWriter::commit_soon(Measurement row) {
  flush();
  row.measured_at = now_iso8601();
  waiting_ = std::move(row);
  if (input_.device.backend == Backend::cuda) return;
  const Account account(report_.breakdown.store_s);
  flush();
}

void RowWriter::flush() {
  if (!waiting_) return;
  Measurement row = std::move(*waiting_);
  waiting_.reset();
  put(std::move(row));
}

void RowWriter::commit(Measurement row) {
  const Account account(report_.breakdown.store_s);
  flush();
  row.measured_at = now_iso8601();
  put(std::move(row));
}

void RowWriter::put(Measurement row) {
  row.id = make_uuid();
  if (!sink_.add(row)) return;
  ++report_.rows;
  const bool has_none = row.outcome == Outcome::unsupported || row.outcome == Outcome::not_built;
  const bool noisy = row.outcome == Outcome::noisy;
  const bool too_slow =
      has_none && (row.reason.starts_with(kLeftOut) || row.reason.starts_with(kContestLeftOut));
  report_.unsupported += has_none && !too_slow;
  report_.too_slow += too_slow;
  report_.noisy += noisy;
  report_.failures +=
      !has_none && !noisy &&
      (row.outcome != Outcome::ok || row.verification == Verification::wrong_result);
}

void RowWriter::commit(const Problem& problem, const Candidate& candidate, LaunchTrace trace,
                       LaunchMode launch) {
  flush();
  auto row = row_of<LaunchTraceRow>(problem, candidate);
  row.launch = launch;
  row.id = make_uuid();
  row.traced_at = now_iso8601();
  row.trace = std::move(trace);
  sink_.add_trace(row);
}

void RowWriter::commit(const Problem& problem, const Candidate& candidate, LaunchCounters counters,
                       Outcome outcome, const std::string& reason, LaunchMode launch) {
  flush();
  auto row = row_of<LaunchCountersRow>(problem, candidate);
  row.launch = launch;
  row.id = make_uuid();
  row.cold = input_.spec.policy.cold;
  row.outcome = outcome;
  row.reason = reason;
  row.counted_at = now_iso8601();
  row.counters = std::move(counters);
  sink_.add_counters(row);
}

void RowWriter::commit(const Problem& problem, const Candidate& candidate,
                       const Agreement& agreement) {
  flush();
  auto row = row_of<AgreementRow>(problem, candidate);
  row.id = make_uuid();
  row.checked_at = now_iso8601();
  row.agreement = agreement;
  sink_.add_agreement(row);
}

void RowWriter::commit_failure(Measurement row, const Candidate& candidate, Outcome outcome,
                               const std::string& reason) {
  row.job_key =
      failure_key(row.problem, candidate, with_launch(input_.spec.policy, row.launch), timer_);
  row.outcome = outcome;
  row.reason = reason;
  commit(std::move(row));
}

void take_samples(Measurement& row, worker::MeasuredReply reply) {
  std::vector<double> times;
  for (const Sample& sample : reply.samples) times.push_back(static_cast<double>(sample.device_ns));
  row.samples_n = static_cast<std::int64_t>(times.size());
  row.median_ns = median(times);
  for (double& time : times) time = std::abs(time - *row.median_ns);
  row.mad_ns = median(times);
  row.clocks = std::move(reply.clocks);
  row.grow_events = reply.grow_events;
  row.need = reply.need;
  row.note = std::move(reply.note);
  row.samples = std::move(reply.samples);
}

namespace {

/// What is wrong with one sample by itself.
std::optional<std::string> lie_of(const Sample& sample, Backend backend) {
  // The host's clock runs from before the launch to after it. On a CPU it is the only one; two
  // clocks that both are right differ in their rates and in how finely they tell short times.
  const double most_ratio = backend == Backend::cpu ? 1 : 1.1;
  const auto device_ns = static_cast<double>(sample.device_ns);
  if (sample.device_ns <= 0 || sample.host_ns < 0)
    return fmt::format("took {} ns on the device and {} ns on the host", sample.device_ns,
                       sample.host_ns);
  if (sample.host_ns > 0 && device_ns > most_ratio * static_cast<double>(sample.host_ns))
    return fmt::format("took {} ns on the device, but only {} ns on the host that waited for it",
                       sample.device_ns, sample.host_ns);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_lie(const worker::MeasuredReply& reply, std::int64_t asked,
                                    const Believable& believable) {
  constexpr double kWallRatio = 2, kWallS = 0.25;  // scheduling, and clocks that are adjusted
  if (static_cast<std::int64_t>(reply.samples.size()) != asked)
    return fmt::format("{} {} asked for, {} came", counted(asked, "sample"),
                       asked == 1 ? "was" : "were", reply.samples.size());
  std::vector<double> times;
  for (std::size_t i = 0; i < reply.samples.size(); ++i) {
    if (const auto lie = lie_of(reply.samples[i], believable.backend))
      return fmt::format("sample {} {}", i, *lie);
    times.push_back(static_cast<double>(reply.samples[i].device_ns));
  }
  const double sum_s = 1e-9 * std::accumulate(times.begin(), times.end(), 0.0);
  if (believable.wall_s && sum_s > kWallRatio * *believable.wall_s + kWallS)
    return fmt::format("the samples took {:.3g} s, but the request only {:.3g} s", sum_s,
                       *believable.wall_s);
  const double median_ns = median(std::move(times));
  if (median_ns < believable.least_ns)
    return fmt::format("{:.3g} ns is less than any memory or arithmetic unit needs ({:.3g} ns)",
                       median_ns, believable.least_ns);
  return std::nullopt;
}

}  // namespace nsa::tuner
