#include "format/checkpoint.h"

#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/paths.h"
#include "base/seeded_hash.h"
#include "format/gguf_reader.h"
#include "format/gguf_split.h"
#include "format/hf_text_part.h"
#include "format/safetensors_reader.h"
#include "text/printable.h"

namespace longhaul {
namespace fs = std::filesystem;

const TensorView* Checkpoint::find(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return nullptr;
  if (found->second < tensors_.size()) return &tensors_[found->second];
  const UnreadableTensor& tensor = unreadable_[found->second - tensors_.size()];
  user_error("{}: tensor {} {}", tensor.file, printable(name), tensor.reason);
}

const UnreadableTensor* Checkpoint::find_bytes(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end() || found->second < tensors_.size()) return nullptr;
  const UnreadableTensor& tensor = unreadable_[found->second - tensors_.size()];
  return tensor.shape.empty() ? nullptr : &tensor;
}

const TensorView& Checkpoint::get(std::string_view name) const {
  if (const TensorView* tensor = find(name)) return *tensor;
  user_error("{}: tensor {} is missing", path_.string(), printable(name));
}

const GgufMetadata& Checkpoint::gguf() const {
  LH_ASSERT(gguf_ != nullptr);
  return *gguf_;
}

const HfDocuments& Checkpoint::hf() const {
  LH_ASSERT(hf_ != nullptr);
  return *hf_;
}

std::span<const std::byte> Checkpoint::bytes_of_file(size_t file) const {
  // In a split set the requested shard is also mapped before the others.
  return mappings_[file + mappings_.size() - files_.size()].bytes();
}

const MappedFile& Checkpoint::map(const fs::path& file) {
  files_.push_back(file);
  return mappings_.emplace_back(file);
}

void Checkpoint::append(TensorList list) {
  for (TensorView& tensor : list.tensors) tensors_.push_back(std::move(tensor));
  for (UnreadableTensor& tensor : list.unreadable) unreadable_.push_back(std::move(tensor));
}

void Checkpoint::build_index() {
  const auto insert = [&](const std::string& name) {
    if (!index_.emplace(name, index_.size()).second) {
      user_error("{}: tensor {} is in two of its files", path_.string(), printable(name));
    }
  };
  for (const TensorView& tensor : tensors_) {
    insert(tensor.name);
    total_bytes_ += tensor.bytes();
  }
  for (const UnreadableTensor& tensor : unreadable_) {
    insert(tensor.name);
    total_bytes_ += tensor.bytes.size();
  }
}

int64_t Checkpoint::parameters() const {
  int64_t count = 0;
  for (const TensorView& tensor : tensors_) count += tensor.elements();
  return count;
}

void Checkpoint::open_gguf() {
  GgufFile asked = read_gguf(map(path_).bytes(), path_.string());
  const GgufSplit split = gguf_split(asked.metadata);
  if (split.count == 1) {
    gguf_ = std::make_unique<GgufMetadata>(std::move(asked.metadata));
    append(std::move(asked.list));
    return;
  }
  files_.clear();  // the requested shard is listed among the others
  for (const fs::path& file : gguf_shard_paths(path_, split)) {
    GgufFile shard = read_gguf(map(file).bytes(), file.string());
    const GgufSplit own = gguf_split(shard.metadata);
    if (own.count != split.count || own.number + 1 != files_.size()) {
      user_error("{}: says it is shard {} of {}, but its name makes it {} of {}", file.string(),
                 own.number + 1, own.count, files_.size(), split.count);
    }
    if (gguf_ == nullptr) gguf_ = std::make_unique<GgufMetadata>(std::move(shard.metadata));
    append(std::move(shard.list));
  }
  const size_t found = tensors_.size() + unreadable_.size();
  if (split.tensors != 0 && split.tensors != found) {
    user_error("{}: split.tensors.count is {}, its {} shards hold {}", path_.string(),
               split.tensors, split.count, found);
  }
}

void Checkpoint::open_hf() {
  const bool whole_folder = is_folder(path_);
  const fs::path folder = whole_folder ? path_ : path_.parent_path();  // "" is the current folder
  if (!whole_folder && !is_there(folder / "config.json"))
    user_error("{}: there is no config.json beside it", path_.string());
  hf_ = std::make_unique<HfDocuments>(read_hf_documents(folder));
  const bool part = take_text_config(hf_->config);
  const SafetensorsFiles safetensors = find_safetensors(path_);
  std::unordered_map<std::string, size_t, SeededHash> shard_of;
  for (const fs::path& file : safetensors.shards) {
    TensorList list = read_safetensors(map(file).bytes(), file.string());
    for (const TensorView& t : list.tensors) shard_of.emplace(t.name, files_.size() - 1);
    for (const UnreadableTensor& t : list.unreadable) shard_of.emplace(t.name, files_.size() - 1);
    append(std::move(list));
  }
  for (const auto& [tensor, shard] : safetensors.weight_map) {
    const auto found = shard_of.find(tensor);
    if (found == shard_of.end() || found->second != shard) {
      user_error("{}: tensor {} is missing, the index says it is here", files_[shard].string(),
                 printable(tensor));
    }
  }
  if (part) take_text_tensors();
}

/// Keeps only the tensors of the text model, under the names that they have in a text model.
void Checkpoint::take_text_tensors() {
  const auto is_another_parts = [](auto& tensor) {
    std::optional<std::string> name = text_part_name(tensor.name);
    if (name) tensor.name = std::move(*name);
    return !name;
  };
  left_out_ =
      std::erase_if(tensors_, is_another_parts) + std::erase_if(unreadable_, is_another_parts);
}

Checkpoint open_checkpoint(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    user_error("{}: no such file or folder", path.string());
  if (error) user_error("{}: cannot open: {}", path.string(), error.message());
  // Opening a pipe would wait for a writer.
  if (!fs::is_directory(status) && !fs::is_regular_file(status))
    user_error("{}: neither a file nor a folder", path.string());
  const bool hf = fs::is_directory(status) || path.extension() == ".safetensors";
  Checkpoint checkpoint(hf ? CheckpointFormat::kHuggingFace : CheckpointFormat::kGguf, path);
  if (hf) {
    checkpoint.open_hf();
  } else {
    checkpoint.open_gguf();
  }
  checkpoint.build_index();
  return checkpoint;
}

}  // namespace longhaul
