// Calls of the API, and what they say of launches.
#include <algorithm>
#include <limits>
#include <string>

#include "cupti/call_names.hpp"
#include "cupti/convert.hpp"

namespace nsa::probes::cupti {

const Converter::Call& Converter::call(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                       RecordSink& sink) {
  auto& calls = calls_[domain == CUPTI_CB_DOMAIN_RUNTIME_API ? 0 : 1];
  if (calls.size() <= id) calls.resize(id + 1);
  Call& call = calls[id];
  if (call.known) return call;
  const char* name = nullptr;
  api_.callback_name(domain, id, &name);
  const std::string plain = plain_call_name(name ? name : "unknown");
  call = {sink.text(plain),
          true,
          is_kernel_launch(plain),
          is_graph_launch(plain),
          plain.find("BeginCapture") != std::string::npos,
          plain.find("EndCapture") != std::string::npos};
  return call;
}

/// A runtime call and the driver's call inside it share their id and are one launch.
void Converter::count_launch(const CUpti_ActivityAPI& a) {
  if (!launched_.insert(a.correlationId)) return;
  ++totals_.launches;
  if (!ran_.contains(a.correlationId)) pending_[a.correlationId] = ns(a.start);
}

/// A kernel is a launch too where its call was not recorded as one: calls of other names start
/// kernels (sets of memory, for one), and one call may start several.
void Converter::count_ran(std::uint32_t correlation) {
  pending_.erase(correlation);
  const bool first = ran_.insert(correlation);
  const bool unasked = launched_.insert(correlation);
  totals_.launches += !first || unasked;
}

/// Captures of one thread do not overlap; their calls may come in any order.
void Converter::see_capture(const CUpti_ActivityAPI& a, bool begins) {
  constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();
  if (begins) {
    captures_.push_back({a.threadId, ns(a.start), kOpen});
    return;
  }
  Capture* ended = nullptr;
  for (Capture& capture : captures_) {
    const bool before = capture.thread == a.threadId && capture.from_ns <= ns(a.start);
    if (before && (!ended || capture.from_ns > ended->from_ns)) ended = &capture;
  }
  if (ended) ended->until_ns = ns(a.end);
}

spool::SpoolTotals Converter::totals() const {
  spool::SpoolTotals totals = totals_;
  // Other threads launch into a capture too (the backward pass of PyTorch), so time alone counts.
  for (const auto& [correlation, at_ns] : pending_) {
    totals.launches -= std::any_of(captures_.begin(), captures_.end(), [at = at_ns](auto& capture) {
      return capture.from_ns <= at && at <= capture.until_ns;
    });
  }
  return totals;
}

void Converter::put(const CUpti_ActivityAPI& a, const Keep& keep, RecordSink& sink) {
  const bool runtime = a.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  const Call& called =
      call(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, a.cbid, sink);
  if (a.returnValue == 0 && called.kernel) count_launch(a);
  // A graph's launches are counted by its operations.
  if (a.returnValue == 0 && called.graph)
    totals_.graph_launches += launched_.insert(a.correlationId);
  if (called.begins_capture || called.ends_capture) see_capture(a, called.begins_capture);
  if (ns(a.start) < keep.from_ns || ns(a.start) >= keep.calls_until_ns ||
      a.correlationId < keep.first_correlation || a.correlationId >= keep.end_correlation)
    return;
  ++totals_.apis;
  spool::SpoolApi out;
  if (!runtime) out.record.flags = spool::kDriver;
  out.start_ns = ns(a.start);
  out.end_ns = ns(a.end);
  out.correlation = a.correlationId;
  out.name = called.text;
  out.thread = a.threadId;
  out.result = static_cast<std::int32_t>(a.returnValue);
  append(sink, out);
}

}  // namespace nsa::probes::cupti
