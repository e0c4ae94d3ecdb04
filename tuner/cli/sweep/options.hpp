// What `sweep` is asked for, and the spec that it means.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "nsa/schemas/sweep_spec.hpp"
#include "nsa/tuner/plan.hpp"
#include "program.hpp"

namespace nsa::cli {

struct SweepOptions {
  std::string spec = "quick";  // preset or file
  std::vector<std::string> stages, variants, axes;
  std::optional<std::string> config;  // users.yaml
  bool ignore_unknown = false;        // keys of it
  std::optional<std::string> budget;  // "10m"
  bool dry_run = false, trace = false, counters = false;
  std::optional<std::string> worker;
  bool with_ours = false;
  std::optional<std::string> worker_memory;  // "8G"
  bool always_new = false;
  std::optional<std::string> resume_id;
  std::string resume_within = "6h";
  std::optional<std::uint64_t> seed;
  bool accept_noise = false;
  bool json_lines = false;
  bool strict = false;
  bool print_spec = false;
  bool share = false;  // the device with others
};

void declare(CLI::App& sub, SweepOptions& options);
/// The spec: preset (that of the device's back end) or file, the user's shape, narrowed. InputError
/// names what is wrong; keys of a config that are ignored are said.
SweepSpec make_spec(const Settings& settings, const SweepOptions& options, Backend backend);
/// "90", "90s", "7m30s", "6h", "1d" -> seconds. InputError with the flag's name.
double parse_duration(const std::string& flag, const std::string& text);
/// "8G", "512M", "1.5g", "4096" -> bytes, in powers of 1024. InputError with the flag's name.
std::uint64_t parse_bytes(const std::string& flag, const std::string& text);
/// What --worker-memory says; nothing where it is not there.
std::optional<std::uint64_t> worker_memory_bytes(const std::optional<std::string>& text);
/// Declares --worker-memory.
void declare_worker_memory(CLI::App& sub, std::optional<std::string>& text);

}  // namespace nsa::cli
