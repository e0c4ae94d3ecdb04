#include "nsa/tuner/safetensors.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa;
using namespace nsa::tuner;

namespace {

std::string temp_file() {
  return std::filesystem::temp_directory_path() / ("st-" + std::to_string(getpid()));
}

void write_raw(const std::string& header, const std::string& data, std::uint64_t length) {
  std::ofstream file(temp_file(), std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), 8);
  file << header << data;
}
void write_raw(const std::string& header, const std::string& data = std::string(16, '\0')) {
  write_raw(header, data, header.size());
}
auto read_back() { return read_safetensors(temp_file(), 1u << 20); }

}  // namespace

TEST_CASE("tensors of every dtype come back as they were written", "[tuner]") {
  std::vector<double> a{1, 2, 3, 4, 5, 6};
  std::vector<std::int32_t> b{-1, 7};
  std::vector<std::uint16_t> c{0x3F80, 0x4000, 0xC000};
  const std::vector<NamedView> tensors{{"a", make_view(a.data(), Dtype::fp64, {3, 2})},
                                       {"b", make_view(b.data(), Dtype::int32, {1, 1, 1, 2})},
                                       {"c", make_view(c.data(), Dtype::bf16, {3})},
                                       {"h", make_view(c.data(), Dtype::fp16, {3})},
                                       {"empty", make_view(c.data(), Dtype::fp32, {0, 5})}};
  write_safetensors(temp_file(), tensors);
  const auto back = read_back();
  REQUIRE(back.size() == tensors.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    CHECK(back[i].name == tensors[i].name);
    CHECK(back[i].shape.dtype == tensors[i].view.dtype);
    CHECK(back[i].shape.rank == tensors[i].view.rank);
    CHECK(back[i].shape.shape == tensors[i].view.shape);
    REQUIRE(back[i].bytes.size() == tensors[i].view.bytes());
    CHECK((back[i].bytes.empty() ||
           std::memcmp(back[i].bytes.data(), tensors[i].view.data, back[i].bytes.size()) == 0));
  }
}

TEST_CASE("a hostile safetensors file is refused with one line", "[tuner]") {
  const char* headers[] = {
      "[]",
      "{\"a\":1}",
      "{\"a\":{}}",
      "{\"a\":{\"dtype\":\"F8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[-4],\"data_offsets\":[0,16]}}",
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,15]}}",
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[400],\"data_offsets\":[0,1600]}}",
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,0]}}",
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,4],\"data_offsets\":[0,16]}}",
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,16]}}",
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,16]}}",
      "{\"a\":{\"dtype\":4,\"shape\":[4],\"data_offsets\":[0,16]}}",
      "{\"a\"",
  };
  for (const char* header : headers) {
    INFO(header);
    write_raw(header);
    CHECK_THROWS_AS(read_back(), InputError);
  }
  write_raw("{}", "", 1u << 30);
  CHECK_THROWS_AS(read_back(), InputError);
  CHECK_THROWS_AS(read_safetensors("/nowhere", 100), InputError);
  CHECK_THROWS_AS(read_safetensors("/tmp", 100), InputError);
}

TEST_CASE("a file larger than expected is not read", "[tuner]") {
  write_raw("{}", std::string(1000, 'x'));
  CHECK_THROWS_AS(read_safetensors(temp_file(), 100), InputError);
}

TEST_CASE("no mutation of a good file crashes the reader", "[tuner]") {
  std::vector<float> a(8, 1.0F);
  const NamedView tensor{"a", make_view(a.data(), Dtype::fp32, {2, 4})};
  write_safetensors(temp_file(), std::span(&tensor, 1));
  std::ifstream in(temp_file(), std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random());
    if (i % 5 == 0) bad.resize(random() % bad.size());
    std::ofstream(temp_file(), std::ios::binary) << bad;
    try {
      read_back();
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(refused > 100);
}
