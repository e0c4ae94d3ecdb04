#include "recording.hpp"

namespace nsa::trace {

Json recording_json(const Trace& trace, const OurMetadata& ours) {
  Recording recording{.origin_ns = ours.origin_ns,
                      .untimed_ops = trace.source.untimed_ops,
                      .holds_overhead = trace.source.holds_overhead,
                      .processes = {},
                      .device_pids = ours.device_pids,
                      .clocks = trace.source.clocks,
                      .python_frames = {}};
  for (std::size_t i = 1; i < trace.python_frames.size(); ++i) {
    const PythonFrame& frame = trace.python_frames[i];
    recording.python_frames.push_back(
        {trace.names.text(frame.function), trace.names.text(frame.file), frame.line, frame.caller});
  }
  for (std::size_t i = 0; i < trace.processes.size(); ++i)
    recording.processes.push_back({ours.pids.at(i), trace.processes[i]});
  return fields::object_of(recording);
}

bool take_recording(const Json& value, Trace& trace, OurMetadata& ours) {
  Recording recording;
  try {
    fields::read_object(value, recording);
  } catch (const InputError&) {
    return false;
  }
  if (recording.version != 1 || recording.origin_ns > kMaxTimeNs ||
      recording.origin_ns < -kMaxTimeNs)
    return false;
  trace.source.untimed_ops += recording.untimed_ops;
  trace.source.holds_overhead = recording.holds_overhead;
  trace.source.clocks = std::move(recording.clocks);
  for (DrawnProcess& process : recording.processes) {
    trace.processes.push_back(std::move(process.info));
    ours.pids.push_back(std::move(process.pids));
  }
  for (const DrawnFrame& frame : recording.python_frames) {
    if (frame.caller >= trace.python_frames.size()) return false;
    trace.python_frames.push_back({trace.names.intern(frame.function),
                                   trace.names.intern(frame.file), frame.line, frame.caller});
  }
  ours.origin_ns = recording.origin_ns;
  ours.device_pids = std::move(recording.device_pids);
  return true;
}

}  // namespace nsa::trace
