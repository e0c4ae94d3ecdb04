// What was moved, between which kinds of memory, and how fast.
#include <algorithm>
#include <array>
#include <map>

#include "analyse/parts.hpp"
#include "analyse/sums.hpp"

namespace nsa::trace {
namespace {

struct Way {
  std::string_view word, kind;
};
/// As PyTorch, Nsight Systems and our tracer write them, and ROCm.
constexpr std::array kWays{Way{"HtoD", "HtoD"},
                           Way{"DtoH", "DtoH"},
                           Way{"DtoD", "DtoD"},
                           Way{"PtoP", "PtoP"},
                           Way{"HtoH", "HtoH"},
                           Way{"HostToDevice", "HtoD"},
                           Way{"DeviceToHost", "DtoH"},
                           Way{"DeviceToDevice", "DtoD"},
                           Way{"Host-to-Device", "HtoD"},
                           Way{"Device-to-Host", "DtoH"},
                           Way{"Device-to-Device", "DtoD"}};

/// Which memory of the host it was; of copies that stay on devices, theirs.
std::optional<std::string> memory_of(const std::string& kind, const std::string& name) {
  if (name.find("Pageable") != name.npos) return "pageable";
  if (name.find("Pinned") != name.npos) return "pinned";
  if (name.find("Managed") != name.npos) return "managed";
  if (kind == "DtoD" || kind == "PtoP" || kind == "memset") return "device";
  return {};
}

struct Copies {
  CopyRow row;
  std::vector<std::int64_t> bytes_per_ms;
};

/// 1 byte/ns is 1 GB/s; whole numbers of bytes a millisecond, so that the median is one that was.
void count(const GpuOp& op, Copies& into) {
  const std::int64_t ns = op.end_ns - op.start_ns;
  ++into.row.count;
  add_to(into.row.total_ns, ns);
  const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(op.bytes, INT64_MAX));
  add_bytes(into.row.bytes, bytes);
  if (ns <= 0 || bytes <= 0) return;
  constexpr double kMostPerMs = 1e18;  // a damaged file may say any size
  const double rate = 1e6 * static_cast<double>(bytes) / static_cast<double>(ns);
  into.bytes_per_ms.push_back(static_cast<std::int64_t>(std::min(rate, kMostPerMs)));
}

}  // namespace

std::string_view copy_kind(std::string_view name) {
  for (const Way& way : kWays)
    if (name.find(way.word) != name.npos) return way.kind;
  return "other";
}

void add_copies(const TraceContext& context, Summary& out) {
  const Trace& trace = context.trace;
  std::map<std::pair<std::string, std::string>, Copies> rows;
  for (const GpuOp& op : trace.ops) {
    if (op.kind != OpKind::copy && op.kind != OpKind::set) continue;
    const std::string& name = trace.names.text(op.name);
    const std::string kind(op.kind == OpKind::set ? "memset" : copy_kind(name));
    const std::optional<std::string> memory = memory_of(kind, name);
    Copies& copies = rows[{kind, memory.value_or("")}];
    copies.row.kind = kind;
    copies.row.memory = memory;
    count(op, copies);
  }
  std::vector<CopyRow> all;
  for (auto& [key, copies] : rows) {
    if (std::vector<std::int64_t>& rates = copies.bytes_per_ms; !rates.empty()) {
      copies.row.best_gb_per_s =
          1e-6 * static_cast<double>(*std::max_element(rates.begin(), rates.end()));
      copies.row.median_gb_per_s = 1e-6 * static_cast<double>(nearest_rank(rates, 50));
    }
    all.push_back(copies.row);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const CopyRow& a, const CopyRow& b) { return a.total_ns > b.total_ns; });
  out.copies = std::move(all);
}

}  // namespace nsa::trace
