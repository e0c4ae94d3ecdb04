// The device of a thresholds file without parsing the file: a reader that stops after that block.
#include <fstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "bundle.hpp"

namespace nsa::routing {
namespace {

using nlohmann::json;
constexpr std::size_t kHeaderBytes = 64 << 10;  // what stands before the classes is far smaller

/// Keeps the plain fields of the top-level object "device" and stops at its end.
class DeviceReader : public nlohmann::json_sax<json> {
 public:
  bool found() const { return found_; }
  const Device& device() const { return device_; }

  bool null() override { return true; }
  bool boolean(bool value) override {
    if (in_device() && key_ == "mig") device_.mig = value;
    return true;
  }
  bool number_integer(number_integer_t value) override { return number(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t& value) override {
    if (!in_device()) return true;
    if (key_ == "name") device_.name = value;
    if (key_ == "isa") device_.isa = value;
    if (key_ == "backend") return known_backend(value);
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == 2 && key_ == "device") device_depth_ = depth_;
    return true;
  }
  bool end_object() override {
    if (in_device()) found_ = true;
    --depth_;
    return !found_;
  }
  bool start_array(std::size_t) override { return ++depth_ > 0; }
  bool end_array() override { return --depth_ > 0; }
  bool key(string_t& value) override {
    key_ = value;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool in_device() const { return device_depth_ != 0 && depth_ == device_depth_; }

  bool known_backend(const std::string& value) {
    const auto backend = from_string<Backend>(value);
    if (backend) device_.backend = *backend;
    return backend.has_value();
  }

  bool number(std::int64_t value) {
    if (!in_device()) return true;
    if (key_ == "compute_capability") device_.compute_capability = static_cast<int>(value);
    if (key_ == "multiprocessors") device_.multiprocessors = static_cast<int>(value);
    if (key_ == "memory_bytes") device_.memory_bytes = value;
    if (key_ == "l2_bytes") device_.l2_bytes = value;
    return true;
  }

  Device device_;
  std::string key_;
  int depth_ = 0, device_depth_ = 0;
  bool found_ = false;
};

}  // namespace

std::optional<Device> read_device_block(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string head(kHeaderBytes, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  DeviceReader reader;
  json::sax_parse(head, &reader);
  if (!reader.found()) return std::nullopt;
  return reader.device();
}

}  // namespace nsa::routing
