#pragma once
// Settings of arithmetic that the decoder does not have. A file may contain them only with the
// value that changes nothing (a scale of 1, say).

namespace longhaul {

class Checkpoint;
struct ModelConfig;

/// Throws UserError naming file, key and value: a scale that is not 1, scores that are cut off,
/// attention that sees what follows.
void refuse_other_arithmetic(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace longhaul
