#pragma once
// Engine is an opened model: memory-mapped weights, configuration, tokenizer and LoRA adapters. Any
// number of sequences (sequence.h) can share an engine.

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
  /// Opens a model, optionally with LoRA adapters and with method profiles from another folder.
  static std::shared_ptr<const Engine> open(const ModelSource& source);
  /// Returns an engine for the model of `base` with further adapters. Both engines share the
  /// weights, on the host and on devices. Throws UserError if an adapter does not fit the model.
  static std::shared_ptr<const Engine> with_adapters(std::shared_ptr<const Engine> base,
                                                     std::vector<AdapterSource> adapters);

  const Checkpoint& checkpoint() const { return *checkpoint_; }
  const Model& model() const { return model_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// Returns the chat template of the model. Throws UserError if the model has none, or one that
  /// cannot be parsed.
  ChatTemplate chat_template() const { return ChatTemplate::of(*checkpoint_); }
  /// Returns the chat template with this name or in this file (`--chat-template NAME|FILE`), with
  /// the BOS and EOS tokens of this model. If the argument is empty, returns the template of the
  /// model.
  ChatTemplate chat_template(const std::string& name_or_file) const;

  /// Returns the model's weights in the memory of the queue's device. The first call copies the
  /// weights to the device. If several devices share the model, the result contains only the part
  /// of this device. Throws UserError on failure.
  std::shared_ptr<const DeviceModel> on_device(const Queue& queue) const;
  /// Releases the weights in device memory as soon as no session uses them.
  void leave_device() const;

  double load_seconds() const { return load_seconds_; }
  size_t weight_bytes() const { return checkpoint_->total_bytes() + adapter_bytes(); }
  size_t adapter_bytes() const;
  /// Returns the peak memory in bytes of everything that this engine does not share with its base
  /// engine (with_adapters()), on the host or device of the queue.
  size_t bytes_beside_base(const Queue& queue) const;
  /// Returns the resident memory of this process in bytes, measured right after the model was
  /// opened. Mapped weights are not included. The program, its libraries, the tokenizer and
  /// previously loaded documents are included.
  size_t process_bytes() const { return process_bytes_; }
  /// Returns a note that is shown to users with the replies of this model. It is usually empty.
  const std::string& note() const { return note_; }
  /// Throws UserError if a token has no row in the embedding matrix, or if this row has a NaN or
  /// infinite element. Tokenizers of some fine-tuned models have more tokens than the embedding has
  /// rows (<pad>).
  void check_known(std::span<const int32_t> tokens) const;
  /// Returns a hash by which session files identify their model. It covers the tokenizer, the
  /// shapes and types of tensors, samples of all weights, and the metadata about heads, windows and
  /// RoPE. The first call computes it. The hash is not cryptographic, so an attacker can construct
  /// two models with equal hashes.
  uint64_t fingerprint() const;

 private:
  void check_row(int32_t token) const;

  Engine(ModelSource source, std::shared_ptr<const Engine> base);

  // This is the first member, so that it measures the time in which the other members are
  // constructed.
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
  /// The weights on each device that has been used. If several devices share the model, each has
  /// one element.
  mutable std::vector<std::shared_ptr<const DeviceModel>> on_device_;
  mutable std::mutex rows_mutex_;
  mutable std::vector<bool> sound_rows_;  ///< per embedding row: whether it has been checked
  mutable std::once_flag hashed_;
  mutable uint64_t fingerprint_ = 0;
  std::string note_;
};

/// Engines that differ from a common base engine only in their adapters (Engine::with_adapters), by
/// name.
using AdapterEngines = std::map<std::string, std::shared_ptr<const Engine>>;

}  // namespace longhaul
