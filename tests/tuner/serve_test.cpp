// Our own worker, spoken to as anybody would.
#include <filesystem>

#include "catch.hpp"
#include "harness.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/directions.hpp"
#include "nsa/tuner/safetensors.hpp"
#include "process/child.hpp"
#include "sanitizers.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;
using namespace nsa::tuner;

namespace {

class OurWorker {
 public:
  OurWorker() : child_({NSA_OUR_WORKER, "cpu"}, std::nullopt) {}
  std::string say(const std::string& line) {
    child_.send(line);
    std::string reply;
    const auto event = child_.receive(reply, Clock::now() + seconds(60));
    return event == Child::Event::line ? reply : "(" + std::to_string(int(event)) + ")";
  }
  template <class Reply>
  Reply ask(const worker::Request& request) {
    const std::string line = say(worker::encode(request));
    INFO(line);
    const worker::Reply reply = worker::decode_reply(line);
    REQUIRE(std::holds_alternative<Reply>(reply));
    return std::get<Reply>(reply);
  }
  worker::HelloReply hello() { return ask<worker::HelloReply>(worker::HelloRequest{1, "cpu"}); }
  Child& child() { return child_; }

 private:
  Child child_;
};

VariantId ranges_v2() { return {{"ranges"}, "ranges_v2", {}}; }

}  // namespace

TEST_CASE(
    "hello names every row of the table for the CPU in each direction that it has contests of",
    "[tuner]") {
  OurWorker worker;
  const auto hello = worker.hello();
  CHECK(hello.executor == "nsatune");
  CHECK(hello.generator);
  CHECK(hello.verifies);
  std::size_t rows = 0;
  for (const Variant& variant : catalog())
    if (variant.backend == Backend::cpu) rows += directions_of(variant).size();
  CHECK(hello.variants.size() == rows);
}

TEST_CASE("a variant is described, prepared, verified, measured and released", "[tuner]") {
  OurWorker our;
  our.hello();
  const Problem problem = small_problem();
  const auto described =
      our.ask<worker::DescribedReply>(worker::DescribeRequest{1, problem, ranges_v2()});
  CHECK(described.supported);
  CHECK(described.bytes > 0);
  const auto prepared = our.ask<worker::PreparedReply>(
      worker::PrepareRequest{2, problem, ranges_v2(), 7, std::nullopt});
  CHECK(prepared.id == 2);
  CHECK(prepared.first_call_ns > 0);
  const std::string file =
      std::filesystem::temp_directory_path() / ("serve-" + std::to_string(getpid()));
  const auto verified = our.ask<worker::VerifiedReply>(
      worker::VerifyRequest{3, prepared.handle, std::vector<std::int64_t>{0, 5, 69}, file});
  CHECK(verified.poison_left == 0);
  CHECK(verified.non_finite == 0);
  CHECK(verified.worst_row_error == 0.0);
  const auto tensors = read_safetensors(file, 1u << 20);
  REQUIRE(tensors.size() == 1);
  CHECK(tensors[0].shape.shape[0] == 3);
  const auto measured = our.ask<worker::MeasuredReply>(
      worker::MeasureRequest{4, prepared.handle, 3, false, LaunchMode::eager, Timer::host});
  REQUIRE(measured.samples.size() == 3);
  for (const Sample& sample : measured.samples) CHECK(sample.device_ns > 0);
  our.ask<worker::ReleasedReply>(worker::ReleaseRequest{5, prepared.handle});
  const auto gone = our.ask<worker::FailedReply>(
      worker::MeasureRequest{6, prepared.handle, 3, false, LaunchMode::eager, Timer::host});
  CHECK(gone.id == 6);
}

TEST_CASE("a request that is wrong gets a failed reply with its id, and the worker goes on",
          "[tuner]") {
  OurWorker our;
  our.hello();
  CHECK(contains(our.say("{\"type\":\"measure\",\"id\":41}"), "\"id\":41"));
  CHECK(contains(our.say("rubbish"), "\"failed\""));
  Problem impossible = small_problem();
  const auto unknown = our.ask<worker::FailedReply>(
      worker::PrepareRequest{1, impossible, {{"ranges"}, "no_such", {}}, 0, std::nullopt});
  CHECK(unknown.status == Outcome::unsupported);
  const auto timer = [&] {
    const auto prepared = our.ask<worker::PreparedReply>(
        worker::PrepareRequest{2, small_problem(), ranges_v2(), 7, std::nullopt});
    return our.ask<worker::FailedReply>(
        worker::MeasureRequest{3, prepared.handle, 1, false, LaunchMode::eager, Timer::events});
  }();
  CHECK(timer.status == Outcome::unsupported);
  our.hello();
}

TEST_CASE("the worker ends when its input ends, and when it is told to", "[tuner]") {
  OurWorker closed, told;
  closed.hello();
  closed.child().close_input();
  CHECK(closed.child().wait(Clock::now() + seconds(10)) == std::string("exit code 0"));
  told.hello();
  told.child().send(worker::encode(worker::Request(worker::ByeRequest{})));
  std::string ignored;
  CHECK(told.child().receive(ignored, Clock::now() + seconds(10)) == Child::Event::end);
}

TEST_CASE("the worker refuses another device than it was started for", "[tuner]") {
  OurWorker our;
  const auto failed = our.ask<worker::FailedReply>(worker::HelloRequest{1, "cuda:9"});
  CHECK(contains(failed.reason, "cuda:9"));
}

TEST_CASE("asked by a signal, the worker tells its stage and its host stack", "[tuner]") {
  OurWorker our;
  if (kThreadSanitizer) return;  // it keeps signals back while a call blocks
  our.hello();
  const std::string report = hang_report(our.child());
  INFO(report);
  CHECK(contains(report, "host stack: waiting for a request"));
  CHECK(contains(report, "serve"));
  our.hello();  // and it goes on
}

TEST_CASE("our worker's variants of a stage are measured and verified", "[tuner]") {
  SweepSpec spec = small_spec({"70"}, 60);
  spec.families[0].stages = {"ranges", "attend_selected"};
  spec.policy.give_up_ratio = 1e9;
  spec.policy.processes = 1;
  SweepInput input = sweep_input(spec, {{{NSA_OUR_WORKER, "cpu"}, {}, true}});
  MemorySink sink;
  Notes notes;
  const auto report = run_sweep(input, sink, notes);
  CHECK(report.complete);
  CHECK(report.unsupported == static_cast<std::int64_t>(input.plan.skipped.size()));
  CHECK(report.failures == 0);
  CHECK(sink.of("ranges_v1").size() >= 2);
  CHECK(sink.of("ranges_v2").size() >= 2);
  for (const Measurement& row : sink.rows) {
    if (row.outcome != Outcome::ok) continue;
    INFO(to_string(row.variant) << " " << row.reason);
    CHECK(row.verification == Verification::verified);
    CHECK(row.cost.bytes > 0);
  }
}
