#pragma once
// Reads a safetensors file. It consists of a JSON header and the bytes of the tensors without gaps.
//  Source: the safetensors format description (huggingface/safetensors README).

#include <cstddef>
#include <span>
#include <string>

#include "format/tensor_list.h"

namespace longhaul {

/// Returns the tensors of a file. `bytes` are its contents, and `file` is its name for error
/// messages. Tensors of types other than F32, F16 and BF16 are listed as unreadable. Throws a
/// UserError that names the file, the tensor and the invalid value if the format is violated.
TensorList read_safetensors(std::span<const std::byte> bytes, const std::string& file);

}  // namespace longhaul
