// CUPTI's records, made up, as the tracer counts and keeps them.
#include "cupti/convert.hpp"

#include <map>

#include "catch.hpp"

using namespace nsa;
using namespace nsa::probes::cupti;

namespace {

/// The records of a buffer one after the other: a kernel's place for each.
union Slot {
  Slot() : kernel() {}
  CUpti_ActivityKernel10 kernel;
  CUpti_ActivityAPI call;
  CUpti_ActivityMarker2 marker;
};

CUptiResult next_slot(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity** record) {
  auto* at = *record ? reinterpret_cast<std::uint8_t*>(*record) + sizeof(Slot) : buffer;
  if (at + sizeof(Slot) > buffer + bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}

constexpr CUpti_CallbackId kLaunch = 1, kMemset = 2;
CUptiResult name_of(CUpti_CallbackDomain, std::uint32_t id, const char** name) {
  *name = id == kLaunch ? "cudaLaunchKernel_v7000" : "cudaMemset2D_v3020";
  return CUPTI_SUCCESS;
}

struct Records : RecordSink {
  std::uint32_t text(std::string_view) override { return 1; }
  void append(const void* record, std::uint32_t) override {
    ++kinds[static_cast<int>(static_cast<const spool::SpoolRecord*>(record)->kind)];
  }
  int of(spool::Kind kind) { return kinds[static_cast<int>(kind)]; }
  std::map<int, int> kinds;
};

struct Converted {
  Converted() {
    api.next_record = next_slot;
    api.callback_name = name_of;
  }
  Converted& kernel(std::uint32_t correlation, std::uint64_t start) {
    Slot slot;
    slot.kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    slot.kernel.correlationId = correlation;
    slot.kernel.start = start;
    slot.kernel.end = start + 10;
    slot.kernel.name = "kernel";
    return put(slot);
  }
  Converted& call(std::uint32_t correlation, std::uint64_t start, CUpti_CallbackId id = kLaunch) {
    Slot slot;
    slot.call = {};
    slot.call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    slot.call.cbid = id;
    slot.call.correlationId = correlation;
    slot.call.start = start;
    slot.call.end = start + 5;
    return put(slot);
  }
  Converted& marker(std::uint64_t at, CUpti_ActivityFlag what) {
    Slot slot;
    slot.marker = {};
    slot.marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
    slot.marker.flags = what;
    slot.marker.timestamp = at;
    slot.marker.id = 1;
    slot.marker.name = "range";
    return put(slot);
  }
  Converted& put(Slot& slot) {
    converter.convert(reinterpret_cast<std::uint8_t*>(&slot), sizeof slot, keep, records);
    return *this;
  }

  Api api;
  Converter converter{api};
  Keep keep;
  Records records;
};

std::uint64_t kept(const spool::SpoolTotals& t) { return t.kernels + t.outside; }

}  // namespace

TEST_CASE("launches are recorded, in whatever order their two records come", "[probes]") {
  Converted c;
  c.call(1, 100).kernel(1, 110).kernel(2, 130).call(2, 120).call(3, 140);
  CHECK(c.converter.totals().launches == 3);
  CHECK(c.converter.totals().kernels == 2);  // the third has not run yet
}

TEST_CASE("kernels that no launch call started are launches too, and several of one call",
          "[probes]") {
  Converted c;
  c.call(1, 100, kMemset).kernel(1, 110);        // a set that runs as a kernel
  c.kernel(2, 120).kernel(2, 130).call(2, 115);  // one call, two kernels
  c.kernel(3, 140).call(3, 135, kMemset);        // its call comes later
  CHECK(c.converter.totals().launches == 4);
  CHECK(kept(c.converter.totals()) == 4);
}

TEST_CASE("what ran before the window is outside of it, and counted", "[probes]") {
  Converted c;
  c.keep.from_ns = 200;
  c.call(1, 100).kernel(1, 110).call(2, 210).kernel(2, 220);
  CHECK(c.converter.totals().launches == 2);
  CHECK(c.converter.totals().outside == 1);
  CHECK(kept(c.converter.totals()) == 2);
  CHECK(c.records.of(spool::Kind::api) == 1);
}

TEST_CASE("ranges that begin outside of the window are not listed, those that began in it end",
          "[probes]") {
  Converted c;
  c.keep.from_ns = 200;
  c.keep.calls_until_ns = 300;
  c.marker(100, CUPTI_ACTIVITY_FLAG_MARKER_START).marker(250, CUPTI_ACTIVITY_FLAG_MARKER_START);
  CHECK(c.records.of(spool::Kind::marker) == 1);
  c.marker(310, CUPTI_ACTIVITY_FLAG_MARKER_END);
  CHECK(c.records.of(spool::Kind::marker) == 2);
  c.marker(320, CUPTI_ACTIVITY_FLAG_MARKER_START);
  c.marker(320, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS);
  CHECK(c.records.of(spool::Kind::marker) == 2);
}
