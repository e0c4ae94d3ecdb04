// Requests of the worker protocol as JSON lines.
#include <functional>

#include "worker_messages.hpp"

namespace nsa::worker {

std::string encode(const Request& request) { return encode_message(request); }

Request decode_request(std::string_view line) {
  return decode_line<Request>(line, "request", std::identity{});
}

}  // namespace nsa::worker
