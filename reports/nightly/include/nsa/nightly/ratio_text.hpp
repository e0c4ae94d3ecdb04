// How large a step is, in words.
#pragma once

#include <string>

namespace nsa::nightly {

/// "+2.13 %"; "1234x" from a thousandfold or a thousandth on, where nobody reads a percentage.
std::string ratio_text(double ratio);

}  // namespace nsa::nightly
