#include "nsa/probes/activity.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes {

struct ActivitySession::State {};

ActivitySession::ActivitySession(const ActivityOptions&) {
  throw EnvironmentError(activity_missing());
}
ActivitySession::~ActivitySession() = default;
ActivityTrace ActivitySession::take() { return {}; }
void ActivitySession::flush() {}

std::string activity_missing() { return "this build has no CUPTI: the toolkit had no cupti.h"; }
std::string activity_holder() { return {}; }
std::uint32_t activity_version() { return 0; }

}  // namespace nsa::probes
