#pragma once
// Settings of other models' arithmetic: where a file has them, they must say what is done anyway.

namespace longhaul {

class Checkpoint;
struct ModelConfig;

/// Throws UserError naming file, key and value: a scale that is not 1, scores that are cut off,
/// attention that sees what follows.
void refuse_other_arithmetic(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace longhaul
