// Results of programs that know nothing of NSA: what the user says of them makes rows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nsa/exchange/exchange.hpp"

namespace nsa::exchange {

/// One configuration as another program measured it.
struct Record {
  std::string subject = {};  // what ran: kernel, benchmark, operation
  std::vector<std::pair<std::string, std::string>> params = {};
  std::vector<std::int64_t> device_ns = {};  // zero: a time that is none
  std::string statistic = {};                // what the one sample is; empty: samples are raw
  Outcome outcome = Outcome::ok;
  std::string reason = {};
  Verification verification = Verification::unverified;
  Timer timer = Timer::host;  // host where the file does not say
  bool cold = false;
  std::string measured_at = {};
};

/// What all records of a file share.
struct RecordSource {
  std::string executor;  // the tool's name
  std::string device;    // as the file names it; empty: it does not
  Backend backend = Backend::cuda;
};

/// As a uuid of ours says ("CPU-...", "GPU-..."), else by the clock: the host's times a CPU.
Backend backend_of(const std::string& uuid, Timer timer);
/// The device that a name stands for: its uuid is made of the name, never one of this machine's.
Device named_device(const std::string& name, Backend backend);
/// Rows of records, by what the mapping says of stage, axes and names. InputError with what is
/// missing.
Imported rows_of_records(const std::vector<Record>& records, const RecordSource& source,
                         const Input& input);
/// A row without problem and variant: outcome, samples and note of a record.
Measurement measured_row(const Record& record, const RecordSource& source, const Device& device);
/// The device of a source, or the one that the user names instead.
Device device_of(const RecordSource& source, const Mapping& mapping);
/// Letters, digits, '_' and '-' of a name; anything else becomes '_'. Never empty.
std::string word_of(const std::string& text);

}  // namespace nsa::exchange
