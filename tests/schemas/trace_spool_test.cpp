// The spool's layout: what is appended is read back; what a kill leaves is read as far as it goes;
// anything else is refused with the byte.
#include <algorithm>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/trace_spool_reader.hpp"
#include "spool_builder.hpp"

namespace nsa::test {
namespace {

using namespace spool;

SpoolBuilder some() {
  SpoolHeader header;
  header.process = 42;
  header.rank = 3;
  SpoolBuilder spool(header);
  spool.metadata("command", "python train.py").launched("k<1>", 7, 100, 200, 30).totals(1, 1);
  return spool;
}

std::vector<Kind> kinds_of(const std::string& bytes, std::uint64_t* torn = nullptr) {
  SpoolCursor cursor(bytes, "t.nsaspool");
  std::vector<Kind> kinds;
  while (cursor.next()) kinds.push_back(cursor.kind());
  if (torn) *torn = cursor.torn_bytes();
  return kinds;
}

std::string refusal_of(const std::string& bytes) {
  try {
    SpoolCursor cursor(bytes, "t.nsaspool");
    while (cursor.next()) {
      if (cursor.kind() == Kind::text) cursor.text(cursor.get<SpoolText>());
      if (cursor.kind() == Kind::kernel) cursor.get<SpoolKernel>();
    }
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("records of a spool are read back as they were appended", "[schemas]") {
  const std::string bytes = some().bytes();
  SpoolCursor cursor(bytes, "t.nsaspool");
  CHECK(cursor.header().process == 42);
  CHECK(cursor.header().rank == 3);
  std::vector<std::string> texts;
  int kernels = 0;
  while (cursor.next()) {
    if (cursor.kind() == Kind::text) texts.emplace_back(cursor.text(cursor.get<SpoolText>()));
    if (cursor.kind() != Kind::kernel) continue;
    ++kernels;
    const auto k = cursor.get<SpoolKernel>();
    CHECK(k.start_ns == 200);
    CHECK(k.end_ns == 230);
    CHECK(k.correlation == 7);
    CHECK(texts.at(k.name - 1) == "k<1>");
    CHECK(k.block[0] == 128);
  }
  CHECK(kernels == 1);
  CHECK(cursor.torn_bytes() == 0);
  CHECK(texts ==
        std::vector<std::string>{"command", "python train.py", "cudaLaunchKernel_v7000", "k<1>"});
}

TEST_CASE("a text of any length and content fills whole records", "[schemas]") {
  for (const std::size_t length : {1, 7, 8, 9, 1 << 20}) {
    CAPTURE(length);
    SpoolBuilder spool;
    const std::string text(length, '\x01');
    spool.text(text);
    CHECK(spool.bytes().size() % 8 == 0);
    SpoolCursor cursor(spool.bytes(), "t");
    REQUIRE(cursor.next());
    CHECK(cursor.text(cursor.get<SpoolText>()) == text);
    CHECK_FALSE(cursor.next());
  }
}

TEST_CASE("a spool cut anywhere behind its header gives its whole records and the rest's size",
          "[schemas]") {
  const std::string bytes = some().bytes();
  const std::vector<Kind> all = kinds_of(bytes);
  for (std::size_t size = sizeof(SpoolHeader); size < bytes.size(); ++size) {
    CAPTURE(size);
    std::uint64_t torn = 0;
    const std::vector<Kind> kinds = kinds_of(bytes.substr(0, size), &torn);
    CHECK(kinds.size() < all.size());
    CHECK(std::equal(kinds.begin(), kinds.end(), all.begin()));
    CHECK(torn < 120);
  }
  std::uint64_t torn = 0;
  CHECK(kinds_of(bytes + std::string(4096, '\0'), &torn) == all);  // reserved, never written
  CHECK(torn == 4096);
}

TEST_CASE("what is no spool, or not ours, is refused with the byte", "[schemas]") {
  CHECK(refusal_of("") == "t.nsaspool: byte 0: this is not a spool of a tracer");
  CHECK(refusal_of("NSASPOOL").find("ends inside") != std::string::npos);
  const auto with = [](auto change) {
    SpoolHeader header;
    change(header);
    return refusal_of(SpoolBuilder(header).bytes());
  };
  CHECK(with([](SpoolHeader& h) { h.version = 9; }).find("version 9") != std::string::npos);
  CHECK(with([](SpoolHeader& h) { h.byte_order = 0x04030201; }).find("byte order") !=
        std::string::npos);
  CHECK(with([](SpoolHeader& h) { h.header_bytes = 4096; }).find("4096") != std::string::npos);
  CHECK(with([](SpoolHeader& h) { h.header_bytes = 8; }).find("header of 8") != std::string::npos);

  SpoolKernel kernel;
  for (const std::uint32_t bytes : {0u, 4u, 12u, kMaxRecordBytes + 8}) {
    CAPTURE(bytes);
    kernel.record.bytes = bytes;
    CHECK(refusal_of(SpoolBuilder().append(kernel).bytes()).find("byte 64: a record of") !=
          std::string::npos);
  }
  kernel.record.bytes = 112;
  CHECK(refusal_of(SpoolBuilder().append(kernel).bytes()).find("too short") != std::string::npos);
  SpoolText text;
  text.record.bytes = sizeof text;
  text.length = 9;
  CHECK(refusal_of(SpoolBuilder().append(text).bytes()).find("longer than its record") !=
        std::string::npos);
  CHECK(refusal_of(SpoolBuilder().bytes() + std::string(16, '\0') + "x").find("a gap") !=
        std::string::npos);
}

}  // namespace nsa::test
