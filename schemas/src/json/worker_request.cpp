// Requests of the worker protocol as JSON lines.
#include "fields.hpp"

namespace nsa::worker {
namespace {

using fields::put;
using fields::put_or_null;
using fields::read;
using fields::require;

Json message(const char* type) {
  Json j = Json::object();
  j["type"] = type;
  return j;
}

Json message(const char* type, std::int64_t id) {
  Json j = message(type);
  j["id"] = id;
  return j;
}

Json json_of(const HelloRequest& v) {
  Json j = message("hello");
  put(j, "protocol", v.protocol);
  put(j, "device", v.device);
  return j;
}

Json json_of(const DescribeRequest& v) {
  Json j = message("describe", v.id);
  put(j, "problem", v.problem);
  put(j, "variant", v.variant);
  return j;
}

Json json_of(const PrepareRequest& v) {
  Json j = message("prepare", v.id);
  put(j, "problem", v.problem);
  put(j, "variant", v.variant);
  put(j, "seed", v.seed);
  put_or_null(j, "inputs", v.inputs);
  return j;
}

Json json_of(const VerifyRequest& v) {
  Json j = message("verify", v.id);
  put(j, "handle", v.handle);
  put_or_null(j, "rows", v.rows);
  put(j, "outputs", v.outputs);
  return j;
}

Json json_of(const MeasureRequest& v) {
  Json j = message("measure", v.id);
  put(j, "handle", v.handle);
  put(j, "samples", v.samples);
  put(j, "cold", v.cold);
  put(j, "launch", v.launch);
  put(j, "timer", v.timer);
  return j;
}

Json json_of(const TraceRequest& v) {
  Json j = message("trace", v.id);
  put(j, "handle", v.handle);
  put(j, "launch", v.launch);
  put(j, "samples", v.samples);
  return j;
}

Json json_of(const CountRequest& v) {
  Json j = message("count", v.id);
  put(j, "handle", v.handle);
  put(j, "launch", v.launch);
  put(j, "cold", v.cold);
  return j;
}

Json json_of(const ReleaseRequest& v) {
  Json j = message("release", v.id);
  put(j, "handle", v.handle);
  return j;
}

Json json_of(const ByeRequest&) { return message("bye"); }

HelloRequest hello(const Json& j) {
  HelloRequest v;
  require(j, "protocol", v.protocol);
  require(j, "device", v.device);
  return v;
}

/// A problem that breaks a constraint never reaches the code that would divide
/// by it.
void read_work(const Json& j, Problem& problem, VariantId& variant) {
  require(j, "problem", problem);
  if (const auto violation = find_violation(problem)) throw InputError("/problem" + *violation);
  require(j, "variant", variant);
}

DescribeRequest describe(const Json& j) {
  DescribeRequest v;
  require(j, "id", v.id);
  read_work(j, v.problem, v.variant);
  return v;
}

PrepareRequest prepare(const Json& j) {
  PrepareRequest v;
  require(j, "id", v.id);
  read_work(j, v.problem, v.variant);
  require(j, "seed", v.seed);
  read(j, "inputs", v.inputs);
  return v;
}

VerifyRequest verify(const Json& j) {
  VerifyRequest v;
  require(j, "id", v.id);
  require(j, "handle", v.handle);
  read(j, "rows", v.rows);
  require(j, "outputs", v.outputs);
  return v;
}

MeasureRequest measure(const Json& j) {
  MeasureRequest v;
  require(j, "id", v.id);
  require(j, "handle", v.handle);
  require(j, "samples", v.samples);
  require(j, "cold", v.cold);
  require(j, "launch", v.launch);
  require(j, "timer", v.timer);
  return v;
}

TraceRequest trace(const Json& j) {
  TraceRequest v;
  require(j, "id", v.id);
  require(j, "handle", v.handle);
  require(j, "launch", v.launch);
  require(j, "samples", v.samples);
  return v;
}

CountRequest count(const Json& j) {
  CountRequest v;
  require(j, "id", v.id);
  require(j, "handle", v.handle);
  require(j, "launch", v.launch);
  require(j, "cold", v.cold);
  return v;
}

ReleaseRequest release(const Json& j) {
  ReleaseRequest v;
  require(j, "id", v.id);
  require(j, "handle", v.handle);
  return v;
}

Request convert(const Json& j) {
  std::string type;
  require(j, "type", type);
  if (type == "hello") return hello(j);
  if (type == "describe") return describe(j);
  if (type == "prepare") return prepare(j);
  if (type == "verify") return verify(j);
  if (type == "measure") return measure(j);
  if (type == "trace") return trace(j);
  if (type == "count") return count(j);
  if (type == "release") return release(j);
  if (type == "bye") return ByeRequest{};
  throw fields::FieldError("/type", fields::shown(type) + " is no request");
}

}  // namespace

std::string encode(const Request& request) {
  return std::visit([](const auto& v) { return json_of(v).dump(); }, request);
}

Request decode_request(std::string_view line) {
  const std::string where = "worker request";
  const Json j = parse_json(line, where);
  validate_json(j, "worker_request", where);
  try {
    return convert(j);
  } catch (const InputError& error) {
    throw InputError(where + ": " + error.what());
  }
}

}  // namespace nsa::worker
