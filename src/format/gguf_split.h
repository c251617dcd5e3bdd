#pragma once
// Finds the files of a split GGUF model. llama.cpp's gguf-split splits a model into a set of files
// with names such as NAME-00001-of-00003.gguf.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "format/gguf_reader.h"

namespace longhaul {

/// The information in the metadata of a file about its set: the keys `split.no`, `split.count` and
/// `split.tensors.count`.
struct GgufSplit {
  uint64_t number = 0;   ///< number of this file, from 0
  uint64_t count = 1;    ///< number of files; 1: not split
  uint64_t tensors = 0;  ///< number of tensors in the whole set; 0: not specified
};

/// Reads this information from the metadata of a file. Throws UserError if the numbers contradict
/// each other.
GgufSplit gguf_split(const GgufMetadata& metadata);

/// Returns the paths of all files of the set that contains `path`, in order. Throws UserError if
/// the name of `path` does not match its `split.number`.
std::vector<std::filesystem::path> gguf_shard_paths(const std::filesystem::path& path,
                                                    const GgufSplit& split);

}  // namespace longhaul
