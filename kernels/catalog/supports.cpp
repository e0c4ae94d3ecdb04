// Whether a row runs a problem on a device: what the table says of it, asked in one order.
#include <algorithm>

#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/directions.hpp"
#include "runtime/composite/bounds.hpp"

namespace nsa {

namespace {

Support not_of_this_dtype(const Variant& variant, const Problem& problem) noexcept {
  Support answer = Support::no(variant.name, " stores ");
  const char* separator = "";
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    if (!(variant.dtypes & dtype_bit(dtype))) continue;
    answer.add(separator);
    answer.add(to_string(dtype));
    separator = ", ";
  }
  answer.add(", not ");
  answer.add(to_string(problem.dtype));
  return answer;
}

/// Whatever the problem's direction: the forward pass of it.
Support runs_forward(const Variant& variant, const Problem& problem,
                     const Device& device) noexcept {
  if ((variant.dtypes & dtype_bit(problem.dtype)) == 0) return not_of_this_dtype(variant, problem);
  const Support own = variant.supports ? variant.supports(problem, device) : Support::yes();
  return own.supported ? parts_run(variant, problem, device) : own;
}

}  // namespace

Support not_of_this_kind(const Variant& variant, const Problem& problem) noexcept {
  if (computes(variant, problem.direction)) return not_of_this_dtype(variant, problem);
  return Support::no(variant.name, " computes the ", to_string(variant.direction),
                     " direction only");
}

Support runs_saving(const Variant& variant, const Problem& problem, const Device& device) noexcept {
  if (!computes(variant, problem.direction)) return not_of_this_kind(variant, problem);
  return runs_forward(variant, problem, device);
}

Support parts_run(const Variant& variant, const Problem& problem, const Device& device) noexcept {
  // Dense attention has a problem of its own, with a window over all tokens: its rows look there.
  if (variant.plan.dense) return Support::yes();
  for (const Part& part : variant.plan.parts) {
    if (!part.row) continue;  // a row that is not of catalog()
    const Support answer = problem.direction == kForwardBackward
                               ? runs_forward(*part.row, problem, device)
                               : runs_asked(*part.row, problem, device);
    if (!answer.supported) return Support::no(to_string(part.stage), ": ", answer);
  }
  return Support::yes();
}

Support runs_on(const Variant& variant, const Device& device, bool libraries) {
  if (device.backend != variant.backend) {
    return Support::no(variant.name, " runs on ", to_string(variant.backend), " devices, and ",
                       device.id, " is not one");
  }
  const int capability = device.compute_capability.value_or(0);
  if (capability < variant.min_compute_capability) {
    return Support::no(variant.name, " needs compute capability ", variant.min_compute_capability,
                       ", ", device.id, " has ", capability);
  }
  if (libraries && variant.missing && !variant.missing().empty())
    return Support::no(variant.missing());
  for (const Part& part : variant.plan.parts) {
    if (!part.row) continue;
    if (const Support answer = runs_on(*part.row, device, libraries); !answer.supported)
      return answer;
  }
  return Support::yes();
}

Support supports(const Variant& variant, const Problem& problem, const Device& device) {
  if (const Support here = runs_on(variant, device); !here.supported) return here;
  const Support answer = runs_asked(variant, problem, device);
  const bool composite = variant.stages.front() >= Stage::attention && is_composite(variant);
  return answer.supported && composite ? stages_run(variant, problem, device) : answer;
}

Point default_point_of(const Variant& variant, const Problem& problem) {
  const std::size_t at = variant.default_point ? variant.default_point(problem) : 0;
  return ids_of(variant).at(at).point;
}

std::int64_t workspace_of(const Variant& variant, const Problem& problem) {
  if (variant.workspace_bytes) return variant.workspace_bytes(problem);
  std::int64_t most = 0;  // parts give back what they took before the next one runs
  for (const Part& part : variant.plan.parts) {
    if (part.row) most = std::max(most, workspace_of(*part.row, problem));
  }
  return most;
}

}  // namespace nsa
