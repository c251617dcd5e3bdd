#pragma once
// Writes the part of a GGUF file before the data of its tensors (the GGUF specification, version
// 3).

#include <cstdint>
#include <span>
#include <string>

#include "base/tensor_view.h"
#include "format/gguf_metadata.h"

namespace longhaul {

/// Returns the alignment of tensor data that the metadata specifies (general.alignment). Throws
/// UserError for an invalid value.
uint64_t gguf_alignment(const GgufMetadata& metadata);

/// Returns the number of zero bytes between `bytes` bytes and the next multiple of `alignment`.
inline uint64_t gguf_padding(uint64_t bytes, uint64_t alignment) {
  return (alignment - bytes % alignment) % alignment;
}

/// Returns the header, the metadata and the list of tensors (names, types and shapes), padded up to
/// the beginning of the data. The data of the tensors must follow in this order, each with its
/// padding.
std::string gguf_header(std::span<const GgufEntry> metadata, std::span<const TensorView> tensors,
                        uint64_t alignment);

}  // namespace longhaul
