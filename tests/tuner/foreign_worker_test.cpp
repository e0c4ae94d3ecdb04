// What a run keeps of a worker of somebody else.
#include "nsa/tuner/foreign_worker.hpp"

#include "catch.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa {
namespace {

worker::HelloReply hello() {
  worker::HelloReply reply;
  reply.executor = "triton";
  reply.device.id = "cuda:0";
  reply.device.backend = Backend::cuda;
  reply.device.name = "Fictional GPU";
  reply.variants = {{{"attend_selected"}, "packed", {{}}, "1", {{"seq_len", 2}}},
                    {{"my_stage"}, "mine", {{{"bq", 64}}, {{"bq", 128}}}, "2", {{"seq_len", 1}}},
                    {{"my_stage"}, "silent", {{}}, "3"}};
  return reply;
}

Run run_with(const tuner::ForeignWorker& worker) {
  Run run;
  run.id = "r";
  run.spec_json = Json{{"name", "quick"}, {"worker", tuner::to_spec(worker)}}.dump();
  return run;
}

}  // namespace

TEST_CASE("what a worker said of itself is read back from its run", "[tuner]") {
  const auto said = tuner::foreign_worker("python3 w.py", hello(), "host");
  const auto again = tuner::foreign_worker_of(run_with(said)).value();
  CHECK(again.command == "python3 w.py");
  CHECK(again.executor == "triton");
  CHECK_FALSE(again.simulated);
  CHECK(again.device == said.device);
  REQUIRE(again.orders.size() == 3);  // one for each point; `silent` says none
  CHECK(again.orders.at({{"attend_selected"}, "packed", {}}) == worker::Orders{{"seq_len", 2}});
  CHECK(again.orders.at({{"my_stage"}, "mine", {{"bq", 128}}}) == worker::Orders{{"seq_len", 1}});
}

TEST_CASE("a device without an uuid gets one of its host and name", "[tuner]") {
  const auto uuid = [](const std::string& host, const std::string& name) {
    worker::HelloReply reply = hello();
    reply.device.name = name;
    return tuner::foreign_worker("w", reply, host).device.uuid;
  };
  CHECK_FALSE(uuid("a", "GPU").empty());
  CHECK(uuid("a", "GPU") == uuid("a", "GPU"));
  CHECK(uuid("a", "GPU") != uuid("b", "GPU"));
  CHECK(uuid("a", "GPU") != uuid("a", "other GPU"));
  worker::HelloReply named = hello();
  named.device.uuid = "GPU-1";
  CHECK(tuner::foreign_worker("w", named, "a").device.uuid == "GPU-1");
}

TEST_CASE("a simulated device is never the one that it plays", "[tuner]") {
  worker::HelloReply reply = hello();
  reply.device.uuid = "GPU-1";
  reply.simulated = true;
  const auto played = tuner::foreign_worker("w", reply, "a");
  CHECK(played.device.uuid != "GPU-1");
  CHECK(played.device.name == "Fictional GPU (simulated)");
  CHECK(tuner::foreign_worker_of(run_with(played)).value().simulated);
}

TEST_CASE("free memory, which differs from start to start, makes no other run", "[tuner]") {
  worker::HelloReply now = hello(), later = hello();
  now.device.memory_free_bytes = 1;
  later.device.memory_free_bytes = 2;
  CHECK(tuner::to_spec(tuner::foreign_worker("w", now, "a")) ==
        tuner::to_spec(tuner::foreign_worker("w", later, "a")));
}

TEST_CASE("a run without a foreign worker has none, and a damaged one is refused", "[tuner]") {
  Run run;
  run.spec_json = R"({"name":"quick"})";
  CHECK_FALSE(tuner::foreign_worker_of(run));
  run.spec_json = R"({"name":"quick","worker":"python3 w.py"})";  // of an older version
  CHECK_FALSE(tuner::foreign_worker_of(run));
  for (const char* text : {R"({"worker":{}})", R"({"worker":{"command":1}})", "rubbish"}) {
    run.spec_json = text;
    CHECK_THROWS_AS(tuner::foreign_worker_of(run), InputError);
  }
}

}  // namespace nsa
