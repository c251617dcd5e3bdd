#pragma once
// One safetensors file: a JSON header, then the tensors' bytes without gaps.
//  Source: the safetensors format description (huggingface/safetensors README).

#include <cstddef>
#include <span>
#include <string>

#include "format/tensor_list.h"

namespace longhaul {

/// Reads the header of `bytes`, the contents of `file` (the name is used in messages). Tensors of
/// types other than F32, F16 and BF16 are listed as unreadable. Throws UserError (one line with
/// file, tensor and value) if the format is violated.
TensorList read_safetensors(std::span<const std::byte> bytes, const std::string& file);

}  // namespace longhaul
