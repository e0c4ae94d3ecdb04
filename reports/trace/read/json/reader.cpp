// The document around the events: an object with "traceEvents", or the bare array.
#include "event.hpp"
#include "metadata.hpp"
#include "sink.hpp"
#include "trace.hpp"
#include "window.hpp"

namespace nsa::trace {
namespace {

class JsonReader {
 public:
  JsonReader(ByteSource& source, const std::string& where, std::size_t window_bytes, Trace& trace)
      : window_(source, where, JsonEventParser::kPadding, window_bytes),
        where_(where),
        trace_(trace),
        fail_([this](const char* at, const std::string& what) {
          window_.fail(window_.offset_of(at), what);
        }),
        sink_(trace, fail_) {}

  void read() {
    window_.skip_byte_order_mark();
    if (window_.peek() == '[') {
      read_events();
    } else {
      read_object();
    }
    if (!window_.at_end()) window_.fail(window_.offset(), "text after the end of the JSON");
    trace_.source.bytes = window_.offset();
    sink_.finish(ours_, where_);
  }

 private:
  void read_object() {
    window_.expect('{');
    bool events = false;
    if (window_.peek() == '}') window_.fail(window_.offset(), "no \"traceEvents\": no trace");
    for (;;) {
      const std::string key(window_.string());
      window_.expect(':');
      if (key != "traceEvents") {
        read_metadata(key);
      } else if (events) {
        window_.fail(window_.offset(), "a second \"traceEvents\"");
      } else {
        events = true;
        read_events();
      }
      if (window_.peek() == '}') break;
      window_.expect(',');
    }
    window_.expect('}');
    if (!events) window_.fail(window_.offset(), "no \"traceEvents\": this is not a trace");
  }

  void read_events() {
    window_.expect('[');
    for (auto some = window_.elements(); !some.empty(); some = window_.elements()) read_some(some);
  }

  /// Elements whose end was guessed. Where it was wrong, or where they are no JSON, they are looked
  /// at exactly; those that were taken already are not taken again.
  void read_some(std::string_view likely) {
    struct NotWhole {};
    std::size_t taken = 0, seen = 0;
    sink_.make_room(window_.share_read());
    try {
      parser_.parse(
          likely, [&](const JsonEvent& event) { sink_.add(event), ++taken; },
          [](const char*, const std::string&) { throw NotWhole{}; });
    } catch (const NotWhole&) {
      parser_.parse(
          window_.elements_again(),
          [&](const JsonEvent& event) {
            if (++seen > taken) sink_.add(event);
          },
          fail_);
    }
  }

  void read_metadata(const std::string& key) {
    window_.peek();
    const std::uint64_t offset = window_.offset();
    const std::string array = "[" + std::string(window_.value()) + "]";
    std::string padded = array;
    padded.append(JsonEventParser::kPadding, ' ');
    parser_.check({padded.data(), array.size()}, [&](const char* at, const std::string& what) {
      window_.fail(offset + static_cast<std::uint64_t>(at - padded.data()) - (at > padded.data()),
                   what);
    });
    take_metadata(key, {array.data() + 1, array.size() - 2}, where_, offset, trace_, ours_);
  }

  JsonWindow window_;
  const std::string& where_;
  Trace& trace_;
  JsonEventParser::Fail fail_;
  JsonEventParser parser_;
  JsonSink sink_;
  OurMetadata ours_;
};

}  // namespace

Trace read_json(ByteSource& source, const std::string& where, std::size_t window_bytes) {
  Trace trace;
  trace.source.path = where;
  trace.source.format = "chrome_json";
  JsonReader(source, where, window_bytes, trace).read();
  return trace;
}

}  // namespace nsa::trace
