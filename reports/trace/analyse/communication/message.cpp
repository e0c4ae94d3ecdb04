#include "message.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "nsa/schemas/json.hpp"
#include "patterns.hpp"

namespace nsa::trace {
namespace {

struct Width {
  std::string_view dtype;
  std::int64_t bytes;
};
/// As PyTorch writes scalar types, and the C++ types of its inputs.
constexpr std::array kWidths{Width{"Float", 4},
                             Width{"Double", 8},
                             Width{"Half", 2},
                             Width{"BFloat16", 2},
                             Width{"Long", 8},
                             Width{"Int", 4},
                             Width{"Short", 2},
                             Width{"Char", 1},
                             Width{"Byte", 1},
                             Width{"Bool", 1},
                             Width{"UInt16", 2},
                             Width{"UInt32", 4},
                             Width{"UInt64", 8},
                             Width{"ComplexHalf", 4},
                             Width{"ComplexFloat", 8},
                             Width{"ComplexDouble", 16},
                             Width{"Float8_e5m2", 1},
                             Width{"Float8_e4m3fn", 1},
                             Width{"Float8_e5m2fnuz", 1},
                             Width{"Float8_e4m3fnuz", 1},
                             Width{"float", 4},
                             Width{"double", 8},
                             Width{"c10::Half", 2},
                             Width{"c10::BFloat16", 2},
                             Width{"long", 8},
                             Width{"long int", 8},
                             Width{"int", 4},
                             Width{"short", 2},
                             Width{"short int", 2},
                             Width{"signed char", 1},
                             Width{"unsigned char", 1},
                             Width{"bool", 1}};

constexpr const char* kNcclSize = "Message size [bytes]";
constexpr std::int64_t kMostElements = std::int64_t{1} << 50;
constexpr std::int64_t kMostRanks = 1 << 24;

std::optional<std::int64_t> width_of(const std::string& dtype) {
  for (const Width& width : kWidths)
    if (width.dtype == dtype) return width.bytes;
  return {};
}

std::string text(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return {};
  return at->is_string() ? at->get<std::string>() : at->is_null() ? "" : at->dump();
}

/// Numbers may be written as texts.
std::optional<std::int64_t> number(const Json& object, const char* key, std::int64_t most) {
  const std::string digits = text(object, key);
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc{} || rest != digits.data() + digits.size()) return {};
  if (value < 0 || value > most) return {};
  return value;
}

/// Elements of the message: what a rank gives of all_reduce, all of what it gets of all_gather, ...
std::optional<std::int64_t> elements(const std::string& collective, std::int64_t in,
                                     std::int64_t out, std::optional<std::int64_t> ranks) {
  if (collective == "all_reduce" || collective == "reduce_scatter") return in;
  if (collective == "all_gather" && out > 0) return out;
  if (collective == "all_gather" || collective == "gather") {
    if (!ranks) return std::nullopt;
    return std::max(out, in * *ranks);
  }
  if (collective == "scatter") {
    if (!ranks) return std::nullopt;
    return std::max(in, out * *ranks);
  }
  return std::max(in, out);
}

Message of_collective(const Json& object) {
  Message out;
  out.collective = collective_of(text(object, "Collective name"));
  out.dtype = text(object, "dtype");
  out.group_name = text(object, "Process Group Name");
  const std::string ranks = text(object, "Process Group Ranks");
  if (!out.group_name.empty() || !ranks.empty()) out.group = out.group_name + "|" + ranks;
  if (ranks.find("...") != ranks.npos) out.group += "|" + text(object, "Comms Id");
  out.group_size = number(object, "Group size", kMostRanks);
  out.sequence = number(object, "Seq", INT64_MAX);
  const auto in = number(object, "In msg nelems", kMostElements);
  const auto sent = number(object, "Out msg nelems", kMostElements);
  const auto width = width_of(out.dtype);
  if (!width || (!in && !sent)) return out;
  const auto count = elements(out.collective, in.value_or(0), sent.value_or(0), out.group_size);
  std::int64_t bytes = 0;
  if (count && !__builtin_mul_overflow(*count, *width, &bytes)) out.bytes = bytes;
  return out;
}

/// NCCL counts what one rank gives, or gets where all give to it: "ncclAllGather" for each of its
/// ranks, where nccl-tests count all of them together.
Message of_nccl(const Json& object, const std::string& range) {
  Message out;
  out.collective = collective_of(range);
  out.group = out.group_name = text(object, "NCCL communicator ID");
  out.group_size = number(object, "Group size", kMostRanks);
  const auto bytes = number(object, kNcclSize, INT64_MAX);
  const auto rows = {"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"};
  const bool of_each = std::find(rows.begin(), rows.end(), out.collective) != rows.end();
  std::int64_t all = 0;
  if (!bytes || (of_each && !out.group_size)) return out;
  if (!__builtin_mul_overflow(*bytes, of_each ? *out.group_size : 1, &all)) out.bytes = all;
  return out;
}

struct Tensors {
  std::vector<std::int64_t> bytes;
  std::string dtype;  // of the first
};

/// Those among an operator's inputs; nothing where a shape or a type is not told.
std::optional<Tensors> tensors_of_inputs(const Json& object) {
  const auto dims = object.find("Input Dims"), types = object.find("Input type");
  if (dims == object.end() || types == object.end()) return {};
  if (!dims->is_array() || !types->is_array() || dims->size() != types->size()) return {};
  Tensors found;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    const Json &shape = (*dims)[i], &type = (*types)[i];
    if (type.is_string() && type.get_ref<const std::string&>().empty()) continue;  // no tensor
    if (!shape.is_array() || !type.is_string()) return {};
    auto bytes = width_of(type.get<std::string>());
    for (const Json& n : shape) {
      if (!bytes || !n.is_number_integer() || n.get<std::int64_t>() < 0) return {};
      if (__builtin_mul_overflow(*bytes, n.get<std::int64_t>(), &*bytes)) return {};
    }
    if (!bytes) return {};
    if (found.bytes.empty()) found.dtype = type.get<std::string>();
    found.bytes.push_back(*bytes);
  }
  return found;
}

/// A range of old files, which holds what one rank gives. Of several tensors it is not known which
/// are sent, and what an all_gather is of is the operator's to say.
Message of_old_range(const Json& object, const std::string& range) {
  Message out;
  out.collective = collective_of(std::string_view(range).substr(range.find(':') + 1));
  const auto tensors = tensors_of_inputs(object);
  if (!tensors || tensors->bytes.size() != 1) return out;
  out.dtype = tensors->dtype;
  for (const char* word : {"all_reduce", "all_to_all", "broadcast", "reduce_scatter"})
    if (out.collective == word) out.bytes = tensors->bytes.front();
  return out;
}

/// PyTorch's operator of an all_gather: what it gets of all ranks of its group, and what it gives.
constexpr std::string_view kAllGather = "c10d::_allgather_base_";
std::optional<Message> of_all_gather(const Json& object) {
  const auto tensors = tensors_of_inputs(object);
  if (!tensors || tensors->bytes.size() != 2) return {};
  const std::int64_t got = tensors->bytes[0], given = tensors->bytes[1];
  if (given <= 0 || got % given != 0 || got / given > kMostRanks) return {};
  Message out;
  out.collective = "all_gather";
  out.dtype = tensors->dtype;
  out.group_size = got / given;
  out.bytes = got;
  return out;
}

}  // namespace

std::optional<Message> message_of(const std::string& arguments, const std::string& range) {
  const bool has_parameters = arguments.find("\"Collective name\"") != arguments.npos;
  const bool names_it = range.starts_with("nccl:") || range.starts_with("gloo:");
  const bool is_nccl = range.starts_with("nccl") && arguments.find(kNcclSize) != arguments.npos;
  const bool gathers = range == kAllGather;
  if (!has_parameters && !names_it && !is_nccl && !gathers) return {};
  const Json object = Json::parse("{" + arguments + "}", nullptr, false);
  if (!object.is_object()) return {};
  if (has_parameters) return of_collective(object);
  if (is_nccl) return of_nccl(object, range);
  return gathers ? of_all_gather(object) : of_old_range(object, range);
}

std::optional<double> bus_factor(const std::string& collective, std::optional<std::int64_t> ranks) {
  if (!ranks || *ranks < 2 || collective == "other" || collective == "barrier") return {};
  const double n = static_cast<double>(*ranks), others = (n - 1) / n;
  if (collective == "all_reduce") return 2 * others;
  for (const char* word : {"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"})
    if (collective == word) return others;
  return 1;
}

}  // namespace nsa::trace
