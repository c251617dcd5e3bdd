#pragma once
// Writes the beginning of a GGUF file, up to the data of its tensors (the GGUF specification,
// version 3).

#include <cstdint>
#include <span>
#include <string>

#include "base/tensor_view.h"
#include "format/gguf_metadata.h"

namespace longhaul {

/// Returns the alignment of tensor data in bytes, which the key general.alignment specifies. Throws
/// UserError if its value is invalid.
uint64_t gguf_alignment(const GgufMetadata& metadata);

/// Returns how many zero bytes must follow after `bytes` bytes up to the next multiple of
/// `alignment`.
inline uint64_t gguf_padding(uint64_t bytes, uint64_t alignment) {
  return (alignment - bytes % alignment) % alignment;
}

/// Returns the header, the metadata and the list of tensors (names, types and shapes), padded up to
/// the beginning of the data. The caller must then write the data of the tensors in this order,
/// each followed by its padding.
std::string gguf_header(std::span<const GgufEntry> metadata, std::span<const TensorView> tensors,
                        uint64_t alignment);

}  // namespace longhaul
