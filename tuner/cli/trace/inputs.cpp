#include "inputs.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/trace_spool.hpp"
#include "nsa/trace/read.hpp"

namespace nsa::cli {
namespace {

namespace fs = std::filesystem;

bool is_trace_name(const std::string& name) {
  constexpr std::array<std::string_view, 3> kEnds{".json", ".json.gz", ".sqlite"};
  return name != "merged.json.gz" &&
         std::any_of(kEnds.begin(), kEnds.end(), [&](auto end) { return name.ends_with(end); });
}

std::vector<std::string> traces_in(const std::string& folder) {
  std::vector<std::string> traces, spools;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (is_trace_name(name)) traces.push_back(entry.path().string());
    if (name.ends_with(spool::kFileSuffix)) spools.push_back(entry.path().string());
  }
  if (error) throw InputError(folder + ": " + error.message());
  if (traces.empty()) traces = std::move(spools);
  if (traces.empty())
    throw InputError(folder + ": holds no trace (.json, .json.gz, .sqlite); name the files");
  std::sort(traces.begin(), traces.end());
  return traces;
}

}  // namespace

std::vector<std::string> trace_files(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  std::set<fs::path> seen;
  std::error_code ignored;
  for (const std::string& name : names) {
    const bool folder = fs::is_directory(name, ignored);
    for (std::string& file : folder ? traces_in(name) : std::vector{name}) {
      const fs::path real = fs::canonical(file, ignored);
      if (!real.empty() && !seen.insert(real).second)
        throw InputError(file + ": is named twice; its events would count twice");
      files.push_back(std::move(file));
    }
  }
  return files;
}

std::vector<trace::Trace> read_traces(const std::vector<std::string>& files) {
  std::vector<trace::Trace> traces;
  for (const std::string& file : files) {
    traces.push_back(trace::read_trace(file));
    if (files.size() > 1 && traces.back().source.clocks)
      throw InputError(file + ": holds several recordings already; give it alone, or leave it out");
  }
  return traces;
}

}  // namespace nsa::cli
