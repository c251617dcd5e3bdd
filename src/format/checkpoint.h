#pragma once
// A model on disk, whatever its format: named tensors that view mapped files, and metadata. What a
// tensor or a key means is not known here.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "base/seeded_hash.h"
#include "base/tensor_view.h"
#include "format/gguf_metadata.h"
#include "format/hf_folder.h"
#include "format/tensor_list.h"

namespace longhaul {

enum class CheckpointFormat { kGguf, kHuggingFace };

/// Movable; views of its tensors and metadata live as long as it does.
class Checkpoint {
 public:
  CheckpointFormat format() const { return format_; }
  /// The file or folder that was asked for.
  const std::filesystem::path& path() const { return path_; }
  /// Files that hold tensors, in shard order.
  const std::vector<std::filesystem::path>& files() const { return files_; }
  /// All that stands in files()[file].
  std::span<const std::byte> bytes_of_file(size_t file) const;

  /// In the order of the files.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const std::vector<UnreadableTensor>& unreadable() const { return unreadable_; }
  /// Bytes of all tensors() (not of the unreadable ones).
  size_t total_bytes() const { return total_bytes_; }
  /// Numbers of all tensors().
  int64_t parameters() const;
  /// Tensors of a larger model's other parts, which are not among these (hf_text_part.h).
  size_t left_out() const { return left_out_; }

  /// Null when absent. Throws UserError when it is there but unreadable: an optional tensor that
  /// cannot be read must not look as if the model had none.
  const TensorView* find(std::string_view name) const;
  /// Throws UserError naming file and tensor when it is absent or unreadable.
  const TensorView& get(std::string_view name) const;

  /// Of a split set: the first file's. format() must be kGguf.
  const GgufMetadata& gguf() const;
  /// format() must be kHuggingFace.
  const HfDocuments& hf() const;

 private:
  friend Checkpoint open_checkpoint(const std::filesystem::path& path);
  Checkpoint(CheckpointFormat format, const std::filesystem::path& path)
      : format_(format), path_(path) {}

  void open_gguf();
  void open_hf();
  const MappedFile& map(const std::filesystem::path& file);
  void append(TensorList list);
  void take_text_tensors();
  void build_index();

  CheckpointFormat format_;
  std::filesystem::path path_;
  std::vector<std::filesystem::path> files_;
  std::vector<MappedFile> mappings_;
  std::vector<TensorView> tensors_;
  std::vector<UnreadableTensor> unreadable_;
  std::unordered_map<std::string_view, size_t, SeededHash>
      index_;  ///< of tensors_, then of unreadable_
  size_t total_bytes_ = 0;
  size_t left_out_ = 0;
  std::unique_ptr<GgufMetadata> gguf_;
  std::unique_ptr<HfDocuments> hf_;
};

/// Opens a .gguf file (any shard of a split set finds the others), a Hugging Face folder
/// (config.json + model.safetensors, or model.safetensors.index.json and its shards) or the folder
/// of a .safetensors file. Only headers are read. Throws UserError: one line that names the file
/// and what is wrong with it.
Checkpoint open_checkpoint(const std::filesystem::path& path);

}  // namespace longhaul
