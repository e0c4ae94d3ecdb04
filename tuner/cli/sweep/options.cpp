#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

#include "../run/options.hpp"
#include "files/read_document.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/tuner/user_config.hpp"

namespace nsa::cli {
namespace {

SweepSpec named_spec(const std::string& name, Backend backend) {
  if (const auto text = tuner::preset_text(name, backend))
    return parse_sweep_spec(*text, "preset " + name);
  const bool looks_like_a_file =
      name.find('.') != std::string::npos || name.find('/') != std::string::npos;
  if (!looks_like_a_file) {
    const std::vector<std::string> presets = tuner::preset_names();
    const std::vector<std::string_view> names(presets.begin(), presets.end());
    throw InputError(fmt::format("sweep: {} is neither a preset ({}) nor a .json file{}", name,
                                 fmt::join(presets, ", "), did_you_mean(name, names)));
  }
  return read_sweep_spec(name);
}

}  // namespace

void declare(CLI::App& sub, SweepOptions& o) {
  sub.add_option("spec", o.spec, "Preset, or a sweep.json of yours (default: quick)")
      ->check(has_values(tuner::preset_names()));
  sub.add_option("--stage", o.stages, "Only these stages")->delimiter(',');
  sub.add_option("--variant", o.variants, "Only these variants; globs: 'fa2_*'")->delimiter(',');
  sub.add_option("--axis", o.axes,
                 "Only these values: --axis seq_len=512,2048 (repeatable: those of all)")
      ->take_all();
  declare_config(sub, o.config, o.ignore_unknown, "Shape, precision and batch of your YAML");
  sub.add_option("--budget", o.budget,
                 "Stop after this time and keep what was measured: 90s, 7m30s, 2h");
  sub.add_flag("--dry-run", o.dry_run, "Print the plan and what it costs; measure nothing");
  sub.add_flag("--trace", o.trace,
               "After the timed passes: which kernels each variant runs, launches, host waits, "
               "bytes (through CUPTI; see nsatune db traces)");
  sub.add_flag("--counters", o.counters,
               "After those: DRAM, L2 and tensor-pipe shares of their peaks, DRAM bytes (through "
               "CUPTI; see nsatune db counters)");
  CLI::Option* worker = sub.add_option("--worker", o.worker, "Your worker, as a shell command");
  sub.add_flag("--with-ours", o.with_ours,
               "With --worker: measure the built-in variants too, interleaved with the worker's")
      ->needs(worker);
  declare_worker_memory(sub, o.worker_memory);
  CLI::Option* always_new =
      sub.add_flag("--new", o.always_new, "Start a new run even if one could be resumed");
  sub.add_option("--resume", o.resume_id, "Resume this run (id or its first digits)")
      ->excludes(always_new);
  sub.add_option("--resume-within", o.resume_within,
                 "Resume an unfinished run only if it is no older than this (default 6h)");
  sub.add_flag(
      "--json-lines", o.json_lines,
      "One JSON object on stdout for each event while it runs; the last one is the report");
  sub.add_flag("--accept-noise", o.accept_noise,
               "Count samples taken while the machine was busy, throttled or shared, too");
  sub.add_flag("--print-spec", o.print_spec,
               "Print the sweep.json that the preset and flags amount to; measure nothing");
  sub.add_flag("--strict", o.strict,
               "Exit 1 when a variant was wrong, crashed, failed otherwise or stayed noisy");
  declare_share(sub, o.share);
  sub.add_option("--seed", o.seed,
                 "Seed of the inputs and of the order in which variants are measured")
      ->check(whole_number());
}

SweepSpec make_spec(const Settings& settings, const SweepOptions& o, Backend backend) {
  SweepSpec spec = named_spec(o.spec, backend);
  if (o.config) {
    const std::string text = read_text_file(*o.config);
    const tuner::UserConfig config = tuner::parse_user_config(text, *o.config, o.ignore_unknown);
    for (const std::string& note : config.notes) say(settings, "note: " + note);
    spec = tuner::with_user_config(std::move(spec), config);
  }
  tuner::NarrowOptions narrow_to{o.stages, o.variants, {}, o.worker.has_value()};
  for (const std::string& text : o.axes) {
    auto [axis, values] = tuner::parse_axis_option(text);
    const auto same =
        std::ranges::find(narrow_to.axes, axis, [](const auto& a) { return a.first; });
    if (same == narrow_to.axes.end())
      narrow_to.axes.emplace_back(std::move(axis), std::move(values));
    else  // named again: these values as well
      same->second.insert(same->second.end(), values.begin(), values.end());
  }
  spec = tuner::narrow(std::move(spec), narrow_to);
  if (o.budget) spec.budget_s = parse_duration("--budget", *o.budget);
  if (o.seed) spec.seed = *o.seed;
  if (o.accept_noise) spec.policy.noise_gate = false;
  try {
    tuner::expand(spec);  // a bad problem is found here, before a worker or a database
  } catch (const InputError& error) {
    throw InputError(o.spec + ": " + error.what());
  }
  return spec;
}

double parse_duration(const std::string& flag, const std::string& text) {
  constexpr std::string_view kUnits = "dhms";  // each once at most, in this order
  constexpr std::array<double, kUnits.size()> kSeconds{86400, 3600, 60, 1};
  // A number alone is seconds.
  const std::string words = text.find_first_of(kUnits) == text.npos ? text + "s" : text;
  const char* const end = words.data() + words.size();
  double total = 0;
  std::size_t next = 0;  // the largest unit that may follow
  for (const char* at = words.data(); at != end;) {
    double value = 0;
    const auto [behind, error] = std::from_chars(at, end, value);
    const std::size_t unit = behind == end ? kUnits.npos : kUnits.find(*behind, next);
    if (error != std::errc{} || value < 0 || unit == kUnits.npos) {
      total = 0;
      break;
    }
    total += value * kSeconds[unit];
    next = unit + 1;
    at = behind + 1;
  }
  if (!(total > 0) || !std::isfinite(total))
    throw InputError(flag + ": " + text + " is not a duration; write 90s, 7m30s or 2h");
  return total;
}

std::uint64_t parse_bytes(const std::string& flag, const std::string& text) {
  constexpr std::string_view kUnits = "kmgt";
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, value);
  double bytes = error == std::errc{} ? value : 0;
  if (behind != end) {
    const std::size_t unit = kUnits.find(static_cast<char>(std::tolower(*behind)));
    const bool known = behind + 1 == end && unit != kUnits.npos;
    bytes = known ? std::ldexp(bytes, 10 * static_cast<int>(unit + 1)) : 0;
  }
  if (!(bytes >= 1) || bytes > 0x1p60)
    throw InputError(flag + ": " + text + " is not an amount of memory; write 8G or 512M");
  return static_cast<std::uint64_t>(bytes);
}

std::optional<std::uint64_t> worker_memory_bytes(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return parse_bytes("--worker-memory", *text);
}

void declare_worker_memory(CLI::App& sub, std::optional<std::string>& text) {
  sub.add_option("--worker-memory", text,
                 "Memory limit of a worker process: 8G, 512M (default: 4/5 of the "
                 "machine's, shared by the workers of a CPU; no limit on a GPU)");
}

}  // namespace nsa::cli
