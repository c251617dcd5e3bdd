#include "model/merged_folder.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "model/config_hf_rope.h"
#include "text/json_file.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kConfig = "config.json";
constexpr const char* kIndex = "model.safetensors.index.json";

/// Returns whether a file of the folder describes the model or its tokenizer, by its name.
bool describes_the_model(const fs::path& file) {
  constexpr std::array<std::string_view, 6> kEndings = {".json",  ".txt",      ".model",
                                                        ".jinja", ".tiktoken", ".py"};
  const std::string name = file.filename(), ending = file.extension();
  if (name == kConfig || name == kIndex) return false;  // written separately
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end() ||
         name.starts_with("LICENSE") || name.starts_with("NOTICE");
}

/// Throws UserError if a symbolic link leads out of the model. It may lead to another file in the
/// folder, or in the cache of a hub to the folder of blobs two levels up. A link to any other place
/// could copy a private file of the user into a folder that is then published.
void check_link(const fs::path& file) {
  if (!fs::is_symlink(file)) return;
  const fs::path folder = fs::canonical(file.parent_path().empty() ? "." : file.parent_path());
  const fs::path to = fs::canonical(file);
  const fs::path blobs = folder.parent_path().parent_path() / "blobs";
  const auto lies_in = [&](const fs::path& place) {
    return std::mismatch(place.begin(), place.end(), to.begin(), to.end()).first == place.end();
  };
  if (lies_in(folder) || lies_in(blobs)) return;
  user_error(
      "{}: is a link to {}, which is no file of the model: copy it into the folder, or remove it",
      file.string(), to.string());
}

/// Returns config.json with the RoPE base and the trained context length of the adapters.
json changed_config(const fs::path& folder, const ModelConfig& before, const ModelConfig& after) {
  json config = read_json_file(folder / kConfig);
  json& text = config.contains("text_config") && config["text_config"].is_object()
                   ? config["text_config"]
                   : config;
  if (after.rope.base != before.rope.base)
    holder_of_rope_base(text)["rope_theta"] = after.rope.base;
  if (after.trained_context == before.trained_context) return config;
  const RopeSpec& rope = before.rope;
  const bool named =  // whether the length from which llama3's scaling starts is a separate key
      rope.scaling == RopeScaling::kLlama3 && rope.original_context != before.trained_context;
  const bool follows =
      rope.scaling != RopeScaling::kNone && rope.scaling != RopeScaling::kLinear && !named;
  if (follows || before.temperature_scale != 0) {
    user_error(
        "{}: its angles follow its trained length, which the adapter changes: leave the adapter "
        "beside it (--lora)",
        folder.string());
  }
  text["max_position_embeddings"] = after.trained_context;
  return config;
}

/// Returns the name of a shard in the new folder. A single shard gets the name of a file without
/// shards.
std::string shard_name(const Checkpoint& checkpoint, size_t shard) {
  if (checkpoint.files().size() == 1) return "model.safetensors";
  return checkpoint.files()[shard].filename();
}

}  // namespace

MergedFolder::MergedFolder(const Checkpoint& checkpoint, std::span<const WeightedLora> adapters)
    : checkpoint_(checkpoint), model_(load_model(checkpoint)) {
  const ModelConfig before = model_.config;
  attach_adapters(adapters, model_);
  if (!model_.head_adapter.empty() && model_.head.data == model_.embedding.data) {
    user_error(
        "{}: its output matrix is the embedding, which would change with it: leave the adapter "
        "beside it (--lora)",
        checkpoint_.path().string());
  }
  plan();
  config_ = changed_config(checkpoint_.hf().folder, before, model_.config).dump(2) + "\n";
  list_files();
}

void MergedFolder::plan() {
  const std::vector<AdaptedRows> all = adapted_rows(checkpoint_, model_);
  for (const TensorView& stored : checkpoint_.tensors()) {
    MergedTensor tensor{stored, stored.type, changes_of(stored, all)};
    if (tensor.changes.empty()) continue;
    ++changed_[{stored.type, stored.type}];
    tensors_.push_back(std::move(tensor));
  }
  std::sort(tensors_.begin(), tensors_.end(), [](const MergedTensor& a, const MergedTensor& b) {
    return a.stored.data < b.stored.data;
  });
}

void MergedFolder::list_files() {
  for (size_t i = 0; i < checkpoint_.files().size(); ++i) {
    files_.push_back(shard_name(checkpoint_, i));
  }
  const fs::path& folder = checkpoint_.hf().folder;
  std::vector<std::string> others;
  if (files_.size() > 1) others.emplace_back(kIndex);
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder)) {
    if (entry.is_regular_file() && describes_the_model(entry.path())) {
      check_link(entry.path());
      others.push_back(entry.path().filename());
    }
  }
  std::sort(others.begin(), others.end());
  files_.insert(files_.end(), others.begin(), others.end());
  files_.emplace_back(kConfig);
}

size_t MergedFolder::bytes() const {
  size_t bytes = config_.size();
  for (size_t i = 0; i < files_.size() - 1; ++i) {
    bytes += i < checkpoint_.files().size() ? checkpoint_.bytes_of_file(i).size()
                                            : fs::file_size(checkpoint_.hf().folder / files_[i]);
  }
  return bytes;
}

size_t MergedFolder::tensors() const {
  return checkpoint_.tensors().size() + checkpoint_.unreadable().size() + checkpoint_.left_out();
}

void MergedFolder::write(const std::string& file, const ByteSink& to) const {
  const auto at = std::find(files_.begin(), files_.end(), file) - files_.begin();
  LH_ASSERT(at < std::ssize(files_));
  const auto index = static_cast<size_t>(at);
  if (index < checkpoint_.files().size()) return write_shard(index, to);
  if (file == kConfig) return to(std::as_bytes(std::span(config_)));
  write_pieces(MappedFile(checkpoint_.hf().folder / file).bytes(), to);
}

void MergedFolder::write_shard(size_t shard, const ByteSink& to) const {
  const std::span<const std::byte> bytes = checkpoint_.bytes_of_file(shard);
  const std::byte *at = bytes.data(), *end = at + bytes.size();
  for (const MergedTensor& t : tensors_) {
    if (t.stored.data < at || t.stored.data >= end) continue;
    write_pieces({at, t.stored.data}, to);
    t.write(checkpoint_.path().string(), to);
    at = t.stored.data + t.stored.bytes();
  }
  write_pieces({at, end}, to);
}

}  // namespace longhaul
