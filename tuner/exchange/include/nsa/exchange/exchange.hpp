// Results in the formats of other programs: one table of formats, and the way into the database.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/thresholds.hpp"
#include "nsa/store/store.hpp"

namespace nsa::exchange {

/// A run without its rows: spec, build, environment, devices, and what it found of libraries.
struct RunHead {
  Run run;
  std::vector<Capability> libraries;
};

/// Rows with their samples, the devices that their placements name, and the runs that are known.
struct Results {
  std::vector<Device> devices;
  std::vector<Measurement> rows;
  std::vector<RunHead> runs = {};
};

/// What the user says of a file that does not say it.
struct Mapping {
  std::optional<std::string> executor;  // instead of the tool's name
  std::optional<std::string> device;    // name of the device on which it was measured
  std::optional<std::string> stage;     // NSA stage that was measured
  std::optional<std::string> variant;   // parameter of the file that names the implementation
  /// Axis of a problem (an axis of a sweep, or compressed_len) and the parameter of the file that
  /// holds its value; or, in `fixed`, the value itself.
  std::vector<std::pair<std::string, std::string>> axes, fixed;
};

/// A file as it is read. `where` begins every message; `sidecar` gives the bytes of a file that
/// lies beside it.
struct Input {
  std::string where;
  std::string_view text;
  std::function<std::string(const std::string& name)> sidecar;
  Mapping mapping;
};

/// What a file holds. Rows of foreign files have neither id nor run: import_runs gives them.
struct Imported : Results {
  std::vector<std::string> notes;  // one line each, for the user and for the run's spec
};

/// A file as it is written, with the files that have to lie beside it, by relative name.
struct Bundle {
  std::string text;
  std::map<std::string, std::string> sidecars;
};

/// One format. `read` throws InputError with one line on anything that is not a file of it.
struct Format {
  std::string_view name;                 // on the command line
  std::string_view extensions;           // usual names of its files
  std::string_view about;                // whose it is
  std::string_view carries;              // what of a row survives export and import
  Imported (*read)(const Input& input);  // null: written only
  /// `file_name`: without its folder; sidecars are named after it. Null: read only.
  Bundle (*write)(const Results& results, const std::string& file_name);
};

/// All formats, in the order of the documentation.
std::span<const Format> formats();
/// InputError names the formats there are.
const Format& find_format(std::string_view name);
/// The table of the documentation.
std::string formats_markdown();

/// What a file is, by its first bytes or its keys.
struct Recognised {
  std::string what;         // "a sweep spec, for nsatune sweep"
  std::string_view format;  // that reads it, or ""
};
/// For a message about a file that is none of the format that was named; nothing where nobody
/// knows.
std::optional<Recognised> recognise(std::string_view text);

/// Where rows came from: what stands in the spec of their run.
struct Provenance {
  std::string format, file, build_id;
  std::string content_hash;  // of all bytes of the file and its sidecars
  Mapping mapping;
};

/// The rows in their runs: those that the file carries whole, where the user does not say that the
/// rows are somebody else's, and else one of their own for each run that it tells apart. Ids of
/// these are made of the content, so that the same file gives the same ids again. InputError where
/// an id stands twice.
std::vector<store::RunWithRows> import_runs(Imported imported, const Provenance& provenance);

/// A C++ header: for each class and stage a constexpr function from a length to a variant's name.
std::string thresholds_header(const ThresholdTable& table);

}  // namespace nsa::exchange
