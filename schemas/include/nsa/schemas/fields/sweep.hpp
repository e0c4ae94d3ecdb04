// Fields of a sweep spec. A user writes only what differs from the defaults.
#pragma once

#include "nsa/schemas/fields/problem.hpp"
#include "nsa/schemas/sweep_spec.hpp"

namespace nsa::fields {

template <>
inline constexpr auto kFields<MeasurePolicy> =
    std::tuple{optional("samples", &MeasurePolicy::samples),
               optional("processes", &MeasurePolicy::processes),
               optional("min_rounds", &MeasurePolicy::min_rounds),
               optional("max_rounds", &MeasurePolicy::max_rounds),
               optional("epsilon", &MeasurePolicy::epsilon),
               optional("control", &MeasurePolicy::control),
               optional("cold", &MeasurePolicy::cold),
               optional("launch", &MeasurePolicy::launch),
               optional("timer", &MeasurePolicy::timer),
               optional("noise_gate", &MeasurePolicy::noise_gate),
               optional("verify_rows", &MeasurePolicy::verify_rows),
               optional("deadline_s", &MeasurePolicy::deadline_s),
               optional("visit_target_s", &MeasurePolicy::visit_target_s),
               optional("give_up_ratio", &MeasurePolicy::give_up_ratio),
               optional("race", &MeasurePolicy::race),
               optional("refine", &MeasurePolicy::refine),
               optional("held_out", &MeasurePolicy::held_out)};

template <>
inline constexpr auto kFields<ProblemFamily> =
    std::tuple{required("name", &ProblemFamily::name),
               optional("base", &ProblemFamily::base),
               optional("axes", &ProblemFamily::axes),
               unless_default("stages", &ProblemFamily::stages),
               unless_default("variants", &ProblemFamily::variants),
               unless_default("roles", &ProblemFamily::roles),
               optional("launch", &ProblemFamily::launch)};

template <>
inline constexpr auto kFields<SweepSpec> =
    std::tuple{required("schema_version", &SweepSpec::schema_version),
               optional("name", &SweepSpec::name),
               optional("stages", &SweepSpec::stages),
               optional("variants", &SweepSpec::variants),
               optional("policy", &SweepSpec::policy),
               optional("budget_s", &SweepSpec::budget_s),
               optional("contest_limit_s", &SweepSpec::contest_limit_s),
               optional("seed", &SweepSpec::seed),
               required("families", &SweepSpec::families)};

}  // namespace nsa::fields
