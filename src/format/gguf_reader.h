#pragma once
// Reads a GGUF file: its header, its metadata and the list of its tensors. Only names are copied.

#include <cstddef>
#include <span>
#include <string>

#include "format/gguf_metadata.h"
#include "format/tensor_list.h"

namespace longhaul {

struct GgufFile {
  GgufMetadata metadata;
  TensorList list;
};

/// Reads the contents `bytes` of `file`, whose name is used in messages and metadata. Supports
/// versions 2 and 3 in little-endian order, which have the same layout. Dimensions are reversed to
/// row-major order. Throws UserError (one line with file, key or tensor, and value) if the format
/// is violated, and for tensors with quantizations that base/dtype.h lacks.
GgufFile read_gguf(std::span<const std::byte> bytes, const std::string& file);

}  // namespace longhaul
