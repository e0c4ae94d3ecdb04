// Floating point operations of an operator, by the shapes of its inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nsa::trace {

struct OperatorInputs {
  std::vector<std::vector<double>> dims;  // [inputs] empty: a scalar, or nothing recorded
  std::string text;                       // as recorded; empty: no shapes
};

/// Out of HostRange::arguments.
OperatorInputs inputs_of(const std::string& arguments);

/// A multiplication and an addition are two. Of products and of attention, the latter as if nothing
/// was masked; absent of other operators, and of those that leave the work to another operator.
std::optional<double> flop_of(const std::string& name, const OperatorInputs& inputs);

}  // namespace nsa::trace
