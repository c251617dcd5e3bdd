#pragma once
// Reads the header, the metadata and the list of tensors of a GGUF file. Only the names of tensors
// are copied; all other data stay in the mapped file.

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

/// Reads a GGUF file. `bytes` are its contents, and `file` is its name, for error messages and
/// GgufMetadata::file(). Supports the versions 2 and 3, which have the same layout, in
/// little-endian order. The dimensions of tensors are reversed, because GGUF lists the fastest
/// dimension first and TensorView the slowest. Throws a UserError that names the file and the key
/// or tensor if the format is violated, or if a tensor has a quantization that base/dtype.h does
/// not have.
GgufFile read_gguf(std::span<const std::byte> bytes, const std::string& file);

}  // namespace longhaul
