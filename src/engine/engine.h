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
  /// A GGUF file or a Hugging Face folder. Throws UserError.
  static std::shared_ptr<const Engine> open(const std::filesystem::path& path) {
    return open(ModelSource{path, {}, {}, {}});
  }
  /// The same with adapters, and with profiles from another folder.
  static std::shared_ptr<const Engine> open(const ModelSource& source);

  const Checkpoint& checkpoint() const { return checkpoint_; }
  const Model& model() const { return model_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// The model's own template; UserError when it has none, or one that cannot be parsed.
  ChatTemplate chat_template() const { return ChatTemplate::of(checkpoint_); }
  /// Another one with this model's tokens (`--chat-template NAME|FILE`); empty: the model's.
  ChatTemplate chat_template(const std::string& name_or_file) const;

  /// The weights in the device's memory, or of a team's member its part of them; copied when they
  /// are first asked for. Throws UserError.
  std::shared_ptr<const DeviceModel> on_device(const Queue& queue) const;
  /// Gives the device's memory back once no session is there.
  void leave_device() const;

  double load_seconds() const { return load_seconds_; }
  size_t weight_bytes() const { return checkpoint_.total_bytes() + adapter_bytes(); }
  size_t adapter_bytes() const;
  /// What this process held when the model was open, weights aside: the program and its libraries,
  /// tokenizer, tables, texts that were read before.
  size_t process_bytes() const { return process_bytes_; }
  /// What people who read its replies should know of the model; usually empty.
  const std::string& note() const { return note_; }
  /// UserError for a token beyond the embedding: some fine-tuned models have a tokenizer with such
  /// tokens (<pad>). Also for one whose row of the embedding is damaged.
  void check_known(std::span<const int32_t> tokens) const;
  /// Distinguishes models: a hash of shapes, types, samples from all over the weights, what the
  /// metadata say of heads, windows and angles, and the tokenizer. Made when it is first asked for.
  /// No protection against an attacker, who can make two models with the same value.
  uint64_t fingerprint() const;

 private:
  void check_row(int32_t token) const;

  explicit Engine(const ModelSource& source);

  Stopwatch since_open_;  // first, so that it times the members below
  Checkpoint checkpoint_;
  std::vector<WeightedLora> adapters_;
  Model model_;
  Tokenizer tokenizer_;
  double load_seconds_ = 0;
  size_t process_bytes_ = 0;
  mutable std::mutex device_mutex_;
  mutable std::vector<std::shared_ptr<const DeviceModel>> on_device_;  ///< or of a team
  mutable std::mutex rows_mutex_;
  mutable std::vector<bool> sound_rows_;  ///< of the embedding, that were looked at
  mutable std::once_flag hashed_;
  mutable uint64_t fingerprint_ = 0;
  std::string note_;
};

}  // namespace longhaul
