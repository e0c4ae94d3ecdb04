#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "cupti/tracer.hpp"
#include "nsa/probes/activity.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes {
namespace {

std::string demangled(std::string_view name) {
  const std::string mangled(name);
  int status = 1;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string plain = status == 0 && text ? text : mangled;
  std::free(text);
  return plain;
}

/// Sorts records into the lists of a trace.
class Collector final : public cupti::RecordSink {
 public:
  std::uint32_t text(std::string_view text) override {
    if (text.empty()) return 0;
    const auto found = numbers_.find(std::string(text));
    if (found != numbers_.end()) return found->second;
    const auto number = static_cast<std::uint32_t>(texts_.size());
    texts_.push_back(demangled(text));
    numbers_.emplace(text, number);
    return number;
  }
  void append(const void* record, std::uint32_t) override {
    spool::SpoolRecord head;
    std::memcpy(&head, record, sizeof head);
    switch (head.kind) {
      case spool::Kind::device:
        return keep(trace_.devices, record);
      case spool::Kind::kernel:
        return keep(trace_.kernels, record);
      case spool::Kind::copy:
        return keep(trace_.copies, record);
      case spool::Kind::set:
        return keep(trace_.sets, record);
      case spool::Kind::api:
        return keep(trace_.calls, record);
      case spool::Kind::sync:
        return keep(trace_.syncs, record);
      case spool::Kind::memory:
        return keep(trace_.memory, record);
      case spool::Kind::overhead:
        return keep(trace_.overhead, record);
      default:
        return;
    }
  }
  ActivityTrace take() {
    ActivityTrace taken = std::move(trace_);
    trace_ = {};
    taken.texts = texts_;
    return taken;
  }

 private:
  template <class Record>
  static void keep(std::vector<Record>& list, const void* record) {
    std::memcpy(&list.emplace_back(), record, sizeof(Record));
  }

  ActivityTrace trace_;
  std::vector<std::string> texts_{""};
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace

struct ActivitySession::State {
  Collector collector;
  std::unique_ptr<cupti::Tracer> tracer;
};

ActivitySession::ActivitySession(const ActivityOptions& o) : state_(std::make_unique<State>()) {
  try {
    state_->tracer = cupti::Tracer::open(state_->collector, {});
  } catch (const cupti::Held& held) {
    throw EnvironmentError(held.what());
  }
  state_->tracer->start(
      {o.copies, o.calls, o.noise_calls, o.synchronisation, o.memory, o.overhead});
}

ActivitySession::~ActivitySession() {
  try {
    state_->tracer->stop();
  } catch (...) {  // the records are not wanted any more
  }
}

ActivityTrace ActivitySession::take() {
  state_->tracer->flush(true);
  ActivityTrace trace;
  state_->tracer->locked([&] { trace = state_->collector.take(); });
  trace.totals = state_->tracer->totals();
  return trace;
}

void ActivitySession::flush() { state_->tracer->flush(false); }

std::string activity_missing() { return cupti::shared_api().missing(); }
std::string activity_holder() { return cupti::Tracer::holder(); }
std::uint32_t activity_version() { return cupti::shared_api().version(); }

}  // namespace nsa::probes
