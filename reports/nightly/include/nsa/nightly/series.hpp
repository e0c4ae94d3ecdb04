// What the nightly check judges: series of nights, each of some fresh processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nsa::nightly {

/// One night of a series.
struct Night {
  std::int64_t index = 0;      // data row (0-based) of its first replicate, or its number
  std::string time;            // as the source wrote it
  std::vector<double> values;  // one a replicate (a fresh process), any unit; empty = missing
  std::vector<double> cycles;  // device cycles beside `values`, or empty
  std::string environment;     // fingerprint; another one than the night before begins an epoch
  std::string binary;          // hash of the machine code that ran; empty = unknown
  std::string commit;          // of the sources; empty = unknown
  std::string failure;         // not empty: it was tried and gave no value, and why
  bool operator==(const Night&) const = default;
};

/// A variant on a problem on a device model (or a column of a CSV file), nights in order of time.
struct Series {
  std::string name;
  std::string device;   // model; alerts of one device are judged together
  std::string variant;  // alerts of one variant are one group
  bool canary = false;  // a fixed kernel: moves only when the machine does
  std::vector<Night> nights;
  bool operator==(const Series&) const = default;
};

}  // namespace nsa::nightly
