#include "formats.hpp"

#include "nsa/schemas/error.hpp"

namespace nsa::exchange {
namespace {

constexpr Format kFormats[] = {
    {"csv", ".csv, .csv.gz", "our own table of rows",
     "of samples the median; all else but job keys, `vocab_size`, and of runs "
     "their "
     "spec, environment, libraries and all of a device but name and UUID",
     read_own_csv, write_own_csv},
    {"json", ".json, .json.gz", "our own document",
     "everything where it was exported with `--samples`; else of samples the median", read_own_json,
     write_own_json},
    {"kernel_tuner", ".json", "Kernel Tuner's cache file; one that was not closed is repaired",
     "everything", read_kernel_tuner, write_kernel_tuner},
    {"t4", ".json", "T4 results 1.0.0 of the autotuning community", "everything", read_t4,
     write_t4},
    {"nvbench", ".json, -bin/N.bin", "NVBench JSON 1.0.0 with its samples beside it",
     "everything; device times as float32 seconds: exact below 15.6 ms, above to 6e-8 of the time",
     read_nvbench, write_nvbench},
    {"google_benchmark", ".json", "Google Benchmark's JSON", "everything", read_google_benchmark,
     write_google_benchmark},
    {"tunableop", ".csv", "CSV in the form of PyTorch's TunableOp",
     "of each variant on each problem the mean of all samples that count; executor, one device, "
     "launch, timer, cold",
     read_tunableop, write_tunableop},
    {"otava", ".csv", "time series of Apache Otava: a line for each run",
     "of each run, variant and problem the median of the visits that count; executor, device, "
     "launch, timer, cold, run, time of the run's first row",
     read_otava, write_otava},
    {"nsa_vibe", ".csv, .txt, .md, .json",
     "the users' own: decode and selection CSV, FA-2 logs and reports, decode guards", "read only",
     read_nsa_vibe, nullptr},
};

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format& find_format(std::string_view name) {
  std::string known;
  for (const Format& format : kFormats) {
    if (format.name == name) return format;
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  throw InputError("format '" + std::string(name.substr(0, 40)) +
                   "' is unknown; use one of: " + known);
}

std::string formats_markdown() {
  std::string text = "| format | files | whose | what of a row survives |\n|---|---|---|---|\n";
  for (const Format& f : kFormats) {
    text += "| `" + std::string(f.name) + "` | " + std::string(f.extensions) + " | " +
            std::string(f.about) + " | " + std::string(f.carries) + " |\n";
  }
  return text;
}

}  // namespace nsa::exchange
