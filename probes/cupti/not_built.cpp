// What needs CUPTI, in a build whose toolkit had no cupti.h, or that of CUDA 12.
#include "cuda/event_timer.hpp"
#include "nsa/probes/activity.hpp"
#include "nsa/probes/launch_trace.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes {

struct ActivitySession::State {};

ActivitySession::ActivitySession(const ActivityOptions&) {
  throw EnvironmentError(activity_missing());
}
ActivitySession::~ActivitySession() = default;
ActivityTrace ActivitySession::take() { return {}; }
void ActivitySession::flush() {}

std::string activity_missing() {
  return "this build has no CUPTI: its toolkit had no cupti.h of CUDA 13";
}
std::string activity_holder() { return {}; }
std::uint32_t activity_version() { return 0; }

std::unique_ptr<LaunchTimer> make_cupti_timer(const Device&, CUstream_st*) {
  throw EnvironmentError(activity_missing());
}

LaunchTrace trace_launch(const Device&, CUstream_st*, int, void (*)(void*), void*) {
  throw EnvironmentError(activity_missing());
}

}  // namespace nsa::probes
