// Fields of runs and of the environment in which they ran.
#pragma once

#include "nsa/schemas/fields/problem.hpp"
#include "nsa/schemas/run.hpp"

namespace nsa::fields {

template <>
inline constexpr auto kFields<EnvironmentFact> =
    std::tuple{required("key", &EnvironmentFact::key), required("value", &EnvironmentFact::value),
               optional("epoch", &EnvironmentFact::epoch)};

template <>
inline constexpr auto kFields<Run> =
    std::tuple{required("id", &Run::id),
               required("spec_hash", &Run::spec_hash),
               required("spec_json", &Run::spec_json),
               required("build_id", &Run::build_id),
               required("environment_hash", &Run::environment_hash),
               required("environment", &Run::environment),
               required("devices", &Run::devices),
               required("started_at", &Run::started_at),
               optional("ended_at", &Run::ended_at),
               required("state", &Run::state)};

}  // namespace nsa::fields
