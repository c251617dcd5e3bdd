#pragma once
// Rejects settings of a model's arithmetic that the decoder does not implement. A file may contain
// such a setting only with a value that has no effect, such as a scale of 1.

namespace longhaul {

class Checkpoint;
struct ModelConfig;

/// Throws a UserError that names the file, the key and the value if a scale is not 1, if attention
/// scores are clipped, or if tokens attend to later tokens.
void refuse_other_arithmetic(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace longhaul
