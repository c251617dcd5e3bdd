#include "format/gguf_split.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "base/paths.h"

namespace longhaul {

GgufSplit gguf_split(const GgufMetadata& metadata) {
  constexpr uint64_t kMostShards = 99'999;  // five digits in the name
  GgufSplit split;
  split.count = metadata.find_u64("split.count").value_or(1);
  if (split.count == 0) split.count = 1;
  split.number = metadata.find_u64("split.no").value_or(0);
  split.tensors = metadata.find_u64("split.tensors.count").value_or(0);
  if (split.count > kMostShards || split.number >= split.count) {
    user_error("{}: split.no {} of split.count {} is no possible shard", metadata.file(),
               split.number, split.count);
  }
  return split;
}

std::vector<std::filesystem::path> gguf_shard_paths(const std::filesystem::path& path,
                                                    const GgufSplit& split) {
  if (split.count == 1) return {path};
  const auto ending = [&](uint64_t number) {
    return fmt::format("-{:05}-of-{:05}.gguf", number + 1, split.count);
  };
  const std::string name = path.filename().string();
  const std::string own = ending(split.number);
  if (name.size() < own.size() || name.substr(name.size() - own.size()) != own) {
    user_error("{}: is shard {} of {}: its name must end in {} for the others to be found",
               path.string(), split.number + 1, split.count, own);
  }
  const std::string prefix = name.substr(0, name.size() - own.size());
  std::vector<std::filesystem::path> paths;
  for (uint64_t i = 0; i < split.count; ++i) {
    paths.push_back(path.parent_path() / (prefix + ending(i)));
    if (!is_file(paths.back())) {
      user_error("{}: shard {} of {} is missing (it goes with {})", paths.back().string(), i + 1,
                 split.count, name);
    }
  }
  return paths;
}

}  // namespace longhaul
