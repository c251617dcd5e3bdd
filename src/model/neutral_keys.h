#pragma once
// Checks settings of a model's arithmetic that the decoder does not support. A file may contain
// them only with their neutral value, such as a scale of 1.

namespace longhaul {

class Checkpoint;
struct ModelConfig;

/// Throws UserError that names the file, the key and the value for a scale other than 1, for
/// clipped scores, and for attention to later tokens.
void refuse_other_arithmetic(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace longhaul
