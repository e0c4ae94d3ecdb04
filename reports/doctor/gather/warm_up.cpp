#include "warm_up.hpp"

#include <fmt/format.h>

#include "nsa/trace/filter.hpp"
#include "nsa/trace/warm_up.hpp"

namespace nsa::doctor {

std::string leave_out_warm_up(trace::Trace& trace) {
  const auto found = trace::warm_up_of(trace);
  if (!found) return {};
  trace::Filter filter;
  filter.steps = found->later;
  trace::keep(filter, trace);
  return fmt::format("the first {} of {} steps: they warmed up ({:.3g} ms each, later ones {:.3g})",
                     found->steps, found->all, static_cast<double>(found->median_ns) / 1e6,
                     static_cast<double>(found->later_median_ns) / 1e6);
}

}  // namespace nsa::doctor
