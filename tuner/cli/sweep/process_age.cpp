#include "process_age.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace nsa::cli {

double process_age_s() {
  constexpr int kFieldsBefore = 19;  // between the name and `starttime` (man 5 proc)
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_ends = text.rfind(')');  // a name may hold anything
  if (name_ends == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_ends + 1));
  std::string skipped;
  for (int i = 0; i < kFieldsBefore; ++i) fields >> skipped;
  double start_ticks = 0;
  timespec now{};
  if (!(fields >> start_ticks) || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  const auto ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  const double start_s = (start_ticks + 0.5) / ticks_per_s;  // whole ticks, rounded down
  const double now_s = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  return std::max(0.0, now_s - start_s);
}

}  // namespace nsa::cli
