#include "nsa/tuner/side_by_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "nsa/schemas/median.hpp"
#include "pool/checks/noise.hpp"
#include "pool/checks/output_check.hpp"
#include "pool/rows.hpp"
#include "pool/workers/device_lock.hpp"
#include "pool/workers/scratch_folder.hpp"
#include "process/worker_client.hpp"

namespace nsa::tuner {
namespace {

/// Of one process, as a night's replicate is the median of some visits.
constexpr int kVisits = 3;

bool brings(const worker::HelloReply& hello, const VariantId& id) {
  return std::ranges::any_of(hello.variants, [&](const worker::OfferedVariant& offered) {
    return offered.stages == id.stages && offered.name == id.name &&
           std::ranges::find(offered.points, id.point) != offered.points.end();
  });
}

template <class Reply>
FreshTime failed(const Answer<Reply>& answer) {
  FreshTime time;
  time.stopped = answer.interrupted;
  time.failure = fmt::format("{}: {}", to_string(answer.outcome), answer.reason);
  return time;
}

FreshTime failed(const std::string& why) {
  FreshTime time;
  time.failure = why;
  return time;
}

FreshTime visit(WorkerClient& client, Backend backend, std::int64_t handle, const FreshJob& job,
                std::vector<double>& medians) {
  worker::MeasureRequest request;
  request.handle = handle;
  request.samples = job.samples;
  request.cold = job.cold;
  request.launch = job.launch;
  request.timer = job.timer;
  const TimePoint start = Clock::now();
  auto answer = client.ask(request, "measuring " + to_string(job.variant), job.deadline_s);
  if (!answer) return failed(answer);
  const auto wall_s = client.hello().simulated ? std::nullopt : std::optional(seconds_since(start));
  if (const auto lie = find_lie(*answer.reply, job.samples, {0, wall_s, backend}))
    return failed(*lie);
  Measurement row;
  take_samples(row, std::move(*answer.reply));
  FreshTime time;
  if (const std::string reason = throttled_by(row.clocks); !reason.empty()) {
    time.failure = "throttled: " + reason;
    time.noisy = true;
  }
  medians.push_back(*row.median_ns);
  return time;
}

FreshTime measure_in(WorkerClient& client, const Device& device, const FreshJob& job) {
  const auto hello = client.start(device.id, job.deadline_s);
  if (!hello) return failed(hello);
  if (!brings(*hello.reply, job.variant))
    return failed(
        fmt::format("{} does not bring {}", one_line(hello.reply->worker), to_string(job.variant)));
  const ScratchFolder folder;
  OutputCheck inputs(job.variant.stages, job.problem, job.seed, 1, folder.path());
  worker::PrepareRequest request;
  request.problem = job.problem;
  request.variant = job.variant;
  request.seed = job.seed;
  if (!hello.reply->generator) request.inputs = inputs.inputs_file();
  const auto prepared = client.ask(request, "preparing " + to_string(job.variant), job.deadline_s);
  if (!prepared) return failed(prepared);
  std::vector<double> medians;
  for (int i = 0; i < kVisits; ++i) {
    FreshTime time = visit(client, device.backend, prepared.reply->handle, job, medians);
    if (!time.failure.empty()) return time;
  }
  client.finish();
  FreshTime time;
  time.median_ns = median(std::move(medians));
  return time;
}

struct Pair {
  double old_ns = 0, new_ns = 0;
  std::string failure;  // not empty: no times
  bool noisy = false, stopped = false;
  double waited_s = 0;  // for the device
};

/// One process of each build, one after the other.
Pair measure_pair(const FreshJob& job, const SideBySide& builds, bool old_first,
                  std::optional<double> budget_s, Reporter& reporter) {
  const DeviceTurn turn(builds.device, builds.stop, reporter, builds.share);
  Pair pair;
  pair.waited_s = turn.waited_s();
  pair.stopped = !turn.held();
  for (const bool is_old : {old_first, !old_first}) {
    if (pair.stopped || !pair.failure.empty()) break;
    const WorkerCommand& build = is_old ? builds.old_build : builds.new_build;
    const FreshTime time = measure_fresh(build, builds.device, job, builds.stop, budget_s);
    (is_old ? pair.old_ns : pair.new_ns) = time.median_ns.value_or(0);
    pair.noisy = time.noisy;
    pair.stopped = time.stopped;
    if (!time.failure.empty())
      pair.failure = fmt::format("{} build: {}", is_old ? "old" : "new", one_line(time.failure));
  }
  return pair;
}

}  // namespace

FreshTime measure_fresh(const WorkerCommand& command, const Device& device, const FreshJob& job,
                        const std::atomic<bool>* stop, std::optional<double> budget_s) {
  Interrupt interrupt(stop, budget_s);
  WorkerClient client(command, worker_memory_limit(command, device, 1), interrupt);
  return measure_in(client, device, job);
}

struct DeviceTurn::Lock {
  DeviceLock lock;
};

DeviceTurn::DeviceTurn(const Device& device, const std::atomic<bool>* stop, Reporter& reporter,
                       bool share, const std::string& lock_dir)
    : held_(share) {
  if (share) return;
  lock_ = std::make_unique<Lock>(Lock{DeviceLock(lock_dir, device.uuid)});
  held_ = lock_->lock.try_lock();
  if (held_) return;
  reporter.note(waiting_text(lock_->lock, device.id));
  const TimePoint began = Clock::now();
  held_ = lock_->lock.lock(Interrupt(stop, std::nullopt));
  waited_s_ = seconds_since(began);
}

DeviceTurn::~DeviceTurn() {
  if (held_ && lock_) lock_->lock.unlock();
}

PairedTimes measure_side_by_side(const FreshJob& job, const SideBySide& builds,
                                 Reporter& reporter) {
  const TimePoint start = Clock::now();
  PairedTimes times;
  const auto left_s = [&]() -> std::optional<double> {
    if (!builds.budget_s) return std::nullopt;
    return *builds.budget_s + times.waited_s - seconds_since(start);
  };
  const auto wanted = static_cast<std::size_t>(builds.pairs);
  for (std::size_t i = 0; i < 2 * wanted && times.old_and_new.size() < wanted; ++i) {
    Pair pair;
    const std::optional<double> budget_s = left_s();
    pair.stopped = budget_s && *budget_s <= 0;
    if (!pair.stopped) pair = measure_pair(job, builds, i % 2 == 0, budget_s, reporter);
    times.waited_s += pair.waited_s;
    times.failure = pair.failure;
    times.stopped = pair.stopped;
    if (pair.stopped) times.failure = "the time was over";
    if (pair.stopped || (!pair.failure.empty() && !pair.noisy)) return times;
    if (pair.failure.empty()) times.old_and_new.emplace_back(pair.old_ns, pair.new_ns);
  }
  return times;
}

}  // namespace nsa::tuner
