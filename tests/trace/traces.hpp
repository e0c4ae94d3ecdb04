// Small traces made by hand.
#pragma once

#include <string>

#include "nsa/trace/read.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::test {

/// Chrome trace JSON, one event after the other; times in microseconds.
class JsonTrace {
 public:
  /// A complete event with any further fields: `, "args": {...}`.
  JsonTrace& event(const std::string& category, const std::string& name, const std::string& ts,
                   const std::string& dur, const std::string& more = "");
  /// A kernel of device 0, stream 7, and its launch call on thread 1.
  JsonTrace& launched(const std::string& name, int correlation, double call_us, double start_us,
                      double dur_us, int stream = 7);
  JsonTrace& kernel(const std::string& name, int correlation, double start_us, double dur_us,
                    int stream = 7, int device = 0);
  JsonTrace& call(const std::string& name, int correlation, double start_us, double dur_us,
                  int thread = 1);
  JsonTrace& range(const std::string& name, double start_us, double dur_us, int thread = 1,
                   const std::string& category = "user_annotation");
  /// The same with members of "args".
  JsonTrace& op(const std::string& name, double start_us, double dur_us, const std::string& args,
                int thread = 1);
  JsonTrace& raw(const std::string& event);
  std::string text() const { return "{\"traceEvents\": [" + events_ + "]}"; }
  trace::Trace read() const { return trace::read_json_trace(text(), "test"); }
  trace::Summary summary() const { return trace::summarize(read()); }

 private:
  std::string events_;
};

/// What reading says of it: the message of the InputError, or "" when it was read.
std::string refusal(const std::string& json);
/// As gzip packs it.
std::string gzipped(const std::string& bytes);
/// A file of its own in a folder for tests, removed by the destructor.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace nsa::test
