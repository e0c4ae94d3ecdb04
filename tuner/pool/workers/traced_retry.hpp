// A worker that hung is asked once more, with the tracer in it, for the kernel that does not end.
#pragma once

#include <string>

#include "nsa/schemas/worker.hpp"
#include "nsa/tuner/sweep.hpp"
#include "process/interrupt.hpp"

namespace nsa::tuner {

/// What the worker is asked for again; the handle of `measure` is the one that it gets then.
struct Retry {
  worker::PrepareRequest prepare;
  worker::MeasureRequest measure;
  double prepare_deadline_s = 0, measure_deadline_s = 0;
};

/// Starts the worker afresh with the tracer in it and asks. Spools go to `folder`, which is emptied
/// first. What it says for the row's reason, one line: the last kernel and the open ranges when it
/// hangs again, that it does not, or why it could not be asked.
std::string retry_traced(const SweepInput& input, const WorkerCommand& worker, const Retry& retry,
                         const std::string& folder, Interrupt& interrupt);

}  // namespace nsa::tuner
