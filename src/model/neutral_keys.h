#pragma once
// Arithmetic settings that the decoder does not support. A file may contain them only with their
// neutral value (such as a scale of 1).

namespace longhaul {

class Checkpoint;
struct ModelConfig;

/// Throws UserError with file, key and value for a scale other than 1, clipped scores, or attention
/// to later tokens.
void refuse_other_arithmetic(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace longhaul
