// Pieces of JSON that the events of one trace share, made once.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/error.hpp"
#include "nsa/trace/model.hpp"
#include "rows.hpp"
#include "text_buffer.hpp"

namespace nsa::trace {

struct ChromeTexts {
  explicit ChromeTexts(const Trace& trace);

  std::vector<std::string> names;   // [Trace::names] quoted
  std::vector<std::string> shapes;  // [Trace::shapes] arguments of a kernel, with a comma in front
  std::int64_t origin_ns = 0;       // the first event: times in the file count from there
  /// A time as the file says it. Throws InputError where no reader would take it.
  std::int64_t from_origin(std::int64_t at_ns) const {
    if (at_ns - origin_ns > kMaxTimeNs)
      throw InputError(
          "events that are more than 126 years apart cannot be written into one trace");
    return at_ns - origin_ns;
  }
};

/// `{"ph":"X","cat":"kernel","name":`
inline std::string begin_of(char phase, std::string_view category) {
  return std::string("{\"ph\":\"") + phase + "\",\"cat\":\"" + std::string(category) +
         "\",\"name\":";
}
inline void put_row(TextBuffer& out, Row row) {
  out << ",\"pid\":" << row.pid << ",\"tid\":" << row.tid;
}
/// `event` stands where one more event goes; the comma goes in front of all but the first.
class EventList {
 public:
  explicit EventList(TextBuffer& out) : out_(out) {}
  TextBuffer& next() {
    if (!first_) out_ << ",\n";
    first_ = false;
    return out_;
  }

 private:
  TextBuffer& out_;
  bool first_ = true;
};

}  // namespace nsa::trace
