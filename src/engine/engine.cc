#include "engine/engine.h"

#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "base/error.h"
#include "tokenizer/fingerprint.h"
#include "tokenizer/load_tokenizer.h"

namespace longhaul {
namespace {

/// A tensor of up to 64 KiB as a whole, of a larger one as much in blocks from its first to its
/// last byte: a page of a disk each, so that models of many gigabytes cost some thousand reads.
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

/// Names, types, shapes and a sample of every tensor: different for every model and quantization,
/// though not for one that was made to have the same.
template <class Samples>
uint64_t hash_of(const Checkpoint& checkpoint, Samples&& samples) {
  XXH64_hash_t hash = 0;
  for (const TensorView& t : checkpoint.tensors()) {
    hash = XXH3_64bits_withSeed(t.name.data(), t.name.size(), hash);
    hash = XXH3_64bits_withSeed(&t.type, sizeof t.type, hash);
    hash = XXH3_64bits_withSeed(t.shape.data(), sizeof t.shape, hash);
    hash = samples(t, hash);
  }
  return hash;
}

/// What the metadata say beyond the tensors: the same weights with another rope are another model.
uint64_t hash_of(const ModelConfig& c, uint64_t seed) {
  const RopeTable rope = make_rope(c.rope, c.trained_context);
  const std::string text = fmt::format(
      "{} heads {} of {} kv {} eps {} context {} window {} interleaved {} rope {} {} {} {} {} {}",
      c.architecture, c.heads, c.head_dim, fmt::join(c.kv_heads, " "), c.norm_eps,
      c.trained_context, fmt::join(c.window, " "), c.interleaved_rope,
      static_cast<int>(c.rope.scaling), c.rope.rotary_dim, c.rope.base, c.rope.factor,
      c.rope.original_context, rope.attention_factor);
  const uint64_t hash = XXH3_64bits_withSeed(text.data(), text.size(), seed);
  return XXH3_64bits_withSeed(rope.inverse_frequency.data(),
                              sizeof(rope.inverse_frequency[0]) * rope.inverse_frequency.size(),
                              hash);
}

/// Punctuation: ASCII punctuation marks and nothing else but spaces.
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

}  // namespace

std::shared_ptr<const Engine> Engine::open(const std::filesystem::path& path) {
  return std::shared_ptr<const Engine>(new Engine(path));
}

Engine::Engine(const std::filesystem::path& path)
    : checkpoint_(open_checkpoint(path)),
      model_(load_model(checkpoint_)),
      tokenizer_(load_tokenizer(checkpoint_)) {
  for (size_t id = 0; id < tokenizer_.vocab_size(); ++id) {
    model_.shape.token_classes.push_back(class_of(tokenizer_, static_cast<int32_t>(id)));
  }
  load_seconds_ = since_open_.seconds();
}

uint64_t Engine::fingerprint() const {
  std::call_once(hashed_, [this] {
    fingerprint_ = hash_of(model_.config, hash_of(checkpoint_, hash_of_samples)) ^
                   tokenizer_fingerprint(tokenizer_);
  });
  return fingerprint_;
}

uint64_t Engine::first_bytes_fingerprint() const {
  return hash_of(model_.config, hash_of(checkpoint_, [](const TensorView& t, uint64_t hash) {
                   return XXH3_64bits_withSeed(t.data, std::min<size_t>(256, t.bytes()), hash);
                 }));
}

ChatTemplate Engine::chat_template(std::string_view name) const {
  if (name.empty()) return chat_template();
  ChatTokens tokens;
  if (const auto id = tokenizer_.bos_id()) tokens.bos = tokenizer_.piece(*id);
  if (const auto id = tokenizer_.eos_id()) tokens.eos = tokenizer_.piece(*id);
  return ChatTemplate::named(name, tokens);
}

void Engine::check_known(std::span<const int32_t> tokens) const {
  const int32_t known = model_.config.vocab;
  for (const int32_t token : tokens) {
    if (token >= 0 && token < known) continue;
    user_error("{}: its tokenizer gives token {}, its weights know only {}",
               checkpoint_.path().string(), token, known);
  }
}

}  // namespace longhaul
