#include "process/worker_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/text.hpp"
#include "process/busy_poll.hpp"

namespace nsa::tuner {
namespace {

constexpr double kSliceS = 0.1;  // how often a waiting call looks at the interrupt
constexpr double kSlowS = 1;     // after which somebody may wonder
constexpr double kExitS = 1;     // how long a closed worker may take to end
constexpr std::size_t kMaxReasonBytes = 2000;
constexpr std::size_t kMaxRepeated = 1000;  // that are remembered of one process

std::string quoted_start(const std::string& line) {
  constexpr std::size_t kShown = 100;
  return fmt::format("'{}'{}", one_line(line.substr(0, kShown)),
                     line.size() > kShown ? fmt::format(" ({} bytes)", line.size()) : "");
}

/// Which request a reply answers; nothing for a hello, which has no id.
std::optional<std::int64_t> id_of(const worker::Reply& reply) {
  return std::visit(
      [](const auto& r) -> std::optional<std::int64_t> {
        if constexpr (requires { r.id; }) return r.id;
        return std::nullopt;
      },
      reply);
}

template <class To, class From>
Answer<To> passed_on(const Answer<From>& from) {
  return {std::nullopt, from.outcome, from.reason, from.interrupted};
}

}  // namespace

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  if (text.size() > kMaxReasonBytes) text = text.substr(0, kMaxReasonBytes) + "...";
  return visible(text);
}

WorkerClient::WorkerClient(WorkerCommand command, std::optional<std::uint64_t> memory_limit_bytes,
                           Interrupt& interrupt)
    : command_(std::move(command)),
      memory_limit_bytes_(memory_limit_bytes),
      interrupt_(interrupt) {}

WorkerClient::~WorkerClient() = default;

Answer<std::string> WorkerClient::lost(Outcome outcome, const std::string& reason) {
  child_.reset();
  return {std::nullopt, outcome, one_line(reason), false};
}

Answer<std::string> WorkerClient::crashed(const std::string& doing) {
  const auto ended = child_->wait(Clock::now() + seconds(kExitS));
  const std::string words = child_->take_errors(Clock::now() + seconds(ended ? 0.02 : 0));
  return lost(Outcome::crashed,
              fmt::format("while {}: the worker {}{}", doing,
                          ended ? "ended with " + *ended : "closed its output and went on",
                          words.empty() ? "" : "; last words: " + words));
}

bool WorkerClient::is_repeat(const worker::Reply& reply, std::int64_t id) {
  const auto answered = id_of(reply);
  if (!answered) return id > 0;  // a hello once more
  if (*answered < 1 || *answered >= id) return false;
  if (repeated_.size() < kMaxRepeated)
    repeated_.push_back(asked_[static_cast<std::size_t>(*answered - 1)]);
  return true;
}

template <class Request>
std::int64_t WorkerClient::number(Request& request, const std::string& doing) {
  request.id = static_cast<std::int64_t>(asked_.size()) + 1;
  if constexpr (requires { request.variant; }) {
    asked_.push_back({request.variant, doing});
  } else {
    asked_.push_back({prepared_[request.handle], doing});
  }
  return request.id;
}

Answer<std::string> WorkerClient::next_line(const std::string& doing, TimePoint asked,
                                            double deadline_s) {
  const TimePoint deadline = asked + seconds(deadline_s);
  Reporter* told = reporter_;
  while (true) {
    std::string reply;
    switch (child_->receive(reply, std::min(deadline, Clock::now() + seconds(kSliceS)))) {
      case Child::Event::line:
        return {std::move(reply), Outcome::ok, "", false};
      case Child::Event::end:
        return crashed(doing);
      case Child::Event::too_long:
        return lost(Outcome::bad_reply,
                    fmt::format("while {}: the worker printed {} MiB without a newline", doing,
                                kMaxLineBytes >> 20));
      case Child::Event::deadline:
        if (interrupt_.overdue()) {
          child_.reset();
          return {std::nullopt, Outcome::timeout, "interrupted", true};
        }
        if (told && seconds_since(asked) > kSlowS) {
          told->note(fmt::format("asking worker '{}' ({}; it has {:.3g} s)",
                                 one_line(command_.argv.back()), doing, deadline_s));
          told = nullptr;
        }
        if (Clock::now() < deadline) break;
        return lost(Outcome::timeout, fmt::format("no answer within {:.3g} s while {}; {}",
                                                  deadline_s, doing, hang_report(*child_)));
    }
  }
}

Answer<worker::Reply> WorkerClient::bad(const std::string& doing, const std::string& what,
                                        const std::string& line) {
  return passed_on<worker::Reply>(
      lost(Outcome::bad_reply,
           fmt::format("while {}: {}, in the reply {}", doing, what, quoted_start(line))));
}

Answer<worker::Reply> WorkerClient::answer_to(std::int64_t id, const std::string& doing,
                                              double deadline_s) {
  const TimePoint asked = Clock::now(), deadline = asked + seconds(deadline_s);
  while (true) {
    const Answer<std::string> line = next_line(doing, asked, deadline_s);
    if (!line) return passed_on<worker::Reply>(line);
    std::optional<worker::Reply> reply;
    try {
      reply = worker::decode_reply(*line.reply);
    } catch (const std::exception& error) {
      return bad(doing, error.what(), *line.reply);
    }
    if (is_repeat(*reply, id) && Clock::now() < deadline) continue;
    if (id_of(*reply).value_or(0) != id)
      return bad(doing, fmt::format("id {} instead of {}", id_of(*reply).value_or(0), id),
                 *line.reply);
    const auto* failed = std::get_if<worker::FailedReply>(&*reply);
    if (!failed) return {std::move(reply), Outcome::ok, "", false};
    // After an illegal access every call to CUDA fails: the next variant needs a new process.
    if (failed->status == Outcome::crashed)
      return passed_on<worker::Reply>(lost(failed->status, failed->reason));
    return {std::nullopt, failed->status, one_line(failed->reason), false};
  }
}

template <class Reply, class Request>
Answer<Reply> WorkerClient::call(Request request, const std::string& doing, double deadline_s) {
  std::int64_t id = 0;
  if constexpr (!std::is_same_v<Request, worker::HelloRequest>) id = number(request, doing);
  if (!child_) return {std::nullopt, Outcome::crashed, "the worker is gone", false};
  child_->send(worker::encode(worker::Request(std::move(request))));
  if (while_it_works_) while_it_works_();
  Answer<worker::Reply> answer = answer_to(id, doing, deadline_s);
  if (!answer) return passed_on<Reply>(answer);
  if (auto* expected = std::get_if<Reply>(&*answer.reply)) {
    if constexpr (std::is_same_v<Reply, worker::PreparedReply>)
      prepared_[expected->handle] = asked_.back().variant;
    return {std::move(*expected), Outcome::ok, "", false};
  }
  return passed_on<Reply>(bad(doing, "a reply of another type", worker::encode(*answer.reply)));
}

std::string WorkerClient::launch() {
  try {
    child_ = std::make_unique<Child>(command_.argv, memory_limit_bytes_, command_.environment);
    if (awake_) child_->stay_awake(busy_wait());
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "";
}

Answer<worker::HelloReply> WorkerClient::start(const std::string& device, double deadline_s) {
  const std::string why = launch();
  if (!why.empty()) return {std::nullopt, Outcome::crashed, why, false};
  return greet(device, deadline_s);
}

Answer<worker::HelloReply> WorkerClient::greet(const std::string& device, double deadline_s) {
  auto answer = call<worker::HelloReply>(worker::HelloRequest{worker::kProtocol, device},
                                         "saying hello", deadline_s);
  if (answer && answer.reply->protocol != worker::kProtocol)
    return passed_on<worker::HelloReply>(
        lost(Outcome::bad_reply, fmt::format("the worker speaks protocol {}, this program {}",
                                             answer.reply->protocol, worker::kProtocol)));
  if (answer) hello_ = *answer.reply;
  if (!answer) child_.reset();
  return answer;
}

Answer<worker::DescribedReply> WorkerClient::ask(worker::DescribeRequest request,
                                                 const std::string& doing, double deadline_s) {
  return call<worker::DescribedReply>(std::move(request), doing, deadline_s);
}
Answer<worker::PreparedReply> WorkerClient::ask(worker::PrepareRequest request,
                                                const std::string& doing, double deadline_s) {
  return call<worker::PreparedReply>(std::move(request), doing, deadline_s);
}
Answer<worker::VerifiedReply> WorkerClient::ask(worker::VerifyRequest request,
                                                const std::string& doing, double deadline_s) {
  return call<worker::VerifiedReply>(std::move(request), doing, deadline_s);
}
Answer<worker::MeasuredReply> WorkerClient::ask(worker::MeasureRequest request,
                                                const std::string& doing, double deadline_s) {
  return call<worker::MeasuredReply>(request, doing, deadline_s);
}
Answer<worker::TracedReply> WorkerClient::ask(worker::TraceRequest request,
                                              const std::string& doing, double deadline_s) {
  return call<worker::TracedReply>(request, doing, deadline_s);
}
Answer<worker::CountedReply> WorkerClient::ask(worker::CountRequest request,
                                               const std::string& doing, double deadline_s) {
  return call<worker::CountedReply>(request, doing, deadline_s);
}
Answer<worker::ReleasedReply> WorkerClient::ask(worker::ReleaseRequest request,
                                                const std::string& doing, double deadline_s) {
  return call<worker::ReleasedReply>(request, doing, deadline_s);
}

/// What a worker still says after its last answer.
void WorkerClient::note_repeat(const std::string& line) {
  try {
    is_repeat(worker::decode_reply(line), static_cast<std::int64_t>(asked_.size()) + 1);
  } catch (const std::exception&) {
    // It has said bye to us: what is no reply is of no request.
  }
}

void WorkerClient::finish() {
  if (!child_) return;
  child_->send(worker::encode(worker::Request(worker::ByeRequest{})));
  std::string line;
  const TimePoint deadline = Clock::now() + seconds(kExitS);
  while (child_->receive(line, deadline) == Child::Event::line && Clock::now() < deadline)
    note_repeat(line);
  child_->close_input();
  child_->wait(deadline);
  child_.reset();
}

}  // namespace nsa::tuner
