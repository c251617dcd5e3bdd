#pragma once
// What stands in a GGUF file before its tensors' data (the GGUF specification, version 3).

#include <cstdint>
#include <span>
#include <string>

#include "base/tensor_view.h"
#include "format/gguf_metadata.h"

namespace longhaul {

/// Of tensors' data, as the metadata ask for it (general.alignment). Throws UserError for a value
/// that no file may have.
uint64_t gguf_alignment(const GgufMetadata& metadata);

/// Zeros that follow `bytes` bytes up to the next multiple of `alignment`.
inline uint64_t gguf_padding(uint64_t bytes, uint64_t alignment) {
  return (alignment - bytes % alignment) % alignment;
}

/// Header, metadata and the list of tensors (names, types and shapes), padded to where the data
/// begin: those of each tensor, in this order, and the padding of each behind them.
std::string gguf_header(std::span<const GgufEntry> metadata, std::span<const TensorView> tensors,
                        uint64_t alignment);

}  // namespace longhaul
