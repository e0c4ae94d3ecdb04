// Ratios in words, three significant digits. Functions share nothing: threads may call them at the
// same time.
#pragma once

#include <string>

namespace nsa {

/// Three significant digits without an exponent: 1.23, 12.3, 123, 1234.
std::string three_digits(double value);
/// "1.03x", "0.0256x"; "1.2e+04x" above 9999
std::string format_ratio(double ratio);

}  // namespace nsa
