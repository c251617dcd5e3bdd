#pragma once
// Split GGUF sets, such as NAME-00001-of-00003.gguf, named as by llama.cpp's gguf-split.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "format/gguf_reader.h"

namespace longhaul {

/// The information of a file about its set, from the keys `split.no`, `split.count` and
/// `split.tensors.count`.
struct GgufSplit {
  uint64_t number = 0;   ///< number of this file, from 0
  uint64_t count = 1;    ///< number of files; 1: not split
  uint64_t tensors = 0;  ///< number of tensors in the whole set; 0: not specified
};

/// Reads the information about the set. Throws UserError if the numbers contradict each other.
GgufSplit gguf_split(const GgufMetadata& metadata);

/// Returns the paths of all files of the set that contains `path`, in order. Throws UserError if
/// the name of `path` does not match its `split.number`.
std::vector<std::filesystem::path> gguf_shard_paths(const std::filesystem::path& path,
                                                    const GgufSplit& split);

}  // namespace longhaul
