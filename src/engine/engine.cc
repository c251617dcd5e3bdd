#include "engine/engine.h"

#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/system_info.h"
#include "base/units.h"
#include "engine/open_adapters.h"
#include "ops/matmul/dequantize.h"
#include "text/printable.h"
#include "tokenizer/fingerprint.h"
#include "tokenizer/load_tokenizer.h"

namespace longhaul {
namespace {

/// Hashes a tensor of up to 64 KiB completely. For a larger tensor, hashes 64 KiB in total, in
/// blocks that are distributed over the tensor from its first to its last byte. Each block is one
/// disk page, so models of many gigabytes need only some thousand reads.
uint64_t hash_of_samples(const TensorView& tensor, uint64_t hash) {
  constexpr size_t kBlock = 4096, kBlocks = 16;
  const size_t bytes = tensor.bytes();
  const auto* data = static_cast<const std::byte*>(tensor.data);
  if (bytes <= kBlock * kBlocks) return XXH3_64bits_withSeed(data, bytes, hash);
  for (size_t i = 0; i < kBlocks; ++i) {
    const size_t begin = (bytes - kBlock) / (kBlocks - 1) * i;
    hash = XXH3_64bits_withSeed(data + (i + 1 == kBlocks ? bytes - kBlock : begin), kBlock, hash);
  }
  return hash;
}

/// Returns a hash of the names, types, shapes and samples of all tensors. It differs between models
/// and quantizations, but an attacker can construct two models with equal hashes.
uint64_t hash_of(const Checkpoint& checkpoint) {
  XXH64_hash_t hash = 0;
  for (const TensorView& t : checkpoint.tensors()) {
    hash = XXH3_64bits_withSeed(t.name.data(), t.name.size(), hash);
    hash = XXH3_64bits_withSeed(&t.type, sizeof t.type, hash);
    hash = XXH3_64bits_withSeed(t.shape.data(), sizeof t.shape, hash);
    hash = hash_of_samples(t, hash);
  }
  return hash;
}

/// Adds the settings that do not follow from the tensors, such as RoPE.
uint64_t hash_of(const ModelConfig& c, uint64_t seed) {
  const RopeTable rope = make_rope(c.rope, c.trained_context);
  const std::string text = fmt::format(
      "{} heads {} of {} kv {} eps {} context {} window {} interleaved {} rope {} {} {} {} {} {}",
      c.architecture, c.heads, c.head_dim, fmt::join(c.kv_heads, " "), c.norm_eps,
      c.trained_context, fmt::join(c.window, " "), c.interleaved_rope,
      static_cast<int>(c.rope.scaling), c.rope.rotary_dim, c.rope.base, c.rope.factor,
      c.rope.original_context, rope.attention_factor);
  uint64_t hash = XXH3_64bits_withSeed(text.data(), text.size(), seed);
  if (const std::string more = c.beyond_plain(); !more.empty()) {
    const std::string scales =
        fmt::format("{} {} {} {} {} caps {} {} experts {} {} angles {} {} offset {}", more,
                    c.embedding_scale, c.residual_scale, c.attention_scale, c.logit_scale,
                    c.attention_cap, c.logit_cap, c.experts_used, c.norm_topk_prob,
                    fmt::join(c.other_angles, " "), c.other_rope.base, c.norm_offset);
    hash = XXH3_64bits_withSeed(scales.data(), scales.size(), hash);
  }
  if (!c.ssm.empty()) {
    const SsmShape& s = c.ssm;
    const std::string scales = fmt::format(
        "outputs {} {} {} slope {} ssm {} {} {} {} {} norm {} still {}", c.attention_out_scale,
        c.recurrent_out_scale, c.ffn_out_scale, c.gating.slope, s.gate_scale, s.step_scale,
        s.x_scale, s.b_scale, s.c_scale, static_cast<int>(s.norm), c.rope.still);
    hash = XXH3_64bits_withSeed(scales.data(), scales.size(), hash);
  }
  return XXH3_64bits_withSeed(rope.inverse_frequency.data(),
                              sizeof(rope.inverse_frequency[0]) * rope.inverse_frequency.size(),
                              hash);
}

/// Adds the adapters with their weights.
uint64_t hash_of(const std::vector<WeightedLora>& adapters, uint64_t hash) {
  for (const WeightedLora& a : adapters) {
    for (const auto& [matrix, factors] : a.file.factors()) {
      const std::string text = fmt::format("{} rank {} scale {}", matrix, factors.a.rows(),
                                           a.weight * a.file.scale(factors));
      hash = XXH3_64bits_withSeed(text.data(), text.size(), hash);
      for (const TensorView* t : {&factors.a, &factors.b}) {
        hash = XXH3_64bits_withSeed(&t->type, sizeof t->type, hash);
        hash = hash_of_samples(*t, hash);
      }
    }
    for (const auto& [matrix, weights] : a.file.whole()) {
      hash = XXH3_64bits_withSeed(matrix.data(), matrix.size(), hash);
      hash = hash_of_samples(weights, hash);
    }
  }
  return hash;
}

/// Returns the model of `checkpoint` with the adapters. If `base` is not null, it is the same model
/// with other adapters, and the result shares its converted weights.
Model load_with(const Checkpoint& checkpoint, const Model* base,
                const std::vector<WeightedLora>& adapters, const std::filesystem::path& profiles) {
  Model model = load_model(checkpoint);
  // The converted weights are equal, so those of the base are used.
  if (base != nullptr && !model.turned.empty()) {
    for (size_t layer = 0; layer < model.layers.size(); ++layer) {
      model.layers[layer].k_up = base->layers[layer].k_up;
    }
    model.turned.clear();
  }
  attach_adapters(adapters, model);
  if (!profiles.empty()) model.shape.profile_prefix = (profiles / "").string();
  return model;
}

/// Returns the note for users: the value of a key in config.json that only Longhaul reads, or else
/// a warning about the answers of a small model. Models with fewer than ten million parameters get
/// no warning, because they are test models.
std::string note_of(const Checkpoint& checkpoint) {
  if (checkpoint.format() == CheckpointFormat::kHuggingFace) {
    const auto& config = checkpoint.hf().config;
    const auto note = config.find("longhaul_note");
    if (note != config.end() && note->is_string()) return one_line(note->get<std::string>());
  }
  constexpr int64_t kMillion = 1'000'000;
  const int64_t millions = (checkpoint.parameters() + kMillion / 2) / kMillion;
  if (millions < 10 || millions >= 1000) return "";
  return fmt::format(
      "a model of {} million parameters often gets facts wrong; use the largest that fits in "
      "memory ('longhaul models --all' names some)",
      millions);
}

/// Returns the class of a token. A punctuation token consists of ASCII punctuation marks and
/// spaces, with at least one mark.
TokenClass class_of(const Tokenizer& tokenizer, int32_t id) {
  if (tokenizer.is_special(id)) return TokenClass::kSpecial;
  bool marks = false;
  for (const char c : tokenizer.piece(id)) {
    const unsigned char byte = static_cast<unsigned char>(c);
    const bool mark = byte < 128 && std::ispunct(byte) != 0;
    if (!mark && std::isspace(byte) == 0) return TokenClass::kOther;
    marks = marks || mark;
  }
  return marks ? TokenClass::kPunctuation : TokenClass::kOther;
}

std::shared_ptr<std::vector<TokenClass>> classes_of(const Tokenizer& tokenizer) {
  auto classes = std::make_shared<std::vector<TokenClass>>();
  for (size_t id = 0; id < tokenizer.vocab_size(); ++id) {
    classes->push_back(class_of(tokenizer, static_cast<int32_t>(id)));
  }
  return classes;
}

size_t resident_beside_weights(const Checkpoint& checkpoint,
                               const std::vector<WeightedLora>& adapters) {
  std::vector<const void*> weights;
  for (const TensorView& t : checkpoint.tensors()) weights.push_back(t.data);
  for (const WeightedLora& a : adapters) {
    for (const auto& [matrix, factors] : a.file.factors()) weights.push_back(factors.a.data);
    for (const auto& [matrix, whole] : a.file.whole()) weights.push_back(whole.data);
  }
  return resident_bytes_beside(weights);
}

}  // namespace

std::shared_ptr<const Engine> Engine::open(const ModelSource& source) {
  return std::shared_ptr<const Engine>(new Engine(source, nullptr));
}

std::shared_ptr<const Engine> Engine::with_adapters(std::shared_ptr<const Engine> base,
                                                    std::vector<AdapterSource> adapters) {
  ModelSource source = base->source_;
  source.adapters.insert(source.adapters.end(), adapters.begin(), adapters.end());
  return std::shared_ptr<const Engine>(new Engine(std::move(source), std::move(base)));
}

Engine::Engine(ModelSource source, std::shared_ptr<const Engine> base)
    : source_(std::move(source)),
      base_(std::move(base)),
      checkpoint_(base_ ? base_->checkpoint_
                        : std::make_shared<const Checkpoint>(open_checkpoint(source_.path))),
      adapters_(open_adapters(source_.adapters)),
      model_(
          load_with(*checkpoint_, base_ ? &base_->model_ : nullptr, adapters_, source_.profiles)),
      tokenizer_(base_ ? base_->tokenizer_ : load_tokenizer(*checkpoint_)) {
  model_.shape.token_classes = base_ ? base_->model_.shape.token_classes : classes_of(tokenizer_);
  note_ = base_ ? base_->note_ : source_.note.empty() ? note_of(*checkpoint_) : source_.note;
  process_bytes_ = base_ ? base_->process_bytes_ : resident_beside_weights(*checkpoint_, adapters_);
  load_seconds_ = since_open_.seconds();
}

uint64_t Engine::fingerprint() const {
  std::call_once(hashed_, [this] {
    const uint64_t weights = hash_of(adapters_, hash_of(*checkpoint_));
    fingerprint_ = hash_of(model_.config, weights) ^ tokenizer_fingerprint(tokenizer_);
  });
  return fingerprint_;
}

size_t Engine::adapter_bytes() const {
  size_t bytes = 0;
  for (const WeightedLora& a : adapters_) bytes += a.file.bytes();
  return bytes;
}

size_t Engine::bytes_beside_base(const Queue& queue) const {
  return queue.on_host() ? adapter_bytes() + converted_bytes(model_)
                         : on_device(queue)->own_bytes();
}

ChatTemplate Engine::chat_template(const std::string& name_or_file) const {
  if (name_or_file.empty()) return chat_template();
  ChatTokens tokens;
  if (const auto id = tokenizer_.bos_id()) tokens.bos = tokenizer_.piece(*id);
  if (const auto id = tokenizer_.eos_id()) tokens.eos = tokenizer_.piece(*id);
  return ChatTemplate::chosen(name_or_file, std::move(tokens));
}

/// Throws UserError if a row of the embedding has NaN or infinite elements. Its keys and values
/// would make the logits of all tokens that see them invalid. If a method evicted them, the model
/// might even give a reply.
void Engine::check_row(int32_t token) const {
  const TensorView& matrix = model_.embedding;
  std::vector<float> row(static_cast<size_t>(matrix.cols()));
  dequantize_row(matrix.type, matrix.row(token), matrix.cols(), row.data());
  if (std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); })) return;
  user_error("{}: row {} of the embedding holds numbers that are not finite: it is damaged",
             checkpoint_->path().string(), token);
}

void Engine::check_known(std::span<const int32_t> tokens) const {
  const int32_t known = model_.config.vocab;
  for (const int32_t token : tokens) {
    if (token >= 0 && token < known) continue;
    user_error("{}: its tokenizer gives token {}, its weights know only {}",
               checkpoint_->path().string(), token, known);
  }
  const std::lock_guard lock(rows_mutex_);
  sound_rows_.resize(static_cast<size_t>(known));
  for (const int32_t token : tokens) {
    const auto row = static_cast<size_t>(token);
    if (!sound_rows_[row]) check_row(token);
    sound_rows_[row] = true;
  }
}

std::shared_ptr<const DeviceModel> Engine::on_device(const Queue& queue) const {
  const std::lock_guard lock(device_mutex_);
  for (const auto& known : on_device_) {
    if (known->queue() == queue) return known;
  }
  // Before weights are copied to other devices, copies that no sequence uses are released.
  std::erase_if(on_device_, [&](const auto& known) {
    return known.use_count() == 1 && (queue.communicator() == nullptr ||
                                      known->queue().communicator() != queue.communicator());
  });
  // The weights in device memory are as large as those in the file. If they do not fit, the error
  // is reported before they are copied.
  const size_t room = queue.device().free_bytes();
  const size_t needed =
      (base_ ? adapter_bytes() : weight_bytes()) / static_cast<size_t>(queue.ranks());
  if (needed > room) {
    user_error("{}: {} of weights do not fit into the GPU's memory, of which {} are free",
               checkpoint_->path().string(), format_bytes(needed), format_bytes(room));
  }
  return on_device_.emplace_back(std::make_shared<const DeviceModel>(
      model_, queue, base_ ? base_->on_device(queue) : nullptr));
}

void Engine::leave_device() const {
  const std::lock_guard lock(device_mutex_);
  on_device_.clear();
}

}  // namespace longhaul
