#pragma once
// A model ready to run: mapped weights and tokenizer. Sessions (session.h) share it.

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine/model_source.h"
#include "format/checkpoint.h"
#include "model/device_model.h"
#include "model/lora.h"
#include "model/model.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

class Engine {
 public:
  /// Opens a GGUF file or a Hugging Face folder. Throws UserError.
  static std::shared_ptr<const Engine> open(const std::filesystem::path& path) {
    return open(ModelSource{path, {}, {}, {}});
  }
  /// Opens a model with adapters, and with profiles from another folder.
  static std::shared_ptr<const Engine> open(const ModelSource& source);

  const Checkpoint& checkpoint() const { return checkpoint_; }
  const Model& model() const { return model_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// The model's own template. Throws UserError if it has none, or one that cannot be parsed.
  ChatTemplate chat_template() const { return ChatTemplate::of(checkpoint_); }
  /// Another template with this model's tokens (`--chat-template NAME|FILE`). An empty value means
  /// the model's own.
  ChatTemplate chat_template(const std::string& name_or_file) const;

  /// The weights in the device's memory; for a member of a team, its part of them. They are copied
  /// at the first call. Throws UserError.
  std::shared_ptr<const DeviceModel> on_device(const Queue& queue) const;
  /// Releases the device's memory once no session uses it.
  void leave_device() const;

  double load_seconds() const { return load_seconds_; }
  size_t weight_bytes() const { return checkpoint_.total_bytes() + adapter_bytes(); }
  size_t adapter_bytes() const;
  /// Bytes that this process held when the model was opened, without the weights: the program and
  /// its libraries, the tokenizer, tables, and texts that were read before.
  size_t process_bytes() const { return process_bytes_; }
  /// A note about the model for readers of its replies; usually empty.
  const std::string& note() const { return note_; }
  /// Throws UserError for a token beyond the embedding: some fine-tuned models have a tokenizer
  /// with such tokens (<pad>). Also throws it for a token whose row of the embedding is damaged.
  void check_known(std::span<const int32_t> tokens) const;
  /// Distinguishes models. It is a hash of shapes, types, samples from all weights, the metadata of
  /// heads, windows and angles, and the tokenizer, and is computed at the first call. It does not
  /// protect against an attacker, who can construct two models with equal hashes.
  uint64_t fingerprint() const;

 private:
  void check_row(int32_t token) const;

  explicit Engine(const ModelSource& source);

  Stopwatch since_open_;  // first, so that it times the construction of the members below
  Checkpoint checkpoint_;
  std::vector<WeightedLora> adapters_;
  Model model_;
  Tokenizer tokenizer_;
  double load_seconds_ = 0;
  size_t process_bytes_ = 0;
  mutable std::mutex device_mutex_;
  mutable std::vector<std::shared_ptr<const DeviceModel>> on_device_;  ///< one per device or team
  mutable std::mutex rows_mutex_;
  mutable std::vector<bool> sound_rows_;  ///< rows of the embedding that were checked
  mutable std::once_flag hashed_;
  mutable uint64_t fingerprint_ = 0;
  std::string note_;
};

}  // namespace longhaul
