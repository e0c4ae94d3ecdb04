#include "evidence.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "nsa/doctor/gather.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/tuner/user_config.hpp"
#include "program.hpp"

namespace nsa::cli {
namespace {

using doctor::FileKind;
using doctor::RunEvidence;

constexpr std::size_t kHeadBytes = 64 << 10;
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;  // of what is text
constexpr std::size_t kMaxEnvironmentBytes = std::size_t{16} << 20;

struct Gathered {
  const Settings& settings;
  RunEvidence evidence = {};
  /// Those of evidence.traces, as long as they say their ranks, which are compared in the
  /// end: no file is read twice, and no other trace is kept.
  std::vector<trace::Trace> ranks = {};
  std::vector<std::string> databases = {};  // results databases that were named
};

std::ifstream open_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw InputError(doctor::clean(path) + ": is a folder; name its files");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(doctor::clean(path) + ": cannot be read: " + std::strerror(errno));
  return file;
}

/// A file is read twice, first to recognise it; a pipe gives its text only once.
std::string head_of(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status))
    throw InputError(
        doctor::clean(path) +
        ": is not a regular file, so it cannot be recognised by content; say what it is "
        "with --log or --env-file, or make it a file");
  std::ifstream file = open_file(path);
  std::string head(kHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

/// take(line, unfinished) for each line of a file of any size; the last one is unfinished where no
/// newline ends it. InputError for a line that no text has: memory would grow with it, and a device
/// may give it without end.
template <class Take>
void for_each_line(const std::string& path, Take take) {
  std::ifstream file = open_file(path);
  std::string line, chunk(kHeadBytes, '\0');
  std::int64_t number = 1;
  while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), file.gcount() > 0) {
    std::string_view rest(chunk.data(), static_cast<std::size_t>(file.gcount()));
    for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      line.append(rest.substr(0, end));
      take(line, false);
      line.clear();
      ++number;
    }
    line.append(rest);
    if (line.size() > kMaxLineBytes)
      throw InputError(
          doctor::clean(path) + ":" + std::to_string(number) +
          ": more than 64 MiB without a line end; this is not text, give the log itself");
  }
  if (!line.empty()) take(line, true);
}

void read_log(const std::string& path, RunEvidence& evidence) {
  doctor::LogReader reader(doctor::clean(path));
  for_each_line(path, [&](const std::string& line, bool) { reader.take(line); });
  if (reader.log().lines == 0) throw InputError(doctor::clean(path) + ": is empty");
  evidence.logs.push_back(reader.log());
  if (!reader.variables().empty())
    evidence.environments.push_back({reader.log().file, reader.variables(), false});
}

void read_heartbeat(const std::string& path, RunEvidence& evidence) {
  doctor::HeartbeatReader reader(path);
  for_each_line(path,
                [&](const std::string& line, bool unfinished) { reader.take(line, unfinished); });
  evidence.heartbeats.push_back(reader.finish());
}

void read_trace(const std::string& path, Gathered& into) {
  trace::Trace trace = trace::read_trace(path);
  into.evidence.traces.push_back(doctor::examine_trace(trace));
  into.ranks.push_back(std::move(trace));
  if (!doctor::may_be_ranks(into.evidence.traces)) into.ranks.clear();
}

void add_measured(const std::string& path, Gathered& into) {
  const auto rows = read_measured(into.settings, path);
  std::vector<doctor::Measured>& measured = into.evidence.measured;
  measured.insert(measured.end(), rows.begin(), rows.end());
}

void read_database(const std::string& path, Gathered& into) {
  add_measured(path, into);
  into.databases.push_back(path);
}

/// No rule judges measurements: they only settle what the rules about switches say. Where nothing
/// else was given, nothing was judged.
void add_databases(const Gathered& gathered, bool alone, RunEvidence& evidence) {
  for (const std::string& path : gathered.databases) {
    const std::string name = doctor::clean(path);
    evidence.not_judged.push_back(
        {name,
         fmt::format("a results database: its measurements only decide between switches that other "
                     "files set; for what was measured: nsatune report results --db {0}; for what "
                     "got slower: nsatune check --db {0}",
                     name),
         alone});
  }
}

/// A results database by the mark in its header, whatever else is wrong with it; else an export of
/// Nsight Systems.
void read_sqlite(const std::string& path, Gathered& into) {
  constexpr std::size_t kApplicationIdAt = 68;
  if (head_of(path).compare(kApplicationIdAt, 4, "nsat") != 0) return read_trace(path, into);
  read_database(path, into);
}

void read_environment_file(const std::string& path, RunEvidence& evidence) {
  std::ifstream file = open_file(path);  // /proc/PID/environ has no size, so it is read as a stream
  std::string text(kMaxEnvironmentBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxEnvironmentBytes)
    throw InputError(doctor::clean(path) +
                     ": is larger than 16 MiB, which no file of variables is; give the right one");
  evidence.environments.push_back(doctor::parse_environment_file(text, doctor::clean(path)));
}

/// A key that no rule reads because of a slip of the pen would be silence, which looks like health.
void read_config_file(const std::string& path, RunEvidence& evidence) {
  evidence.configs.push_back(read_config(read_text_file(path), path));
  const doctor::ConfigEvidence& config = evidence.configs.back();
  std::set<std::string> said;  // of the keys of one section, the section is said once
  for (const auto& [key, value] : config.keys) {
    const std::string slip = tuner::misspelt_key(key);
    if (!slip.empty() && said.insert(slip).second)
      evidence.not_judged.push_back({fmt::format("{}:{}", config.file, value.line), slip});
  }
}

void read_file(const std::string& path, Gathered& into) {
  RunEvidence& evidence = into.evidence;
  switch (doctor::recognise(head_of(path), path)) {
    case FileKind::config:
      read_config_file(path, evidence);
      break;
    case FileKind::log:
      read_log(path, evidence);
      break;
    case FileKind::heartbeat:
      read_heartbeat(path, evidence);
      break;
    case FileKind::trace:
      read_trace(path, into);
      break;
    case FileKind::sqlite:
      read_sqlite(path, into);
      break;
    case FileKind::environment:
      read_environment_file(path, evidence);
      break;
    case FileKind::command:
      evidence.commands.push_back(doctor::parse_command_record(read_text_file(path), path));
      break;
  }
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// The files of a folder by name, but for what `trace record` leaves beside its traces: the view of
/// all ranks, and texts about them.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool beside = name == "merged.json.gz" || name.ends_with(".summary.txt") ||
                        name.ends_with(".nsaspool") || name.starts_with('.');
    if (entry.is_regular_file(error) && !beside) files.push_back(entry.path().string());
  }
  if (error) throw InputError(doctor::clean(folder) + ": " + error.message());
  if (files.empty()) throw InputError(doctor::clean(folder) + ": has no file that doctor reads");
  std::sort(files.begin(), files.end());
  return files;
}

/// What cannot be read of a folder is said, and the rest is judged.
void read_folder(const std::string& folder, Gathered& into) {
  RunEvidence& evidence = into.evidence;
  for (const std::string& file : files_in(folder)) {
    try {
      const std::size_t logs = evidence.logs.size();
      read_file(file, into);
      // A text that nobody named may be anything.
      if (evidence.logs.size() > logs && !evidence.logs.back().any_known()) {
        evidence.logs.pop_back();
        evidence.not_judged.push_back({doctor::clean(file), "no rule knows anything in it"});
      }
    } catch (const InputError& e) {
      std::string reason = e.what();
      const std::string front = doctor::clean(file) + ": ";
      if (reason.starts_with(front)) reason.erase(0, front.size());
      evidence.not_judged.push_back({doctor::clean(file), reason, true});
    }
  }
}

/// Variables of this process. They are those of an NSA program when one of them is ours, or when
/// a config says that one will be started.
doctor::EnvironmentEvidence own_environment(bool with_config) {
  doctor::EnvironmentEvidence out;
  out.source = "environment";
  out.launch = with_config;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size()) continue;
    const std::string name = doctor::clean(text.substr(0, equals));
    out.variables[name] = {doctor::clean(text.substr(equals + 1)), 0};
    if (name.starts_with("NSA_")) out.launch = true;
  }
  return out;
}

}  // namespace

RunEvidence gather_evidence(const Settings& settings, const DoctorOptions& options) {
  Gathered gathered{settings};
  RunEvidence& evidence = gathered.evidence;
  for (const std::string& path : options.environment_files) read_environment_file(path, evidence);
  for (const std::string& path : options.configs) read_config_file(path, evidence);
  for (const std::string& path : options.logs) read_log(path, evidence);
  for (const std::string& path : options.files)
    is_folder(path) ? read_folder(path, gathered) : read_file(path, gathered);
  doctor::compare_ranks(std::move(gathered.ranks), evidence);
  // What is recorded ran elsewhere: this environment is judged only where a run starts from it.
  const bool past = !evidence.logs.empty() || !evidence.heartbeats.empty() ||
                    !evidence.traces.empty() || !evidence.commands.empty();
  const bool starts = !options.command.empty() || !evidence.configs.empty() || !past;
  const bool given = std::any_of(evidence.environments.begin(), evidence.environments.end(),
                                 [](const auto& e) { return e.launch; });
  if (starts && !given) {
    const bool nsa = std::ranges::any_of(evidence.configs, &doctor::ConfigEvidence::of_nsa);
    evidence.environments.insert(evidence.environments.begin(), own_environment(nsa));
  }
  if (!options.command.empty()) watch_command(options, settings.quiet, evidence);
  const std::string database = settings.db_path();
  if (settings.db) {
    read_database(database, gathered);
  } else if (std::filesystem::exists(database)) {
    add_measured(database, gathered);  // nobody named it, so nothing is said of it
  }
  add_databases(gathered, !past && !given && evidence.configs.empty() && options.command.empty(),
                evidence);
  return std::move(gathered.evidence);
}

}  // namespace nsa::cli
