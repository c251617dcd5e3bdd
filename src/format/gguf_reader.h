#pragma once
// Reader of one GGUF file: header, metadata and the list of its tensors. Only names are copied.

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

/// Reads `bytes`, the contents of `file` (the name is for messages and metadata). Supports versions
/// 2 and 3 in little-endian order, which have the same layout. Dimensions are reversed to
/// row-major. Throws UserError (one line: file, key or tensor, value) for violations of the format,
/// and for tensors with quantizations missing in base/dtype.h.
GgufFile read_gguf(std::span<const std::byte> bytes, const std::string& file);

}  // namespace longhaul
