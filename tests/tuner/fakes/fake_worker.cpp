// A worker that misbehaves on purpose. Usage: fake_worker MODE [milliseconds]
// It brings attend_selected variants good, other and bad; only `bad` misbehaves, in the way of
// MODE.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/oracle.hpp"
#include "nsa/schemas/trace_request.hpp"
#include "nsa/schemas/worker.hpp"
#include "nsa/tuner/safetensors.hpp"
#include "spool_builder.hpp"

namespace {

using namespace nsa;
using namespace nsa::worker;

struct Prepared {
  std::string name;
  Problem problem;
  std::uint64_t seed = 0;
};

std::string mode;
std::int64_t sleep_ms = 1;
std::map<std::int64_t, Prepared> handles;
std::int64_t prepared_handles = 0;
std::int64_t measured = 0, traced = 0;  // requests so far
bool context_lost = false;              // as after an illegal access: every request fails

bool is(const char* name) { return mode == name; }
void say(const std::string& text) { std::cout << text << '\n' << std::flush; }
void say(const Reply& reply) { say(encode(reply)); }
void pause_ms(std::int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
[[noreturn]] void hang() {
  while (true) pause_ms(1000);
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void on_hello() {
  if (is("exit_at_hello")) std::exit(7);
  if (is("slow_hello")) pause_ms(sleep_ms);
  if (is("device_is_taken"))
    return say(FailedReply{0, Outcome::unsupported, "another process holds the GPU"});
  if (is("other_protocol")) return say(R"({"type":"hello","protocol":2})");
  HelloReply reply;
  reply.worker = "fake";
  reply.executor = is("as_nsatune") ? "nsatune" : is("as_NSATune") ? "NSATune" : "fake";
  reply.generator = !is("needs_inputs");
  reply.verifies = is("honest") || is("verifies_once") || is("wrong_once") || is("lie_rows") ||
                   is("poison") || is("no_output_file") || is("wants_peers") ||
                   is("verifies_before_measuring") || mode.ends_with("_verify");
  for (const char* name : {"good", "other", "bad"})
    reply.variants.push_back(
        {{"attend_selected"}, name, {Point{}}, "hash_of_" + std::string(name)});
  reply.simulated = is("simulated");
  say(reply);
  if (is("hello_twice")) say(reply);
}

bool is_traced() { return std::getenv(spool::kEnvFolder) != nullptr; }

/// What the tracer inside leaves behind: a note on something else, one on a hang, and the stacks.
void leave_spool() {
  test::SpoolBuilder spool;
  const auto note = [&](spool::NoteWhat what, const std::string& text) {
    spool::SpoolNote record;
    record.what = what;
    record.text = spool.text(text);
    spool.append(record);
  };
  if (is("other_tool_measure")) {
    note(spool::NoteWhat::degraded, "CUPTI is held by another tool");
  } else {
    note(spool::NoteWhat::information, "not to be told");
    note(spool::NoteWhat::hang, "nothing ended on the GPU for " +
                                    std::string(std::getenv(spool::kEnvHangMs)) +
                                    " ms\nlast kernel: spins<float>(int)\x1b\nopen ranges:\n"
                                    "thread 12: step 1 > attend_selected\n");
    note(spool::NoteWhat::hang, std::string(spool::kHostStacks) + "\n12 fake: pause < main\n");
  }
  const std::string bytes = spool.bytes() + "torn";
  std::ofstream(std::getenv(spool::kEnvFolder) + std::string("/here.1") + spool::kFileSuffix)
      << bytes;
}

void die() {
  if (is("exit_prepare") || is("exit_measure") || is("exit_verify")) {
    std::cerr << "a last word\n";
    std::_Exit(3);
  }
  if (is("segfault_prepare") || is("segfault_measure")) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (is("hang_prepare") || is("hang_measure") || is("hang_verify")) hang();
  if (is("hang_once_measure") && !is_traced()) hang();
  if (is("crash_then_measure")) is_traced() ? std::_Exit(3) : hang();
  if (is("noted_measure") || is("noted_prepare") || is("other_tool_measure")) {
    if (is_traced()) leave_spool();
    hang();
  }
}

/// Whether the request finds the context lost, now or since one before.
bool fails(std::int64_t id, bool loses_context) {
  context_lost = context_lost || loses_context;
  if (context_lost) say(FailedReply{id, Outcome::crashed, "cudaErrorIllegalAddress (700)"});
  return context_lost;
}

void on_prepare(const PrepareRequest& request) {
  const bool bad = request.variant.name == "bad";
  if (fails(request.id, bad && is("loses_context_preparing"))) return;
  if (bad && mode.ends_with("_prepare")) die();
  const bool is_long = request.problem.max_seq_len() > 64;
  if (bad && (is("out_of_memory") || (is("fast_without_memory") && is_long)))
    return say(FailedReply{request.id, Outcome::out_of_memory, "needs 51.5 GB, 12.1 GB free"});
  if (is("needs_inputs")) {
    const auto tensors = tuner::read_safetensors(request.inputs.value_or("none"), 1u << 30);
    if (tensors.size() != signature_of(Stage::attend_selected).inputs.size()) std::exit(9);
  }
  // Its A/A control comes after all others, so `bad` is the second to get the first handle.
  const bool shared = bad && is("same_handle");
  const std::int64_t handle = shared ? 1 : ++prepared_handles;
  handles[handle] = {request.variant.name, request.problem, request.seed};
  if (is("most_handles") && handles.size() > 4)
    return say(FailedReply{request.id, Outcome::out_of_memory, "too many handles"});
  const std::int64_t workspace_bytes = is("tells_pid") ? getpid() : is("tells_when") ? now_ns() : 0;
  say(PreparedReply{request.id, handle, 1'000'000 * sleep_ms, workspace_bytes});
  if (bad && is("prepared_twice")) say(PreparedReply{request.id, handle, 1, 0});
}

/// The right rows of attend_selected, or wrong ones for a liar.
void write_rows(const VerifyRequest& request, const Prepared& prepared) {
  const auto inputs = make_inputs(Stage::attend_selected, prepared.problem, prepared.seed);
  std::vector<TensorView> views;
  for (const HostTensor& tensor : inputs) views.push_back(tensor.view());
  const Oracle oracle(Stage::attend_selected, prepared.problem, views);
  std::vector<float> values;
  for (const std::int64_t row : request.rows.value()) {
    for (const double x : oracle.row(0, row)) values.push_back(static_cast<float>(x));
  }
  const bool wrong_now = is("wrong_once") && prepared.problem.max_seq_len() == 40;
  if (prepared.name == "bad" && (is("lie_rows") || wrong_now)) values.back() += 0.5F;
  const Problem& p = prepared.problem;
  const auto rows = static_cast<std::int64_t>(request.rows->size());
  const tuner::NamedView out{
      "o_sel", make_view(values.data(), Dtype::fp32, {rows, p.q_heads, p.head_dim_v})};
  tuner::write_safetensors(request.outputs, std::span(&out, 1));
}

void on_verify(const VerifyRequest& request) {
  if (fails(request.id, false)) return;
  const Prepared& prepared = handles.at(request.handle);
  if (prepared.name == "bad" && mode.ends_with("_verify")) die();
  if (is("verifies_before_measuring") && measured > 0)
    return say(FailedReply{request.id, Outcome::unsupported, "asked after a visit"});
  // The longer problem and the second process number come later: who asks there asks too often.
  if (is("verifies_once") && prepared.problem.max_seq_len() != 40)
    return say(FailedReply{request.id, Outcome::unsupported, "asked twice"});
  if (!(prepared.name == "bad" && is("no_output_file"))) write_rows(request, prepared);
  const bool alone = is("wants_peers") && handles.size() < 3;
  const bool poisoned = alone || (prepared.name == "bad" && is("poison"));
  say(VerifiedReply{request.id, poisoned ? 4 : 0, 0, std::nullopt});
}

/// What the clocks say of the visit with the number `measured`, from 1 on, in this process.
std::optional<std::string> throttle_now() {
  if (is("too_hot")) return "sw_power_cap,sw_thermal";
  if (is("hot_at_first")) return measured <= 3 ? "hw_slowdown" : "";
  if (is("capped")) return "sw_power_cap";
  if (is("capped_later")) return measured > 4 ? "sw_power_cap" : "";
  return std::nullopt;
}

void on_measure(const MeasureRequest& request) {
  ++measured;
  const Prepared& prepared = handles.at(request.handle);
  const bool bad = prepared.name == "bad";
  if (fails(request.id, bad && is("loses_context_measuring"))) return;
  if (bad) {
    if (mode.ends_with("_measure")) die();
    if (is("rubbish")) return say("Segmentation fault (just kidding) \x01\xff");
    if (is("flood")) {
      const std::string block(1 << 20, 'x');
      for (int i = 0; i < 100; ++i) std::cout << block;
      return say("");
    }
    if (is("chatter")) {
      for (int i = 0; i < 1000; ++i) say("progress " + std::to_string(i));
    }
    if (is("wrong_id")) return say(MeasuredReply{request.id + 100, {}, {}, {}, {}, {}});
    if (is("wrong_type")) return say(ReleasedReply{request.id});
    if (is("not_a_number"))
      return say(R"({"type":"measured","id":)" + std::to_string(request.id) +
                 R"(,"samples":[{"start_ns":0,"device_ns":NaN,"host_ns":NaN}]})");
  }
  MeasuredReply reply;
  reply.id = request.id;
  for (std::int64_t i = 0; i < request.samples; ++i) {
    const std::int64_t start = now_ns();
    const std::int64_t ms = sleep_ms * (prepared.name == "other" ? 2 : 1);
    pause_ms(ms);
    // Equal variants take turns in being faster; steady ones take what they should on a busy
    // machine too.
    const std::int64_t turn = (measured * 7919) % 101;
    const std::int64_t took = is("equal")    ? 1000 + turn
                              : is("steady") ? ms * 1'000'000 + turn * 1000
                                             : now_ns() - start;
    reply.samples.push_back({start, took, took, std::nullopt});
  }
  reply.clocks.throttle = throttle_now();
  if (bad && mode.starts_with("fast")) {
    const bool lies = is("fast_then_lies") && prepared.problem.max_seq_len() > 64;
    for (Sample& sample : reply.samples) sample.device_ns = sample.host_ns = lies ? 1 : 3000;
  }
  if (bad && is("zero_time")) reply.samples.back().device_ns = 0;
  if (bad && is("negative_time")) reply.samples.back().device_ns = -5;
  if (bad && is("few_samples")) reply.samples.pop_back();
  for (Sample& sample : reply.samples) {
    if (bad && is("one_ns")) sample.device_ns = 1;
    if (bad && is("above_host")) sample.device_ns = 2 * sample.host_ns;
    if ((bad && is("above_wall")) || is("simulated"))
      sample.device_ns = 10'000'000'000, sample.host_ns = 0;
  }
  if (bad && is("remarks")) reply.note = "the timers differ";
  const std::string line = encode(Reply(reply));
  if (is("partial")) {  // a line in two pieces is still a line
    std::cout << line.substr(0, line.size() / 2) << std::flush;
    pause_ms(5);
    return say(line.substr(line.size() / 2));
  }
  say(line);
  if (bad && is("answered_twice")) say(line);
}

void on_trace(const TraceRequest& request) {
  ++traced;
  const bool bad = handles.at(request.handle).name == "bad";
  if (bad && is("cannot_trace"))
    return say(FailedReply{request.id, Outcome::unsupported, "there is no CUPTI here"});
  if (bad && is("hang_trace")) hang();
  TracedReply reply;
  reply.id = request.id;
  reply.trace.kernels = {{"kernel_of_" + handles.at(request.handle).name, 2, 300}};
  reply.trace.launches = 2;
  say(reply);
}

/// What was asked before stands in the counters, so that the order of the passes shows.
void on_count(const CountRequest& request) {
  const bool bad = handles.at(request.handle).name == "bad";
  if (is("refuses_count") || (bad && is("cannot_count")))
    return say(FailedReply{request.id, Outcome::unsupported, "administrators only"});
  if (bad && is("hang_count")) hang();
  CountedReply reply;
  reply.id = request.id;
  reply.counters.dram_share = request.cold ? 0.5 : 0.25;
  reply.counters.passes = 1;
  reply.counters.metrics = {{"measured", static_cast<double>(measured)},
                            {"traced", static_cast<double>(traced)}};
  say(reply);
}

void on_release(const ReleaseRequest& request) {
  if (is("hang_release")) hang();
  if (is("cannot_release"))
    return say(FailedReply{request.id, Outcome::unsupported, "release is not known here"});
  handles.erase(request.handle);
  say(ReleasedReply{request.id});
}

void on_request(const Request& request) {
  if (std::holds_alternative<HelloRequest>(request)) on_hello();
  if (const auto* r = std::get_if<PrepareRequest>(&request)) on_prepare(*r);
  if (const auto* r = std::get_if<VerifyRequest>(&request)) on_verify(*r);
  if (const auto* r = std::get_if<MeasureRequest>(&request)) on_measure(*r);
  if (const auto* r = std::get_if<TraceRequest>(&request)) on_trace(*r);
  if (const auto* r = std::get_if<CountRequest>(&request)) on_count(*r);
  if (const auto* r = std::get_if<DescribeRequest>(&request)) {
    if (is("hang_describe")) hang();
    if (is("describes_much")) {
      DescribedReply reply;
      reply.id = r->id;
      reply.supported = true;
      reply.flop = reply.bytes = 1e30;
      return say(reply);
    }
    if (is("bad_request"))
      return say(R"({"type":"failed","id":)" + std::to_string(r->id) +
                 R"(,"status":"bad_request","reason":"unknown type describe"})");
    if (is("refuses_problem"))
      return say(FailedReply{r->id, Outcome::out_of_memory, "\x1b[2Jneeds 51.5 GB"});
    say(FailedReply{r->id, Outcome::unsupported, "describe is not known here"});
  }
  if (const auto* r = std::get_if<ReleaseRequest>(&request)) on_release(*r);
  if (std::holds_alternative<ByeRequest>(request)) std::exit(is("stays") ? (hang(), 0) : 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* log = std::getenv("FAKE_WORKER_LOG"); log && is_traced())
    std::ofstream(log, std::ios::app) << std::getenv(spool::kEnvCudaInjection) << "\n";
  if (argc > 1) mode = argv[1];
  if (argc > 2) sleep_ms = std::stoll(argv[2]);
  for (std::string line; std::getline(std::cin, line);) on_request(decode_request(line));
  if (is("stays")) hang();
}
