// NVTX marks of a spool to ranges: begin and end are records of their own.
#pragma once

#include <unordered_map>
#include <vector>

#include "nsa/schemas/trace_spool.hpp"
#include "nsa/trace/model.hpp"

namespace nsa::trace {

class SpoolMarkers {
 public:
  explicit SpoolMarkers(Trace& trace) : trace_(trace) {}

  /// `thread`: its number in the trace. Buffers of several threads come in any order.
  void add(const spool::SpoolMarker& marker, NameId name, std::uint32_t thread) {
    marks_.push_back({marker, name, thread});
  }
  /// What was sent in a range of that name.
  void add(const spool::SpoolMessage& message, NameId name, std::uint32_t thread) {
    messages_.push_back({message, name, thread});
  }
  /// Pairs them. What was not ended stays open up to `last_ns`.
  void finish(std::int64_t last_ns);

 private:
  struct Open {
    std::int64_t start_ns;
    NameId name;
    std::uint32_t thread;
  };
  struct Mark {
    spool::SpoolMarker marker;
    NameId name;
    std::uint32_t thread;
  };
  struct Message {
    spool::SpoolMessage message;
    NameId name;
    std::uint32_t thread;
  };
  void pair(const Mark& mark);
  void attach_messages();
  void end(const Open& open, std::int64_t end_ns, std::uint32_t thread);

  Trace& trace_;
  std::vector<Mark> marks_;
  std::vector<Message> messages_;
  std::unordered_map<std::uint64_t, Open> by_id_;
  std::unordered_map<std::uint32_t, std::vector<Open>> by_thread_;  // those without an id
};

}  // namespace nsa::trace
