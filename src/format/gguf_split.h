#pragma once
// Split GGUF sets: NAME-00001-of-00003.gguf and so on, as llama.cpp's gguf-split names them.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "format/gguf_reader.h"

namespace longhaul {

/// What a file says of the set that it belongs to (`split.no`, `split.count`,
/// `split.tensors.count`).
struct GgufSplit {
  uint64_t number = 0;   ///< from 0
  uint64_t count = 1;    ///< 1 = not split
  uint64_t tensors = 0;  ///< in the whole set; 0 = not said
};

/// Throws UserError when the numbers contradict each other.
GgufSplit gguf_split(const GgufMetadata& metadata);

/// The paths of all files of the set that `path` is a member of, in order. Throws UserError when
/// the name of `path` is not that of shard `split.number`.
std::vector<std::filesystem::path> gguf_shard_paths(const std::filesystem::path& path,
                                                    const GgufSplit& split);

}  // namespace longhaul
