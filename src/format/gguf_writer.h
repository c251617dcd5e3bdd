#pragma once
// Writes the part of a GGUF file before its tensors' data (the GGUF specification, version 3).

#include <cstdint>
#include <span>
#include <string>

#include "base/tensor_view.h"
#include "format/gguf_metadata.h"

namespace longhaul {

/// Alignment of the tensors' data according to the metadata (general.alignment). Throws UserError
/// for an invalid value.
uint64_t gguf_alignment(const GgufMetadata& metadata);

/// Number of zeros after `bytes` bytes up to the next multiple of `alignment`.
inline uint64_t gguf_padding(uint64_t bytes, uint64_t alignment) {
  return (alignment - bytes % alignment) % alignment;
}

/// Header, metadata and the list of tensors (names, types and shapes), padded to the beginning of
/// the data. The data of each tensor follows in this order, each with its padding.
std::string gguf_header(std::span<const GgufEntry> metadata, std::span<const TensorView> tensors,
                        uint64_t alignment);

}  // namespace longhaul
