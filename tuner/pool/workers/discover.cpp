// What workers bring, and what they say of each problem.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <set>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/tuner/refine.hpp"
#include "nsa/tuner/sweep.hpp"
#include "plan/estimate.hpp"
#include "pool/workers/open_workers.hpp"
#include "process/worker_client.hpp"

namespace nsa::tuner {
namespace {

std::string text_of(const WorkerCommand& command) {
  return fmt::format("worker '{}'", command.argv.empty() ? "" : one_line(command.argv.back()));
}

void add_candidates(const worker::HelloReply& hello, std::int64_t worker,
                    std::vector<Candidate>& candidates) {
  for (const worker::OfferedVariant& variant : hello.variants) {
    for (const Point& point : variant.points)
      candidates.push_back({{variant.stages, variant.name, point},
                            variant.source_hash,
                            hello.executor,
                            worker,
                            variant.order,
                            variant.direction});
  }
}

/// Orders that nobody will ask for: without one of a length, nothing is extrapolated, and a name
/// that is misspelt would not be missed.
void note_unread_orders(const worker::HelloReply& hello, Reporter* reporter) {
  std::set<std::string> unread;
  for (const worker::OfferedVariant& variant : hello.variants) {
    for (const auto& [axis, order] : variant.order)
      if (axis != to_string(Axis::seq_len) && axis != to_string(Axis::context_len))
        unread.insert(one_line(axis));
  }
  if (unread.empty() || !reporter) return;
  reporter->note(fmt::format("{}: orders in {} are not used; those in seq_len and context_len are",
                             one_line(hello.executor), fmt::join(unread, ", ")));
}

bool is_blank(const CodePoint& of) {
  constexpr std::array<std::uint32_t, 8> kBlanks{' ',    0xa0,   0x1680, 0x202f,
                                                 0x205f, 0x2800, 0x3000, 0x3164};
  const bool quad = of.value >= 0x2000 && of.value <= 0x200a;
  return of.valid && (quad || std::ranges::find(kBlanks, of.value) != kBlanks.end());
}

/// Bytes at the front of `text` that visible() wrote for what is not seen: "\x1b", "\u200b",
/// "\t"; 0 where there are none.
std::size_t spelled_out(std::string_view text) {
  if (text.size() < 2 || text[0] != '\\') return 0;
  const std::size_t digits = text[1] == 'x' ? 2 : text[1] == 'u' ? 4 : 0;
  const auto hex = text.substr(2, digits);
  const bool all = hex.size() == digits &&
                   hex.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  const bool named = std::string_view("ntr").find(text[1]) != std::string_view::npos;
  return (digits > 0 && all) || named ? 2 + digits : 0;
}

/// What is left of a name that passed visible() for somebody who reads it: no blanks, nothing that
/// is not seen, in lower case, wide letters as narrow ones.
std::string as_read(std::string_view name) {
  std::string read;
  while (!name.empty()) {
    if (const std::size_t unseen = spelled_out(name); unseen > 0) {
      name.remove_prefix(unseen);
      continue;
    }
    const CodePoint next = next_code_point(name);
    constexpr std::uint32_t kFirstWide = 0xff01, kLastWide = 0xff5e;
    if (next.valid && next.value >= kFirstWide && next.value <= kLastWide)
      read += static_cast<char>(next.value - kFirstWide + '!');
    else if (!is_blank(next))
      read += name.substr(0, next.bytes);
    name.remove_prefix(next.bytes);
  }
  std::ranges::transform(read, read.begin(), [](unsigned char c) {
    return c < 0x80 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c);
  });
  return read;
}

/// Rows of ours are told by their executor, so nobody else may have its name, or one that looks
/// like it.
void refuse_our_name(const WorkerCommand& command, const std::string& executor) {
  if (command.ours || as_read(executor) != kOwnExecutor) return;
  throw InputError(
      fmt::format("{}: calls itself '{}', which is the executor of this program; let its hello say "
                  "another name",
                  text_of(command), executor));
}

/// Whether a refusal of the optional question speaks of the variant on this problem. One that does
/// not know the question says nothing of it: prepare will tell.
bool refuses_problem(Outcome outcome) {
  return outcome == Outcome::not_built || outcome == Outcome::out_of_memory;
}

/// The time that questions may take. A second is the least: a worker has to start.
class Patience {
 public:
  Patience(double deadline_s, const Asking& asking)
      : deadline_s_(deadline_s), asking_(asking), interrupt(asking.stop, std::nullopt) {}

  double next_s() const {
    if (!asking_.budget_s) return deadline_s_;
    return std::min(deadline_s_, std::max(1.0, *asking_.budget_s - seconds_since(start_)));
  }
  bool over() const {
    return interrupt.stopped() || (asking_.budget_s && seconds_since(start_) > *asking_.budget_s);
  }
  Reporter* reporter() const { return asking_.reporter; }

 private:
  double deadline_s_;
  Asking asking_;
  TimePoint start_ = Clock::now();

 public:
  Interrupt interrupt;
};

/// Asks the workers, each in a process that stays for all questions: one that is lent or that said
/// hello, as long as it lives, else one of its own. That is started again once when it dies.
class Describer {
 public:
  Describer(const SweepSpec& spec, const Device& device, const std::vector<WorkerCommand>& workers,
            const Discovery& discovery, const Asking& asking)
      : patience_(spec.policy.deadline_s, asking),
        device_(device),
        workers_(workers),
        silent_(*discovery.silent),
        open_(discovery.open),
        lend_(asking.lend),
        lent_(workers.size()),
        clients_(workers.size()),
        losses_(workers.size()) {}

  /// Nothing of it lives on beside what measures.
  void end() {
    for (const auto& client : clients_)
      if (client && !patience_.interrupt.stopped()) client->finish();
    if (open_) open_->end();
  }

  Description describe(const Problem& problem, const Candidate& candidate) {
    const auto w = static_cast<std::size_t>(candidate.worker);
    if (patience_.over() || silent_.contains(w) || !ensure(w))
      return unknown(problem, candidate.id);
    Answer<worker::DescribedReply> answer = question(w, problem, candidate);
    // It may have died since its hello, of whatever: that is not for this question to suffer.
    if (unasked_.erase(w) > 0 && answer.outcome == Outcome::crashed && !client(w).alive()) {
      lent_[w] = nullptr;
      clients_[w].reset();
      if (!ensure(w)) return unknown(problem, candidate.id);
      answer = question(w, problem, candidate);
    }
    if (!answer) {
      // It leaves aside what it does not know, or hangs: once is enough to see it.
      if (answer.outcome == Outcome::timeout) silent_.insert(w);
      if (refuses_problem(answer.outcome)) return {false, answer.outcome, answer.reason, 0, 0, 0};
      return unknown(problem, candidate.id);
    }
    const worker::DescribedReply& said = *answer.reply;
    Cost cost{said.flop, said.bytes};
    // Of the mathematics, whoever computes it: where we know it, ours counts.
    const Cost known =
        candidate.executor == kOwnExecutor ? Cost{} : known_cost(problem, candidate.id);
    if (known != Cost{}) cost = known;
    return {said.supported, Outcome::unsupported, said.reason,
            cost.flop,      cost.bytes,           said.workspace_bytes};
  }

  static Description ask(void* context, const Problem& problem, const Candidate& candidate) {
    return static_cast<Describer*>(context)->describe(problem, candidate);
  }

 private:
  Answer<worker::DescribedReply> question(std::size_t w, const Problem& problem,
                                          const Candidate& candidate) {
    return client(w).ask(worker::DescribeRequest{0, problem, candidate.id},
                         "describing " + to_string(candidate.id), patience_.next_s());
  }

  WorkerClient& client(std::size_t w) { return lent_[w] ? *lent_[w] : *clients_[w]; }

  bool ensure(std::size_t w) {
    constexpr int kMaxLosses = 2;
    if (lend_ && !clients_[w]) {
      if (!lent_[w]) unasked_.insert(w);
      lent_[w] = lend_(w);  // null once it has died
      if (lent_[w]) return true;
      unasked_.erase(w);
    }
    if (clients_[w] && clients_[w]->alive()) return true;
    if (clients_[w] && ++losses_[w] >= kMaxLosses) return false;
    if (open_) clients_[w] = open_->take(w, device_.id);
    if (open_ && clients_[w]) {
      clients_[w]->tell_when_slow(patience_.reporter());
      unasked_.insert(w);
      return true;
    }
    clients_[w] = std::make_unique<WorkerClient>(
        workers_[w], worker_memory_limit(workers_[w], device_, workers_.size()),
        patience_.interrupt);
    clients_[w]->tell_when_slow(patience_.reporter());
    return static_cast<bool>(clients_[w]->start(device_.id, patience_.next_s()));
  }

  static Description unknown(const Problem& problem, const VariantId& id) {
    const Cost cost = known_cost(problem, id);
    Description description;
    description.flop = cost.flop;
    description.bytes = cost.bytes;
    return description;
  }

  Patience patience_;
  const Device& device_;
  const std::vector<WorkerCommand>& workers_;
  std::set<std::size_t>& silent_;
  std::shared_ptr<OpenWorkers> open_;  // whose interrupt its processes borrow
  Lend lend_;
  std::vector<WorkerClient*> lent_;  // null: not asked for yet, or it has died
  std::set<std::size_t> unasked_;    // processes that were asked nothing since their hello
  std::vector<std::unique_ptr<WorkerClient>> clients_;
  std::vector<int> losses_;
};

}  // namespace

Discovery discover(const std::vector<WorkerCommand>& workers, const Device& device,
                   double deadline_s, const Asking& asking) {
  Discovery discovery;
  Patience patience(deadline_s, asking);
  discovery.open = std::make_shared<OpenWorkers>(asking.stop, device.id);
  for (std::size_t w = 0; w < workers.size(); ++w) {
    auto client = std::make_unique<WorkerClient>(
        workers[w], worker_memory_limit(workers[w], device, workers.size()),
        discovery.open->interrupt);
    client->tell_when_slow(patience.reporter());
    const auto answer = client->start(device.id, patience.next_s());
    if (patience.interrupt.stopped()) return discovery;
    if (!answer && answer.outcome == Outcome::unsupported)
      throw EnvironmentError(
          fmt::format("{} cannot use {}: {}", text_of(workers[w]), device.id, answer.reason));
    if (!answer)
      throw InputError(fmt::format("{}: {}; it must answer hello as the worker protocol says",
                                   text_of(workers[w]), answer.reason));
    refuse_our_name(workers[w], answer.reply->executor);
    discovery.hellos.push_back(*answer.reply);
    note_unread_orders(*answer.reply, patience.reporter());
    add_candidates(*answer.reply, static_cast<std::int64_t>(w), discovery.candidates);
    discovery.open->add(std::move(client));
  }
  return discovery;
}

Plan plan_with_workers(const SweepSpec& spec, const Device& device,
                       const std::vector<WorkerCommand>& workers, const Discovery& discovery,
                       const Asking& asking) {
  Describer describer(spec, device, workers, discovery, asking);
  Plan plan = make_plan(spec, device, discovery.candidates, &Describer::ask, &describer);
  describer.end();
  return plan;
}

Plan plan_with_workers(const std::vector<Refinement>& refinements, const SweepSpec& spec,
                       const Device& device, const std::vector<WorkerCommand>& workers,
                       const Discovery& discovery, const Asking& asking) {
  if (refinements.empty()) {
    if (discovery.open) discovery.open->end();
    return {};
  }
  Describer describer(spec, device, workers, discovery, asking);
  Plan plan = plan_of(refinements, spec, device, discovery.candidates, &Describer::ask, &describer);
  describer.end();
  return plan;
}

}  // namespace nsa::tuner
