#include "nsa/schemas/worker.hpp"

#include <sstream>

#include "catch.hpp"
#include "filled.hpp"

namespace nsa {
namespace {

std::vector<std::string> lines_of(const std::string& name) {
  std::istringstream text(read_text_file(test::golden_path(name)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::string reply_refusal(const std::string& line) {
  const auto message = test::message_of([&] { (void)worker::decode_reply(line); });
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.size() < 1000);
  return message;
}

std::string request_refusal(const std::string& line) {
  return test::message_of([&] { (void)worker::decode_request(line); });
}

TEST_CASE("the example conversation is decoded and encoded to the letter", "[schemas]") {
  const auto requests = lines_of("worker_requests.jsonl");
  CHECK(requests.size() == std::variant_size_v<worker::Request>);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const worker::Request request = worker::decode_request(requests[i]);
    CHECK(request.index() == i);
    CHECK(worker::encode(request) == requests[i]);
  }
  const auto replies = lines_of("worker_replies.jsonl");
  CHECK(replies.size() == std::variant_size_v<worker::Reply>);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const worker::Reply reply = worker::decode_reply(replies[i]);
    CHECK(reply.index() == i);
    CHECK(worker::encode(reply) == replies[i]);
  }
}

TEST_CASE("every message survives its line", "[schemas]") {
  const auto requests = test::filled_requests();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string line = worker::encode(requests[i]);
    CAPTURE(line);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(worker::encode(worker::decode_request(line)) == line);
  }
  for (const auto& replies : {test::filled_replies(), test::bare_replies()}) {
    for (const auto& reply : replies) {
      const std::string line = worker::encode(reply);
      CAPTURE(line);
      CHECK(line.find('\n') == std::string::npos);
      CHECK(worker::encode(worker::decode_reply(line)) == line);
    }
  }
}

TEST_CASE("a worker may bring stages, fields and points that we do not know", "[schemas]") {
  const auto reply = worker::decode_reply(
      R"({"type":"hello","protocol":1,"worker":"triton 3","executor":"triton","extra":{"a":[1]},)"
      R"("device":{"id":"cuda:0","backend":"cuda","name":"Fictional GPU","pci":"0:1"},)"
      R"("variants":[{"stages":["my_stage"],"name":"mine","notes":"x"},)"
      R"({"stages":["ranges"],"name":"r","points":[{},{"bm":128}],"source_hash":"1"}]})");
  const auto& hello = std::get<worker::HelloReply>(reply);
  CHECK_FALSE(hello.generator);
  CHECK(hello.verifies);
  REQUIRE(hello.variants.size() == 2);
  CHECK(hello.variants[0].stages == std::vector<std::string>{"my_stage"});
  REQUIRE(hello.variants[0].points.size() == 1);
  CHECK(hello.variants[0].points[0].empty());
  CHECK(hello.variants[1].points[1] == Point{{"bm", 128}});
  CHECK(hello.device.uuid.empty());
  CHECK_FALSE(hello.simulated);
  CHECK(hello.variants[0].order.empty());
  const auto failed = std::get<worker::FailedReply>(
      worker::decode_reply(R"({"type":"failed","status":"crashed","reason":"","x":1})"));
  CHECK(failed.id == 0);
}

TEST_CASE("a request that a worker does not know is a bad reply, and not the end of it",
          "[schemas]") {
  const auto failed = std::get<worker::FailedReply>(worker::decode_reply(
      R"({"type":"failed","id":3,"status":"bad_request","reason":"describe?"})"));
  CHECK(failed.id == 3);
  CHECK(failed.status == Outcome::bad_reply);
}

TEST_CASE("nothing that a worker says holds a control character", "[schemas]") {
  const auto hello = std::get<worker::HelloReply>(worker::decode_reply(
      R"({"type":"hello","protocol":1,"worker":"w\u001b[2J","executor":"e\u009b1m",)"
      R"("device":{"id":"cpu\u0007","backend":"cpu","name":"n\u202en","driver":"1\n2"},)"
      R"("variants":[{"stages":["ranges"],"name":"r","order":{"seq_len":2},)"
      R"("source_hash":"\u0000"}]})"));
  CHECK(hello.worker == "w\\x1b[2J");
  CHECK(hello.executor == "e\\u009b1m");
  CHECK(hello.device.id == "cpu\\x07");
  CHECK(hello.device.name == "n\\u202en");
  CHECK(hello.device.driver == "1\\n2");
  CHECK(hello.variants.at(0).source_hash == "\\x00");
  CHECK(hello.variants.at(0).order == worker::Orders{{"seq_len", 2}});
  const auto failed = std::get<worker::FailedReply>(worker::decode_reply(
      R"({"type":"failed","id":1,"status":"crashed","reason":"\u001b]0;x\u0007"})"));
  CHECK(failed.reason == "\\x1b]0;x\\x07");
}

TEST_CASE("an expected field is named once, and one of a thing is singular", "[schemas]") {
  CHECK(request_refusal(R"({"type":"hello","protocol":1,"device":"cpu","x":1})")
            .ends_with("the fields are type, protocol, device"));
  CHECK(request_refusal(R"({"type":"hello","protocol":1,"device":""})")
            .find("at least 1 character,") != std::string::npos);
}

TEST_CASE("an order is an exponent of 0 or more", "[schemas]") {
  const auto hello = [](const std::string& order) {
    return reply_refusal(R"({"type":"hello","protocol":1,"worker":"w","executor":"e",)"
                         R"("device":{"id":"cpu","backend":"cpu","name":"x"},"variants":[)"
                         R"({"stages":["ranges"],"name":"r","order":)" +
                         order + "}]}");
  };
  CHECK(hello(R"({"seq_len":2,"context_len":0})").empty());
  CHECK(hello(R"({"seq_len":-1})").starts_with("worker reply: /variants/0/order/seq_len: "));
  CHECK(hello(R"({"seq_len":"2"})").starts_with("worker reply: /variants/0/order/seq_len: "));
  CHECK(hello("[2]").starts_with("worker reply: /variants/0/order: "));
}

TEST_CASE("a reply that breaks the protocol is one line with a pointer", "[schemas]") {
  CHECK(reply_refusal("rubbish").starts_with("worker reply:1:1: "));
  CHECK(reply_refusal("").starts_with("worker reply: is empty; "));
  CHECK(reply_refusal("[]").starts_with("worker reply: /: an array"));
  CHECK(reply_refusal("{}").find("\"type\" is missing") != std::string::npos);
  CHECK(reply_refusal(R"({"type":"done"})").starts_with("worker reply: /type: \"done\" is not"));
  CHECK(reply_refusal(R"({"type":"measure","id":1})").starts_with("worker reply: /type: "));
  CHECK(reply_refusal(R"({"type":"measured","id":1})") ==
        "worker reply: /: the field \"samples\" is missing");
  CHECK(reply_refusal(R"({"type":"measured","id":1,"samples":[{"start_ns":1,"host_ns":1,)"
                      R"("device_ns":-7}]})") ==
        "worker reply: /samples/0/device_ns: -7 is not valid; expected integer, at least 0");
  CHECK(reply_refusal(R"({"type":"measured","id":1,"samples":[{"start_ns":1,"host_ns":1,)"
                      R"("device_ns":18446744073709551615}]})") ==
        "worker reply: /samples/0/device_ns: does not fit 64 bits");
  CHECK(reply_refusal(R"({"type":"failed","id":1,"status":"ok","reason":""})")
            .starts_with("worker reply: /status: \"ok\" is not valid"));
  CHECK(reply_refusal(R"({"type":"hello","protocol":2})").find("/") != std::string::npos);
  CHECK(reply_refusal(R"({"type":"verified","id":1,"poison_left":0,"non_finite":NaN})")
            .starts_with("worker reply:1:"));
  CHECK(reply_refusal(R"({"type":"verified","id":1,"poison_left":0,"non_finite":1e999})")
            .starts_with("worker reply:1:"));
  CHECK(reply_refusal(R"({"type":")" + std::string(1 << 20, 'x') + "\"}")
            .starts_with("worker reply: /type: \"xxx"));
}

TEST_CASE("variants of a worker have names that can stand in a key", "[schemas]") {
  const auto hello = [](const std::string& variant) {
    return reply_refusal(R"({"type":"hello","protocol":1,"worker":"w","executor":"e",)"
                         R"("device":{"id":"cpu","backend":"cpu","name":"x"},"variants":[)" +
                         variant + "]}");
  };
  CHECK(hello(R"({"stages":["ranges"],"name":"ok_1"})").empty());
  CHECK(hello(R"({"stages":["ranges"],"name":"../x"})").starts_with("worker reply: /variants/0: "));
  CHECK(hello(R"({"stages":["a b"],"name":"x"})").starts_with("worker reply: /variants/0: "));
  CHECK(hello(R"({"stages":["a"],"name":"x","points":[{"b2":1}]})").empty());
  CHECK(hello(R"({"stages":["a"],"name":"x","points":[{"b=2":1}]})")
            .starts_with("worker reply: /variants/0: "));
  CHECK(hello(R"({"stages":[],"name":"x"})").starts_with("worker reply: /variants/0/stages: "));
}

TEST_CASE("a request with an impossible problem is refused", "[schemas]") {
  worker::PrepareRequest prepare;
  prepare.variant.name = "x";
  prepare.problem.kv_heads = 5;
  CHECK(request_refusal(worker::encode(worker::Request(prepare)))
            .starts_with("worker request: /problem/q_heads: 12 is not a multiple"));
  CHECK(request_refusal(R"({"type":"bye","id":1})").find("unknown field \"id\"") !=
        std::string::npos);
}

TEST_CASE("an error that is no number is the worst that there is", "[schemas]") {
  worker::VerifiedReply verified;
  verified.worst_row_error = std::numeric_limits<double>::infinity();
  const auto again = worker::decode_reply(worker::encode(worker::Reply(verified)));
  CHECK(std::get<worker::VerifiedReply>(again).worst_row_error ==
        std::numeric_limits<double>::max());
}

}  // namespace
}  // namespace nsa
