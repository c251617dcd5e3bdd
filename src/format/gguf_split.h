#pragma once
// Split GGUF sets: NAME-00001-of-00003.gguf etc., with the names of llama.cpp's gguf-split.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "format/gguf_reader.h"

namespace longhaul {

/// A file's information on its set (`split.no`, `split.count`, `split.tensors.count`).
struct GgufSplit {
  uint64_t number = 0;   ///< from 0
  uint64_t count = 1;    ///< 1 = not split
  uint64_t tensors = 0;  ///< in the whole set; 0 = not given
};

/// Throws UserError if the numbers contradict each other.
GgufSplit gguf_split(const GgufMetadata& metadata);

/// The paths of all files of the set that contains `path`, in order. Throws UserError if the name
/// of `path` is not that of shard `split.number`.
std::vector<std::filesystem::path> gguf_shard_paths(const std::filesystem::path& path,
                                                    const GgufSplit& split);

}  // namespace longhaul
