// The interval of a ratio as the program writes it everywhere.
#pragma once

#include <string>

namespace nsa {

/// "[0.97, 1.04]"; "[not known]" where the bounds are a factor of 10,000 apart or more, as those of
/// two samples are.
std::string format_interval(double low, double high);

}  // namespace nsa
