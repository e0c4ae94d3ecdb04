// What every command that measures with workers needs: sweep, verify.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "nsa/store/store.hpp"
#include "nsa/tuner/sweep.hpp"

namespace nsa::cli {

/// Rows go into the database as they come.
class StoreSink final : public tuner::Sink {
 public:
  explicit StoreSink(store::Store& db) : db_(db) {}
  bool add(const Measurement& row) override { return db_.add(row); }
  void add_trace(const LaunchTraceRow& row) override { db_.add(row); }
  void add_counters(const LaunchCountersRow& row) override { db_.add(row); }
  void add_agreement(const AgreementRow& row) override { db_.add(row); }

 private:
  store::Store& db_;
};

/// This program as the worker of a device.
tuner::WorkerCommand our_worker(const Device& device);

/// Adds what traces a worker that hung on a GPU, or why nothing can.
void add_tracer(tuner::SweepInput& input);

/// Every optional library and every vendor's kernels, usable here or why not.
std::vector<Capability> libraries_here();

/// Of the placement.
std::string host_name();

/// Whether no worker has a clock of this host, so that it disturbs nobody and needs no turn.
bool all_simulated(const tuner::Discovery& found);

/// What the workers declare of their variants, by executor.
std::map<std::string, std::map<VariantId, worker::Orders>> offered_orders(
    const tuner::Discovery& found);

using TimePoint = std::chrono::steady_clock::time_point;
double seconds_since(TimePoint start);

}  // namespace nsa::cli
