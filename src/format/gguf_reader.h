#pragma once
// One GGUF file: header, metadata and the list of its tensors. Nothing is copied but names.

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

/// Reads `bytes`, the contents of `file` (the name is for messages and metadata). Versions 2 and 3
/// in little-endian order, whose layout is the same. Dimensions are turned round to row-major.
/// Throws UserError (one line: file, key or tensor, value) for anything that the format forbids,
/// and for tensors in quantizations that are not among base/dtype.h.
GgufFile read_gguf(std::span<const std::byte> bytes, const std::string& file);

}  // namespace longhaul
