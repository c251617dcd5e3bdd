#pragma once
// Defines EnginePort, the interface through which the scheduler uses an engine. SequenceEngine
// implements it with the real engine. MockEngine implements it with a simulated clock, so that
// tests can simulate hours of traffic in seconds.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "attention/method_spec.h"
#include "attention/resume_rule.h"
#include "base/cancel.h"
#include "ops/core/best_logits.h"
#include "serve/scheduler/retention_map.h"

namespace longhaul {
class SourceWatch;
}

namespace longhaul::serve {

/// The tokens of one conversation with their keys and values.
class ServedSequence {
 public:
  virtual ~ServedSequence() = default;
  virtual std::span<const int32_t> tokens() const = 0;
  /// Returns the logits [vocab] after the last token.
  virtual std::span<const float> logits() const = 0;
  /// Returns the bytes of keys and values, including the method's index. The scheduler calls it
  /// several times in each step, so it must be fast and must not wait for a device.
  virtual size_t kv_bytes() const = 0;
  /// Returns the number of computed attention pairs, relative to dense attention. May wait for a
  /// device.
  virtual double pairs_share() const = 0;
  /// Returns the seconds spent on attention since the sequence began.
  virtual double attention_seconds() const = 0;
  /// Returns whether truncate() to any length is currently possible.
  virtual bool rewinds() const = 0;
  /// Removes the tokens from index `length` on, and the logits.
  virtual void truncate(int64_t length) = 0;
  virtual void drop_logits() = 0;
  /// Initialises this empty sequence with a prefix of `dense`, so that a method can continue a
  /// snapshot of dense attention. `dense` has processed at least the first `most` tokens of
  /// `prompt` with dense attention. The prefix has at most `most` tokens. It is the longest one for
  /// which this sequence's method would compute the same keys and values. Returns the number of its
  /// tokens.
  virtual int64_t begin_with(const ServedSequence& dense, std::span<const int32_t> prompt,
                             int64_t instruction, int64_t most) = 0;
  /// Writes a session file without the keys and values of the first `parent_tokens` tokens, which
  /// are in the file `parent` (Sequence::save_after). Throws UserError if writing fails. It may be
  /// called on any thread if no other thread uses the sequence.
  virtual void save(const std::filesystem::path& file, int64_t parent_tokens,
                    const std::string& parent) const = 0;
  /// Returns whether save() can leave out the keys and values of the first tokens (`parent_tokens`
  /// above 0).
  virtual bool can_leave_out() const = 0;
  /// Returns the size in bytes of the keys and values that no other sequence shares. They are freed
  /// if this sequence is destroyed.
  virtual size_t own_bytes() const = 0;
  /// Returns a second sequence with the same contents, or null if the engine cannot copy it.
  virtual std::unique_ptr<ServedSequence> clone() const = 0;
  /// From now on records in `watch` to which keys each decoded token attends. A call with null ends
  /// the recording. Does nothing if the engine does not support it.
  virtual void watch_sources(std::shared_ptr<SourceWatch> watch) = 0;
  /// Returns which tokens still have keys and values in memory. Some methods evict keys and values.
  virtual RetentionMap retention() const = 0;
};

/// Two sequences with the same contents, at the two places between which another one is copied. The
/// copy shares with `there` the pages that its source shares with `here`. Null: there are none.
struct ServedTwins {
  const ServedSequence* here = nullptr;
  const ServedSequence* there = nullptr;
};

/// A sequence that is being copied between a device and host memory (EnginePort::copy_to_host). The
/// destructor waits until no copy uses the memory of the two sequences.
class SequenceMove {
 public:
  virtual ~SequenceMove() = default;
  /// Continues for about `seconds`. Copies to a device need these calls. Does not wait.
  virtual void advance(double seconds) = 0;
  virtual bool done() const = 0;
  /// Returns the reason why the copy failed; empty: it did not.
  virtual std::string error() const = 0;
  /// Returns the bytes that will still be allocated on the device.
  virtual size_t bytes_left() const = 0;
  /// Returns the copy, if done() is true and error() is empty.
  virtual std::unique_ptr<ServedSequence> take() = 0;
};

/// Host memory beside a device, in bytes (`--cache-host`).
struct HostUse {
  size_t in_use = 0, limit = 0;
};

struct ServedPrefillHooks {
  const CancelFlag* cancel = nullptr;
  /// If set, receives the logits after every token of the prefill, several tokens per call.
  /// `logits` is [rows, vocab]. Row 0 belongs to token number `first` of this prefill.
  std::function<void(int64_t first, int64_t rows, const float* logits)> all_logits;
  /// Number of tokens at the end of the prompt that belong to the question.
  int64_t instruction = 0;
  int64_t reply = 0;  ///< largest number of tokens of the reply
  /// Number of tokens of the same prompt after this prefill, which later prefills will add.
  int64_t to_come = 0;
};

enum class Advance : uint8_t { kMore, kDone, kCancelled };

/// The prefill of one prompt. If it is destroyed early, the sequence keeps the tokens that have
/// been completed.
class ServedPrefill {
 public:
  virtual ~ServedPrefill() = default;
  /// Computes the next chunk of tokens. Calls `yield` after each layer. `yield` may compute steps
  /// of other sequences. Throws if the engine fails; the sequence is then empty.
  virtual Advance step(const std::function<void()>& yield) = 0;
  virtual int64_t total() const = 0;
  /// Returns the number of completed tokens. The number grows even within a step.
  virtual int64_t done() const = 0;
};

struct DecodeEntry {
  ServedSequence* sequence = nullptr;
  int32_t token = 0;
  std::string error;  ///< set if this sequence failed; the other sequences are not affected
  /// If this is not null, the token with the highest logit after `biases` and `mask` is written
  /// here, and the sequence gets no logits. Only engines with chooses_highest() support it.
  BestLogit* highest = nullptr;
  std::span<const LogitBias> biases = {};
  std::span<const uint64_t> mask = {};  ///< the allowed tokens (LogitRules::mask); empty: all
};

/// Selects the buffers that a prefill uses. Two sets allow a short prefill to run between the
/// layers of a long one.
enum class PrefillLane : uint8_t { kLong, kShort };

class EnginePort {
 public:
  virtual ~EnginePort() = default;
  virtual double now() const = 0;  ///< returns the time in seconds
  /// Creates an empty sequence. `adapter` is the name of an offered adapter; empty: the model as it
  /// is.
  virtual std::unique_ptr<ServedSequence> begin(const MethodSpec& attention,
                                                const std::string& adapter) = 0;
  /// Reads a file that ServedSequence::save() has written. If the file was written with
  /// `parent_tokens` above 0, `parent` is the loaded sequence of the parent file. Otherwise it is
  /// null. Throws UserError if the file cannot be loaded. It may be called on any thread.
  virtual std::unique_ptr<ServedSequence> load(const std::filesystem::path& file,
                                               const MethodSpec& attention,
                                               const std::string& adapter,
                                               const ServedSequence* parent) = 0;
  /// Begins a prefill. Throws UserError if the method rejects the prompt.
  virtual std::unique_ptr<ServedPrefill> prefill(ServedSequence& sequence,
                                                 std::span<const int32_t> tokens,
                                                 const ServedPrefillHooks& hooks,
                                                 PrefillLane lane) = 0;
  /// Returns whether decode() supports DecodeEntry::highest. Finding the highest logit on a device
  /// is faster than copying all logits to the host.
  virtual bool chooses_highest() const { return false; }
  /// Begins a decode step: adds one token to each sequence and computes its logits. Sequences with
  /// the same adapter are computed together, and the adapters one after another. Returns whether a
  /// device still computes the step. The entries and their sequences must not be used before
  /// end_decode(), which waits for the step. Masks may be written until `before_choice` has
  /// returned (ModelRunner::decode).
  virtual bool begin_decode(std::span<DecodeEntry> entries,
                            const std::function<void()>& before_choice) = 0;
  virtual void end_decode() = 0;
  /// Returns the largest number of bytes that a sequence of this many tokens needs, without memory
  /// that all sequences share.
  virtual size_t most_bytes(const MethodSpec& attention, int64_t prompt, int64_t reply) const = 0;
  /// Returns the bytes of memory that do not depend on the number of sequences: weights,
  /// activations and the process itself.
  virtual size_t fixed_bytes() const = 0;
  /// Returns an object for ServedSequence::watch_sources() and a prompt of `prompt` tokens, or null
  /// if the engine does not support it.
  virtual std::shared_ptr<SourceWatch> make_watch(int64_t prompt) const = 0;
  virtual int64_t vocab() const = 0;  ///< returns the number of logits per token
  /// Returns the size in bytes of the keys and values of all sequences. Pages that several
  /// sequences share are counted once.
  virtual size_t kv_bytes_in_use() const = 0;
  /// Returns the host memory to which sequences can be moved. The limit is 0 if they cannot.
  virtual HostUse host_use() const { return {}; }
  /// Announces that up to `bytes` bytes of host memory may be needed, those in use included. They
  /// are then allocated in advance.
  virtual void expect_host_use(size_t /*bytes*/) {}
  /// Returns whether sequences are saved from a copy in host memory and loaded to host memory,
  /// because only the engine's thread may use the device. load() then returns a sequence in host
  /// memory, which copy_to_device() copies to the device.
  virtual bool files_through_host() const { return false; }
  /// Begins to copy a sequence to host memory, or back to the device. The source must stay as it is
  /// until the copy has ended. The result is null if the sequence cannot be copied. If `for_file`
  /// is true, the copy does not count as host_use(), and is used only to save it.
  virtual std::unique_ptr<SequenceMove> copy_to_host(const ServedSequence& /*sequence*/,
                                                     const ServedTwins& /*twins*/,
                                                     bool /*for_file*/) {
    return nullptr;
  }
  virtual std::unique_ptr<SequenceMove> copy_to_device(const ServedSequence& /*on_host*/,
                                                       const ServedTwins& /*twins*/) {
    return nullptr;
  }
  /// Returns the rule that determines where prompts of this method can resume. Throws UserError if
  /// the model does not support the method.
  virtual ResumeRule resume_rule(const MethodSpec& attention) const = 0;
  /// Returns a number that identifies the RoPE angles for a context of `tokens` tokens. Some models
  /// use other angles for long contexts. Two contexts have the same angles if their numbers are
  /// equal.
  virtual int64_t angles_of(int64_t tokens) const = 0;
};

}  // namespace longhaul::serve
