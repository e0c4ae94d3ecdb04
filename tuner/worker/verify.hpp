// What a worker says of its own outputs.
#pragma once

#include <optional>
#include <span>

#include "nsa/kernels/oracle.hpp"
#include "nsa/schemas/worker.hpp"
#include "worker/handle.hpp"

namespace nsa::tuner {

/// The worker's half of the gate. Launches on poison, writes the rows that are asked for, and looks
///  - for elements that are not written or not finite, in all outputs;
///  - at rows that differ from the launch before (the one of `prepare`): both must be right;
///  - at rows that differ from what the peers' last launches left, as long as no peer of other code
///    agrees; from any peer, where all are of the same code: the farthest, and more until ten times
///    `budget_s` are spent on such rows of all variants together;
///  - at rows of its own choice: where the device has an oracle for the stage, all of them as far
///  as
///    it gets in the time that is its own; else the same for all variants, spread evenly until the
///    oracle has spent `budget_s` on them together, four times as long for a candidate without
///    peers;
///  - at ties (tie_probe.hpp).
/// Of gradients it looks at all rows of both launches; of large problems, in one KV head.
/// So a single wrong row is found, but for one that all peers get wrong in the same way, or that a
/// variant without peers gets wrong, where the oracle does not reach it. `peers` are launched
/// handles of any kind; those that do not answer the same question are passed over, and so is code
/// of the same source when there is other code. Outputs are compared where they lie.
worker::VerifiedReply verify(Handle& handle, const worker::VerifyRequest& request,
                             const Device& device, std::span<Handle* const> peers, double budget_s);

}  // namespace nsa::tuner
