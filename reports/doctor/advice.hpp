// What to do about a finding, by what is set already.
#pragma once

#include <string>

#include "nsa/doctor/rule.hpp"

namespace nsa::doctor {

/// The advice of a finding, else of its rule: "export A=1; and the rest". A variable that is set so
/// already is not asked for, but said to be; one of NSA's only where something given is of an NSA
/// program. What is set counts in the environments that the finding names, else in any.
std::string advice_of(const RunEvidence& evidence, const Finding& finding);

}  // namespace nsa::doctor
