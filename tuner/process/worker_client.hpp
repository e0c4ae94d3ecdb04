// One worker process and the protocol with it. Whatever the process does, a call returns in time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nsa/schemas/worker.hpp"
#include "nsa/tuner/sweep.hpp"
#include "process/child.hpp"
#include "process/interrupt.hpp"

namespace nsa::tuner {

/// A reply, or what became of the request. `interrupted`: the user or the budget ended it, which is
/// no outcome of the variant.
template <class Reply>
struct Answer {
  std::optional<Reply> reply;
  Outcome outcome = Outcome::ok;
  std::string reason;
  bool interrupted = false;
  explicit operator bool() const noexcept { return reply.has_value(); }
};

class WorkerClient {
 public:
  /// `memory_limit_bytes`: of the process; nothing = none. The interrupt is borrowed.
  WorkerClient(WorkerCommand command, std::optional<std::uint64_t> memory_limit_bytes,
               Interrupt& interrupt);
  ~WorkerClient();

  /// Starts the process and asks what it brings: launch(), then greet().
  Answer<worker::HelloReply> start(const std::string& device, double deadline_s);
  /// Starts the process, which ends with the thread that calls this; why it cannot, or "".
  std::string launch();
  /// Asks the process what it brings; this and the rest may be called from another thread.
  Answer<worker::HelloReply> greet(const std::string& device, double deadline_s);
  /// Sends a request (its id is set here) and waits for the reply of that type. `doing` says what
  /// for, in reasons: "measuring attend_selected/masked". After a crash (also one that the worker
  /// itself replied), a hang or rubbish the process is gone and alive() is false.
  Answer<worker::DescribedReply> ask(worker::DescribeRequest request, const std::string& doing,
                                     double deadline_s);
  Answer<worker::PreparedReply> ask(worker::PrepareRequest request, const std::string& doing,
                                    double deadline_s);
  Answer<worker::VerifiedReply> ask(worker::VerifyRequest request, const std::string& doing,
                                    double deadline_s);
  Answer<worker::MeasuredReply> ask(worker::MeasureRequest request, const std::string& doing,
                                    double deadline_s);
  Answer<worker::TracedReply> ask(worker::TraceRequest request, const std::string& doing,
                                  double deadline_s);
  Answer<worker::CountedReply> ask(worker::CountRequest request, const std::string& doing,
                                   double deadline_s);
  Answer<worker::ReleasedReply> ask(worker::ReleaseRequest request, const std::string& doing,
                                    double deadline_s);
  /// A request that was answered again after its answer.
  struct Repeat {
    VariantId variant;
    std::string doing;
  };
  /// Those since the last call: a second answer is dropped, because the one that is waited for
  /// stands after it. finish() finds more.
  std::vector<Repeat> take_repeated() { return std::exchange(repeated_, {}); }
  /// Says once for each request that the worker takes longer than a second.
  void tell_when_slow(Reporter* reporter) noexcept { reporter_ = reporter; }
  /// Is called when a request was sent, while the worker is at it.
  void while_it_works(std::function<void()> call) { while_it_works_ = std::move(call); }
  /// Who waits for an answer does not sleep at first: see busy_poll(). To be said before launch().
  void stay_awake() noexcept { awake_ = true; }
  /// Of the process; 0 when it is gone.
  pid_t pid() const noexcept { return child_ ? child_->pid() : 0; }
  bool alive() const noexcept { return child_ != nullptr; }
  /// What the worker said of itself when it started.
  const worker::HelloReply& hello() const noexcept { return hello_; }
  /// Says bye and waits a moment; kills it when it stays.
  void finish();

 private:
  template <class Reply, class Request>
  Answer<Reply> call(Request request, const std::string& doing, double deadline_s);
  /// The answer to the request of `id`, 0 for hello; what is said of earlier ones is left aside.
  Answer<worker::Reply> answer_to(std::int64_t id, const std::string& doing, double deadline_s);
  Answer<worker::Reply> bad(const std::string& doing, const std::string& what,
                            const std::string& line);
  /// The next line of the worker, `deadline_s` after it was asked at most.
  Answer<std::string> next_line(const std::string& doing, TimePoint asked, double deadline_s);
  /// Whether a reply answers a request before that of `id`, which was answered already.
  bool is_repeat(const worker::Reply& reply, std::int64_t id);
  /// Gives a request its id and remembers it.
  template <class Request>
  std::int64_t number(Request& request, const std::string& doing);
  void note_repeat(const std::string& line);
  Answer<std::string> lost(Outcome outcome, const std::string& reason);
  Answer<std::string> crashed(const std::string& doing);

  WorkerCommand command_;
  std::optional<std::uint64_t> memory_limit_bytes_;
  Interrupt& interrupt_;
  Reporter* reporter_ = nullptr;
  bool awake_ = false;
  std::function<void()> while_it_works_;
  std::unique_ptr<Child> child_;
  worker::HelloReply hello_;
  std::vector<Repeat> asked_;                   // the request of id i + 1
  std::map<std::int64_t, VariantId> prepared_;  // what a handle stands for
  std::vector<Repeat> repeated_;
};

/// One line of visible text (nsa/schemas/text.hpp), bounded: reasons go into a database and a
/// terminal.
std::string one_line(std::string text);

/// Memory that each of `workers` processes on a CPU may hold, so that they cannot take the machine
/// down together; nothing where a limit would hit the tool itself (sanitizers reserve terabytes).
std::optional<std::uint64_t> worker_memory_limit(const WorkerCommand& command, const Device& device,
                                                 std::size_t workers);

}  // namespace nsa::tuner
