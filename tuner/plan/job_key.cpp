// What makes one measurement different from another. Every field of the policy is in the key:
// another policy is another measurement.
#include <fmt/format.h>

#include "nsa/schemas/json.hpp"
#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {
namespace {

Json policy_json(const MeasurePolicy& policy, Timer timer) {
  Json json{{"samples", policy.samples},
            {"processes", policy.processes},
            {"min_rounds", policy.min_rounds},
            {"max_rounds", policy.max_rounds},
            {"epsilon", policy.epsilon},
            {"control", policy.control},
            {"cold", policy.cold},
            {"launch", to_string(policy.launch)},
            {"timer", to_string(timer)},
            {"noise_gate", policy.noise_gate},
            {"verify_rows", policy.verify_rows},
            {"deadline_s", policy.deadline_s},
            {"visit_target_s", policy.visit_target_s},
            {"give_up_ratio", policy.give_up_ratio}};
  if (policy.race) json["race"] = true;  // absent from the keys of before
  return json;
}

Json subject_json(const Problem& problem, const Candidate& candidate, const MeasurePolicy& policy,
                  Timer timer) {
  return Json{{"problem", problem},
              {"variant", to_string(candidate.id)},
              {"executor", candidate.executor},
              {"source_hash", candidate.source_hash},
              {"policy", policy_json(policy, timer)}};
}

}  // namespace

std::string job_subject(const Problem& problem, const Candidate& candidate,
                        const MeasurePolicy& policy, Timer timer) {
  return subject_json(problem, candidate, policy, timer).dump();
}

std::string job_key(const std::string& subject, std::int64_t process, std::int64_t round,
                    std::int64_t position, bool control) {
  return hash_hex(fmt::format("{} {} {} {} {}", subject, process, round, position, control));
}

std::string failure_key(const Problem& problem, const Candidate& candidate,
                        const MeasurePolicy& policy, Timer timer) {
  Json key = subject_json(problem, candidate, policy, timer);
  key["failure"] = true;
  return hash_hex(key.dump());
}

}  // namespace nsa::tuner
