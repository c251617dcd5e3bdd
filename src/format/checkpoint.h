#pragma once
// A model on disk, in any format: named tensors as views of mapped files, and metadata. This room
// does not interpret tensors or keys.

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

/// Movable; views of its tensors and metadata are valid during its lifetime.
class Checkpoint {
 public:
  CheckpointFormat format() const { return format_; }
  /// The requested file or folder.
  const std::filesystem::path& path() const { return path_; }
  /// Files with tensors, in shard order.
  const std::vector<std::filesystem::path>& files() const { return files_; }
  /// The contents of files()[file].
  std::span<const std::byte> bytes_of_file(size_t file) const;

  /// In the order of the files.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const std::vector<UnreadableTensor>& unreadable() const { return unreadable_; }
  /// Bytes of all tensors() (not of the unreadable ones).
  size_t total_bytes() const { return total_bytes_; }
  /// Number of elements of all tensors().
  int64_t parameters() const;
  /// Number of tensors of other parts of a larger model, which are not listed (hf_text_part.h).
  size_t left_out() const { return left_out_; }

  /// Null if absent. Throws UserError if the tensor is present but unreadable, because an optional
  /// tensor that cannot be read must not be taken for a missing one.
  const TensorView* find(std::string_view name) const;
  /// Throws UserError with file and tensor if it is absent or unreadable.
  const TensorView& get(std::string_view name) const;

  /// Metadata of the first file in a split set. format() must be kGguf.
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
      index_;  ///< positions in tensors_, then in unreadable_
  size_t total_bytes_ = 0;
  size_t left_out_ = 0;
  std::unique_ptr<GgufMetadata> gguf_;
  std::unique_ptr<HfDocuments> hf_;
};

/// Opens a .gguf file (any shard of a split set finds the others), a Hugging Face folder
/// (config.json + model.safetensors, or model.safetensors.index.json and its shards) or the folder
/// of a .safetensors file. Only headers are read. Throws UserError: one line with the file and the
/// problem.
Checkpoint open_checkpoint(const std::filesystem::path& path);

}  // namespace longhaul
