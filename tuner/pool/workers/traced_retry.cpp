#include "pool/workers/traced_retry.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "nsa/schemas/trace_request.hpp"
#include "pool/workers/hang_notes.hpp"
#include "process/worker_client.hpp"

namespace nsa::tuner {
namespace {

/// The tracer looks whether anything ended since it looked last, so a hang is noted after twice
/// that time at most: before the deadline, with time left for the stacks.
constexpr double kHangShare = 0.25;

WorkerCommand with_tracer(WorkerCommand worker, const std::string& library,
                          const std::string& folder, double deadline_s) {
  const auto hang_ms = static_cast<std::int64_t>(1000 * kHangShare * deadline_s);
  auto& variables = worker.environment;
  for (auto& variable : probes::tracer_variables(library, folder))
    variables.push_back(std::move(variable));
  variables.emplace_back(spool::kEnvWindow, "all");
  variables.emplace_back(spool::kEnvHangMs, std::to_string(std::max<std::int64_t>(hang_ms, 1)));
  variables.emplace_back(spool::kEnvOnHang, "leave");
  return worker;
}

/// "nothing ended ...; last kernel: ...; open ranges: ...": the lines of a note as one.
std::string joined_lines(const std::string& lines) {
  std::string text;
  for (const char c : lines) {
    if (c != '\n')
      text += c;
    else if (!text.empty())
      text += text.back() == ':' ? " " : "; ";
  }
  while (text.ends_with("; ")) text.resize(text.size() - 2);
  return one_line(text);
}

/// How the second attempt ended. `began`: it got as far as the variant.
struct Ending {
  bool began = false, interrupted = false;
  Outcome outcome = Outcome::ok;
  std::string reason;
};

Ending ask_again(WorkerClient& client, const SweepInput& input, const Retry& retry) {
  const auto ended = [](bool began, const auto& answer) {
    return Ending{began, answer.interrupted, answer.outcome, answer.reason};
  };
  const auto hello = client.start(input.device.id, input.spec.policy.deadline_s);
  if (!hello) return ended(false, hello);
  const auto prepared = client.ask(retry.prepare, "preparing again", retry.prepare_deadline_s);
  if (!prepared) return ended(true, prepared);
  worker::MeasureRequest measure = retry.measure;
  measure.handle = prepared.reply->handle;
  const auto measured = client.ask(measure, "measuring again", retry.measure_deadline_s);
  if (measured) client.finish();
  return ended(true, measured);
}

std::string hung_again(const HangNotes& notes) {
  if (!notes.hang.empty()) return "it hung again: " + joined_lines(notes.hang);
  if (!notes.trouble.empty())
    return "it hung again, but was not traced: " + joined_lines(notes.trouble);
  return notes.spool ? "it hung again, but nothing was pending on the GPU"
                     : "it hung again, but left no trace: perhaps it never used CUDA";
}

}  // namespace

std::string retry_traced(const SweepInput& input, const WorkerCommand& worker, const Retry& retry,
                         const std::string& folder, Interrupt& interrupt) {
  const std::string not_asked = "not asked again under the tracer: ";
  if (input.tracer_library.empty()) return not_asked + input.no_tracer;
  if (interrupt.requested()) return not_asked + "the sweep ends";
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (!std::filesystem::create_directories(folder, error))
    return not_asked + folder + ": " + error.message();
  WorkerClient client(
      with_tracer(worker, input.tracer_library, folder, input.spec.policy.deadline_s),
      worker_memory_limit(worker, input.device, input.workers.size()), interrupt);
  const Ending ending = ask_again(client, input, retry);
  const std::string asked = "asked again under the tracer, ";
  if (ending.interrupted) return asked + "it was not waited for, because the sweep ends";
  if (!ending.began) return asked + "it did not start: " + ending.reason;
  if (ending.outcome == Outcome::timeout) return asked + hung_again(read_hang_notes(folder));
  if (ending.outcome != Outcome::ok)
    return fmt::format("{}it did not hang, but: {}: {}", asked, to_string(ending.outcome),
                       ending.reason);
  return asked + "it did not hang";
}

}  // namespace nsa::tuner
