#include "process/worker_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "nsa/schemas/error.hpp"
#include "process/hang_report.hpp"

namespace nsa::tuner {
namespace {

constexpr double kSliceS = 0.1;  // how often a waiting call looks at the interrupt
constexpr double kSlowS = 1;     // after which somebody may wonder
constexpr double kExitS = 1;     // how long a closed worker may take to end
constexpr std::size_t kMaxReasonBytes = 2000;

std::string quoted_start(const std::string& line) {
  constexpr std::size_t kShown = 100;
  return fmt::format("'{}'{}", one_line(line.substr(0, kShown)),
                     line.size() > kShown ? fmt::format(" ({} bytes)", line.size()) : "");
}

template <class To>
Answer<To> passed_on(const Answer<std::string>& from) {
  return {std::nullopt, from.outcome, from.reason, from.interrupted};
}

}  // namespace

std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  if (text.size() > kMaxReasonBytes) text = text.substr(0, kMaxReasonBytes) + "...";
  return text;
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

Answer<std::string> WorkerClient::exchange(const std::string& line, const std::string& doing,
                                           double deadline_s) {
  if (!child_) return {std::nullopt, Outcome::crashed, "the worker is gone", false};
  child_->send(line);
  if (while_it_works_) while_it_works_();
  const TimePoint asked = Clock::now(), deadline = asked + seconds(deadline_s);
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

template <class Reply, class Request>
Answer<Reply> WorkerClient::call(Request request, const std::string& doing, double deadline_s) {
  std::int64_t id = 0;
  if constexpr (!std::is_same_v<Request, worker::HelloRequest>) id = request.id = next_id_++;
  Answer<std::string> line =
      exchange(worker::encode(worker::Request(std::move(request))), doing, deadline_s);
  if (!line) return passed_on<Reply>(line);
  const auto bad = [&](const std::string& what) {
    return passed_on<Reply>(
        lost(Outcome::bad_reply,
             fmt::format("while {}: {}, in the reply {}", doing, what, quoted_start(*line.reply))));
  };
  std::optional<worker::Reply> reply;
  try {
    reply = worker::decode_reply(*line.reply);
  } catch (const std::exception& error) {
    return bad(error.what());
  }
  if (const auto* failed = std::get_if<worker::FailedReply>(&*reply)) {
    if (failed->id != id) return bad(fmt::format("id {} instead of {}", failed->id, id));
    if (failed->status == Outcome::ok) return bad("failed with status ok");
    // After an illegal access every call to CUDA fails: the next variant needs a new process.
    if (failed->status == Outcome::crashed)
      return passed_on<Reply>(lost(failed->status, failed->reason));
    return {std::nullopt, failed->status, one_line(failed->reason), false};
  }
  auto* expected = std::get_if<Reply>(&*reply);
  if (!expected) return bad("a reply of another type");
  if constexpr (!std::is_same_v<Reply, worker::HelloReply>) {
    if (expected->id != id) return bad(fmt::format("id {} instead of {}", expected->id, id));
  }
  return {std::move(*expected), Outcome::ok, "", false};
}

Answer<worker::HelloReply> WorkerClient::start(const std::string& device, double deadline_s) {
  try {
    child_ = std::make_unique<Child>(command_.argv, memory_limit_bytes_, command_.environment);
  } catch (const EnvironmentError& error) {
    return {std::nullopt, Outcome::crashed, error.what(), false};
  }
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
  return call<worker::MeasuredReply>(std::move(request), doing, deadline_s);
}
Answer<worker::TracedReply> WorkerClient::ask(worker::TraceRequest request,
                                              const std::string& doing, double deadline_s) {
  return call<worker::TracedReply>(std::move(request), doing, deadline_s);
}
Answer<worker::CountedReply> WorkerClient::ask(worker::CountRequest request,
                                               const std::string& doing, double deadline_s) {
  return call<worker::CountedReply>(std::move(request), doing, deadline_s);
}
Answer<worker::ReleasedReply> WorkerClient::ask(worker::ReleaseRequest request,
                                                const std::string& doing, double deadline_s) {
  return call<worker::ReleasedReply>(std::move(request), doing, deadline_s);
}

void WorkerClient::finish() {
  if (!child_) return;
  child_->send(worker::encode(worker::Request(worker::ByeRequest{})));
  std::string ignored;
  const TimePoint deadline = Clock::now() + seconds(kExitS);
  while (child_->receive(ignored, deadline) == Child::Event::line) continue;
  child_->close_input();
  child_->wait(deadline);
  child_.reset();
}

}  // namespace nsa::tuner
