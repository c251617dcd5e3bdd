#pragma once
// The scheduler's interface to the engine. It is implemented by the real engine, and by a mock with
// a clock of its own (mock_engine.h), so that tests simulate hours of traffic in seconds.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "attention/method_spec.h"
#include "attention/resume_rule.h"
#include "base/cancel.h"
#include "serve/scheduler/retention_map.h"

namespace longhaul {
class SourceWatch;
}

namespace longhaul::serve {

struct SequenceFacts {
  size_t kv_bytes = 0;           ///< with the method's index
  double pairs_share = 1;        ///< computed attention pairs, relative to dense attention
  double attention_seconds = 0;  ///< seconds since the sequence began
};

/// Tokens of one conversation with their keys and values.
class ServedSequence {
 public:
  virtual ~ServedSequence() = default;
  virtual std::span<const int32_t> tokens() const = 0;
  /// [vocab] after the last token.
  virtual std::span<const float> logits() const = 0;
  virtual SequenceFacts facts() const = 0;
  /// Whether truncate() to any length is possible at present.
  virtual bool rewinds() const = 0;
  /// Removes the tokens from `length` on, and the logits with them.
  virtual void truncate(int64_t length) = 0;
  virtual void drop_logits() = 0;
  /// For an empty sequence: shares with `dense`, which has read at least the first `most` tokens of
  /// `prompt` with dense attention, as many of these as its own method reads in the same way.
  /// Returns their number.
  virtual int64_t begin_with(const ServedSequence& dense, std::span<const int32_t> prompt,
                             int64_t instruction, int64_t most) = 0;
  /// Writes a session file (Sequence::save_after). Throws UserError. Callable from any thread, for
  /// a clone that no other thread uses.
  virtual void save(const std::filesystem::path& file, int64_t parent_tokens,
                    const std::string& parent) const = 0;
  /// Whether the rows of its first tokens can be left out of the file.
  virtual bool can_leave_out() const = 0;
  /// Bytes of keys and values that are freed with this sequence.
  virtual size_t own_bytes() const = 0;
  /// A second sequence with the same contents; null if the engine cannot copy it.
  virtual std::unique_ptr<ServedSequence> clone() const = 0;
  /// From now on watches what the tokens of the reply attend to. A second call without a watch ends
  /// it. Does nothing if the engine cannot watch.
  virtual void watch_sources(std::shared_ptr<SourceWatch> watch) = 0;
  /// Which tokens are kept.
  virtual RetentionMap retention() const = 0;
};

struct ServedPrefillHooks {
  const CancelFlag* cancel = nullptr;
  /// Receives the logits of rows, [rows, vocab], with the first row's index in the tokens of this
  /// prefill.
  std::function<void(int64_t first, int64_t rows, const float* logits)> all_logits;
  int64_t instruction = 0;  ///< length of the question at the end, in tokens
  int64_t reply = 0;        ///< most tokens of the reply
  int64_t to_come = 0;      ///< tokens of the same prompt that further prefills will add
};

enum class Advance : uint8_t { kMore, kDone, kCancelled };

/// The prefill of one prompt. Dropping it early leaves the sequence with the finished part.
class ServedPrefill {
 public:
  virtual ~ServedPrefill() = default;
  /// Computes the next group of rows. Between two layers it calls `yield`, which may compute other
  /// sequences. Throws if the engine fails; the sequence is empty then.
  virtual Advance step(const std::function<void()>& yield) = 0;
  virtual int64_t total() const = 0;
  virtual int64_t done() const = 0;  ///< finished tokens, also within a step
};

struct DecodeEntry {
  ServedSequence* sequence = nullptr;
  int32_t token = 0;
  std::string error;  ///< set if this sequence failed; the others are not affected
};

/// The buffers that a prefill uses. A short prefill may run between the layers of a long one.
enum class PrefillLane : uint8_t { kLong, kShort };

class EnginePort {
 public:
  virtual ~EnginePort() = default;
  virtual double now() const = 0;  ///< seconds
  virtual std::unique_ptr<ServedSequence> begin(const MethodSpec& attention) = 0;
  /// Reads a file of ServedSequence::save(). `parent` has its parent's tokens; null: it has no
  /// parent. Throws UserError. Callable from any thread.
  virtual std::unique_ptr<ServedSequence> load(const std::filesystem::path& file,
                                               const MethodSpec& attention,
                                               const ServedSequence* parent) = 0;
  /// Throws UserError if the method refuses the prompt.
  virtual std::unique_ptr<ServedPrefill> prefill(ServedSequence& sequence,
                                                 std::span<const int32_t> tokens,
                                                 const ServedPrefillHooks& hooks,
                                                 PrefillLane lane) = 0;
  /// Reads one token into each sequence.
  virtual void decode(std::span<DecodeEntry> entries) = 0;
  /// Most bytes of a sequence of this many tokens, without the memory that all sequences share.
  virtual size_t most_bytes(const MethodSpec& attention, int64_t prompt, int64_t reply) const = 0;
  /// Bytes of weights, activations and the process, which do not depend on the number of sequences.
  virtual size_t fixed_bytes() const = 0;
  /// Observes the sources of a reply to a prompt of this many tokens; null if the engine cannot.
  virtual std::shared_ptr<SourceWatch> make_watch(int64_t prompt) const = 0;
  virtual int64_t vocab() const = 0;  ///< logits of a token
  /// Bytes of the keys and values of all sequences; pages that several sequences share count once.
  virtual size_t kv_bytes_in_use() const = 0;
  /// The places at which prompts of this method can resume. Throws UserError if the model cannot
  /// run it.
  virtual ResumeRule resume_rule(const MethodSpec& attention) const = 0;
  /// Contexts of two lengths have the same RoPE angles if these numbers are equal.
  virtual int64_t angles_of(int64_t tokens) const = 0;
};

}  // namespace longhaul::serve
