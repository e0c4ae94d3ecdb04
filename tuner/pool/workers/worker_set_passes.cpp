// The passes after the timed visits of a process: what launches do, then what the hardware counts.
#include <fmt/format.h>

#include "pool/account.hpp"
#include "pool/workers/worker_set.hpp"

namespace nsa::tuner {

template <class Ask>
void WorkerSet::ask_all(bool Contestant::*asked, Ask ask) {
  const Account account(shared_.breakdown.trace_s);
  for (Contestant& contestant : contestants_) {
    if (shared_.interrupt.requested()) throw Interrupted{};
    if (!contestant.handle || contestant.control || contestant.out || contestant.*asked) continue;
    contestant.*asked = true;
    ask(contestant);
    const auto worker = static_cast<std::size_t>(contestant.candidate.worker);
    if (!shared_.turn.alive(worker)) drop_handles(worker);
  }
}

void WorkerSet::trace_all() {
  ask_all(&Contestant::traced, [this](const Contestant& contestant) { trace(contestant); });
}

void WorkerSet::count_all() {
  ask_all(&Contestant::counted, [this](const Contestant& contestant) { count(contestant); });
}

void WorkerSet::trace(const Contestant& contestant) {
  constexpr std::int64_t kSamples = 5;
  worker::TraceRequest request;
  request.handle = *contestant.handle;
  request.launch = policy_.launch;
  request.samples = kSamples;
  auto answer = client(contestant)
                    .ask(request, doing("tracing", contestant),
                         deadline_s(contestant.sample_s.value_or(0) * (kSamples + 2)));
  if (answer.interrupted) throw Interrupted{};
  const auto note = [&](const std::string& what) {
    shared_.reporter.note(fmt::format("{}: {}", to_string(contestant.candidate.id), what));
  };
  if (!answer) return note("not traced: " + answer.reason);  // its times stand
  if (!answer.reply->trace.note.empty()) note(answer.reply->trace.note);
  shared_.writer.commit(contest_.problem, contestant.candidate, std::move(answer.reply->trace),
                        contest_.launch);
}

void WorkerSet::count(const Contestant& contestant) {
  constexpr double kLaunches = 8;  // to warm up, and a few passes
  worker::CountRequest request;
  request.handle = *contestant.handle;
  request.launch = policy_.launch;
  request.cold = policy_.cold;
  auto answer = client(contestant)
                    .ask(request, doing("counting", contestant),
                         deadline_s(contestant.sample_s.value_or(0) * kLaunches));
  if (answer.interrupted) throw Interrupted{};
  // A reason is told once: mostly it is the machine's, and the same for all. Times stand.
  if (!answer && shared_.told.insert(answer.reason).second)
    shared_.reporter.note(
        fmt::format("{}: not counted: {}", to_string(contestant.candidate.id), answer.reason));
  shared_.writer.commit(contest_.problem, contestant.candidate,
                        answer ? std::move(answer.reply->counters) : LaunchCounters{},
                        answer.outcome, answer.reason, contest_.launch);
}

}  // namespace nsa::tuner
