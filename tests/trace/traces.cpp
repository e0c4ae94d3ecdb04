#include "traces.hpp"

#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "nsa/schemas/error.hpp"

namespace nsa::test {
namespace {

std::string us(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

}  // namespace

JsonTrace& JsonTrace::raw(const std::string& event) {
  events_ += (events_.empty() ? "" : ",\n") + event;
  return *this;
}

JsonTrace& JsonTrace::event(const std::string& category, const std::string& name,
                            const std::string& ts, const std::string& dur,
                            const std::string& more) {
  return raw("{\"ph\": \"X\", \"cat\": \"" + category + "\", \"name\": \"" + name +
             "\", \"ts\": " + ts + ", \"dur\": " + dur + more + "}");
}

JsonTrace& JsonTrace::kernel(const std::string& name, int correlation, double start_us,
                             double dur_us, int stream, int device) {
  return event("kernel", name, us(start_us), us(dur_us),
               ", \"pid\": 0, \"tid\": 7, \"args\": {\"device\": " + std::to_string(device) +
                   ", \"stream\": " + std::to_string(stream) +
                   ", \"correlation\": " + std::to_string(correlation) + "}");
}

JsonTrace& JsonTrace::call(const std::string& name, int correlation, double start_us, double dur_us,
                           int thread) {
  return event("cuda_runtime", name, us(start_us), us(dur_us),
               ", \"pid\": 5, \"tid\": " + std::to_string(thread) +
                   ", \"args\": {\"correlation\": " + std::to_string(correlation) + "}");
}

JsonTrace& JsonTrace::launched(const std::string& name, int correlation, double call_us,
                               double start_us, double dur_us, int stream) {
  call("cudaLaunchKernel", correlation, call_us, 0.1);
  return kernel(name, correlation, start_us, dur_us, stream);
}

JsonTrace& JsonTrace::range(const std::string& name, double start_us, double dur_us, int thread,
                            const std::string& category) {
  return event(category, name, us(start_us), us(dur_us),
               ", \"pid\": 5, \"tid\": " + std::to_string(thread));
}

JsonTrace& JsonTrace::op(const std::string& name, double start_us, double dur_us,
                         const std::string& args, int thread) {
  return event("cpu_op", name, us(start_us), us(dur_us),
               ", \"pid\": 5, \"tid\": " + std::to_string(thread) + ", \"args\": {" + args + "}");
}

std::string refusal(const std::string& json) {
  try {
    trace::summarize(trace::read_json_trace(json, "t.json"));
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

std::string gzipped(const std::string& bytes) {
  z_stream z{};
  if (deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string out(deflateBound(&z, bytes.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

TemporaryFile::TemporaryFile(const std::string& content) {
  char name[] = "/tmp/nsa_trace_XXXXXX";
  const int file = mkstemp(name);
  if (file < 0) throw std::runtime_error("mkstemp");
  close(file);
  path_ = name;
  std::ofstream(path_, std::ios::binary) << content;
}

TemporaryFile::~TemporaryFile() { unlink(path_.c_str()); }

}  // namespace nsa::test
