#pragma once
// A Checkpoint is a model on disk in any supported format. It consists of named tensors, which are
// views of mapped files, and of metadata. The code in src/format does not interpret tensors or
// metadata.

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

/// Views of tensors and metadata are valid as long as the checkpoint exists. Moving the checkpoint
/// does not invalidate them.
class Checkpoint {
 public:
  CheckpointFormat format() const { return format_; }
  /// Returns the file or folder that open_checkpoint() has opened.
  const std::filesystem::path& path() const { return path_; }
  /// Returns the files that contain tensors, in the order of the shards.
  const std::vector<std::filesystem::path>& files() const { return files_; }
  /// Returns the contents of the file with the index `file` in files().
  std::span<const std::byte> bytes_of_file(size_t file) const;

  /// Returns the tensors in the order of the files.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const std::vector<UnreadableTensor>& unreadable() const { return unreadable_; }
  /// Returns the total size in bytes of all tensors(), and of the unreadable() tensors of type U8.
  size_t total_bytes() const { return total_bytes_; }
  /// Returns the number of elements of all tensors().
  int64_t parameters() const;
  /// Returns the number of tensors in the files that are not in tensors() or unreadable(), because
  /// they belong to other components of a larger model (hf_text_part.h).
  size_t left_out() const { return left_out_; }

  /// Returns a tensor, or null if it is absent. Throws UserError if the tensor is present but
  /// unreadable, so that an unreadable tensor is not mistaken for a missing one.
  const TensorView* find(std::string_view name) const;
  /// Returns a tensor of type U8 (which is always unreadable()) with its shape and bytes, or null
  /// if there is none.
  const UnreadableTensor* find_bytes(std::string_view name) const;
  /// Returns a tensor. Throws a UserError that names the file and the tensor if it is absent or
  /// unreadable.
  const TensorView& get(std::string_view name) const;

  /// Returns the metadata of the GGUF file, or of the first file of a split set. format() must be
  /// kGguf.
  const GgufMetadata& gguf() const;
  /// Returns the JSON documents of a Hugging Face folder. format() must be kHuggingFace.
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
  /// Indices into tensors_, followed by those into unreadable_.
  std::unordered_map<std::string_view, size_t, SeededHash> index_;
  size_t total_bytes_ = 0;
  size_t left_out_ = 0;
  std::unique_ptr<GgufMetadata> gguf_;
  std::unique_ptr<HfDocuments> hf_;
};

/// Opens a model. `path` is a .gguf file (any file of a split set), a Hugging Face folder, or a
/// .safetensors file in such a folder, which opens the folder. A Hugging Face folder has
/// config.json and either model.safetensors or model.safetensors.index.json with its shards. Only
/// the headers of the files are read. Throws a UserError that names the file and the problem if the
/// model cannot be opened.
Checkpoint open_checkpoint(const std::filesystem::path& path);

}  // namespace longhaul
