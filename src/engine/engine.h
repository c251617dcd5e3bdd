#pragma once
// Engine is a model that is ready to run, with mapped weights and a tokenizer. Sessions (session.h)
// share it.

#include <filesystem>
#include <map>
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
  /// Opens a GGUF file or a Hugging Face folder. Throws UserError on failure.
  static std::shared_ptr<const Engine> open(const std::filesystem::path& path) {
    return open(ModelSource{path, {}, {}, {}});
  }
  /// Opens a model, optionally with adapters and with profiles from another folder.
  static std::shared_ptr<const Engine> open(const ModelSource& source);
  /// Returns `base` with further adapters. Both use the same weights, on the host and on devices.
  /// Throws UserError if an adapter does not fit the model.
  static std::shared_ptr<const Engine> with_adapters(std::shared_ptr<const Engine> base,
                                                     std::vector<AdapterSource> adapters);

  const Checkpoint& checkpoint() const { return *checkpoint_; }
  const Model& model() const { return model_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// Returns the chat template of the model. Throws UserError if the model has none, or one that
  /// cannot be parsed.
  ChatTemplate chat_template() const { return ChatTemplate::of(*checkpoint_); }
  /// Returns another chat template with this model's tokens (`--chat-template NAME|FILE`). If the
  /// argument is empty, returns the template of the model.
  ChatTemplate chat_template(const std::string& name_or_file) const;

  /// Returns the weights in the memory of the queue's device. If several devices share the model,
  /// returns this device's part of the weights. The first call copies them. Throws UserError on
  /// failure.
  std::shared_ptr<const DeviceModel> on_device(const Queue& queue) const;
  /// Releases the weights in device memory as soon as no session uses them.
  void leave_device() const;

  double load_seconds() const { return load_seconds_; }
  size_t weight_bytes() const { return checkpoint_->total_bytes() + adapter_bytes(); }
  size_t adapter_bytes() const;
  /// Returns the most bytes that the process needs for the adapters, at the place of the queue.
  /// Weights that with_adapters() shares are not included.
  size_t bytes_beside_base(const Queue& queue) const;
  /// Returns the bytes that this process held when the model was opened, without the weights: the
  /// program and its libraries, the tokenizer, tables, and documents that were read before.
  size_t process_bytes() const { return process_bytes_; }
  /// Returns a note about the model for the readers of its replies. It is usually empty.
  const std::string& note() const { return note_; }
  /// Throws UserError if a token has no row in the embedding, or if this row is damaged. Some
  /// fine-tuned models have a tokenizer with tokens beyond the embedding (<pad>).
  void check_known(std::span<const int32_t> tokens) const;
  /// Returns a hash that distinguishes models. It covers shapes, types, samples from all weights,
  /// the metadata of heads, windows and RoPE angles, and the tokenizer. The first call computes it.
  /// An attacker can construct two models with equal hashes.
  uint64_t fingerprint() const;

 private:
  void check_row(int32_t token) const;

  Engine(ModelSource source, std::shared_ptr<const Engine> base);

  // This is the first member, so that it measures the construction of the members below.
  Stopwatch since_open_;
  ModelSource source_;
  std::shared_ptr<const Engine> base_;  ///< engine whose weights this one uses; null: none
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::vector<WeightedLora> adapters_;
  Model model_;
  Tokenizer tokenizer_;
  double load_seconds_ = 0;
  size_t process_bytes_ = 0;
  mutable std::mutex device_mutex_;
  /// The weights on each device, or on each rank of devices that share the model.
  mutable std::vector<std::shared_ptr<const DeviceModel>> on_device_;
  mutable std::mutex rows_mutex_;
  mutable std::vector<bool> sound_rows_;  ///< per embedding row: whether it has been checked
  mutable std::once_flag hashed_;
  mutable uint64_t fingerprint_ = 0;
  std::string note_;
};

/// Engines that differ from another one only in their adapters (Engine::with_adapters), by name.
using AdapterEngines = std::map<std::string, std::shared_ptr<const Engine>>;

}  // namespace longhaul
