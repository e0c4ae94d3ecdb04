// Requests of the worker protocol as JSON lines.
#include "worker_messages.hpp"

namespace nsa::worker {

std::string encode(const Request& request) { return encode_message(request); }

Request decode_request(std::string_view line) {
  const std::string where = "worker request";
  const Json j = parse_json(line, where);
  validate_json(j, "worker_request", where);
  try {
    Request request;
    decode_message(j, "request", request);
    return request;
  } catch (const InputError& error) {
    throw InputError(where + ": " + error.what());
  }
}

}  // namespace nsa::worker
