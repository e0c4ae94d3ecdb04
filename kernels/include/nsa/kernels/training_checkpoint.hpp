// The state of a training run as one safetensors file, from which the run goes on bit for bit.
// Functions may be called by several threads for other trainers and other folders. On a GPU saving
// waits for the trainer's stream, and loading enqueues its copies on it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "nsa/kernels/training.hpp"

namespace nsa::training {

/// What a checkpoint says of the run that wrote it.
struct CheckpointInfo {
  std::int64_t step = 0;  // steps that were done
  std::map<std::string, std::string> notes;
};

/// The file of a folder: "<folder>/checkpoint.safetensors".
std::string checkpoint_path(const std::string& folder);
/// Makes the folder where it is not there, and says what save_checkpoint() would fail by before
/// there is anything to lose: InputError where something else has its name, EnvironmentError where
/// no file can be begun there.
void require_checkpoint_folder(const std::string& folder);
/// Writes weights ("model.<name>"), moments ("moment1.<name>", "moment2.<name>") and fp32 copies
/// ("masters.<name>") into the folder, which is made where it is not there. The checkpoint that was
/// there stays until the new one is on the disk. EnvironmentError where that fails.
void save_checkpoint(const std::string& folder, const Trainer& trainer,
                     const std::map<std::string, std::string>& notes);
/// Reads it into the trainer, which goes on after its steps. InputError "<file>: ..." where the
/// file is missing, damaged, of a newer version or of another model; the trainer is then as it was.
CheckpointInfo load_checkpoint(const std::string& folder, Trainer& trainer);
/// The same, without a trainer: what it says, checked as far as that goes.
CheckpointInfo read_checkpoint_info(const std::string& folder);

}  // namespace nsa::training
