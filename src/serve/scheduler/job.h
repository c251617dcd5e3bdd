#pragma once
// Defines a job: one prompt and its replies, as the scheduler processes them.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention/method_spec.h"
#include "base/cancel.h"
#include "engine/sampler.h"
#include "grammar/constraint.h"
#include "serve/cache/cache_report.h"
#include "serve/cache/leg.h"

namespace longhaul {
class SourceWatch;
}

namespace longhaul::serve {

/// Limits the reasoning at the beginning of a reply.
struct ReasoningLimit {
  int64_t tokens = -1;  ///< negative: no limit
  std::string open;     ///< text with which the model begins the reasoning
  std::string end;      ///< text with which the model ends the reasoning
  std::string close;    ///< text that is appended to end the reasoning when the limit is reached
  bool begun = false;   ///< whether the prompt has already opened the reasoning
};

/// The options that determine how the tokens of a reply are sampled and where the reply ends.
struct ReplyOptions {
  SamplerOptions sampler;
  int64_t max_tokens = -1;  ///< negative: no limit
  int64_t open_limit = 0;   ///< largest number of tokens of a reply without max_tokens; 0: no limit
  std::vector<std::string> stop;
  std::map<int32_t, float> logit_bias;
  /// This value is subtracted from the logit of every token that occurs in the reply.
  float presence_penalty = 0;
  /// This value is subtracted from a token's logit once for each occurrence of the token in the
  /// reply.
  float frequency_penalty = 0;
  bool ignore_eos = false;
  /// Whether the text of the reply includes the texts of control tokens.
  bool control_texts = false;
  bool starts_text = true;  ///< whether the reply begins a new text; false: it continues a text
  /// Number of most likely tokens to report for each token; negative: no logprobs.
  int logprobs = -1;
  std::optional<grammar::Constraint> constraint;  ///< constraint on the form of the reply
  ReasoningLimit reasoning;
};

struct TokenChance {
  int32_t id = 0;
  float logprob = 0;
};

/// A token of a reply or prompt with its probability, for the client.
struct TokenReport {
  int32_t id = 0;
  float logprob = 0;              ///< valid only if ReplyOptions::logprobs is not negative
  std::vector<TokenChance> best;  ///< most likely token first
};

enum class Finish : uint8_t { kNone, kEnd, kStopString, kLength, kContextFull, kMemory, kLoop };

/// The text and tokens that one decode step adds to a reply.
struct ReplyPiece {
  std::string text;  ///< complete characters that can no longer become part of a stop string
  std::vector<TokenReport> tokens;  ///< the tokens of this text
  Finish finish = Finish::kNone;
  std::string stop_string;  ///< the stop string that ended the reply
};

struct JobError {
  int status = 500;
  std::string type, code, message;
  double retry_after = 0;  ///< seconds; 0: not specified
  /// For the error insufficient_memory: bytes that the job needs, and bytes that are available.
  size_t needed = 0, limit = 0;
  /// For the error insufficient_memory: attention methods with which the job would fit, and the
  /// bytes that it needs with each.
  std::vector<std::pair<std::string, size_t>> fits;
  int64_t prompt_tokens = 0, context = 0;  ///< for the error context_length_exceeded
  std::vector<std::string> formats;        ///< supported formats, for the error unsupported_format
};

struct PromptProgress {
  int64_t total = 0, cached = 0, processed = 0;
  double seconds = 0;            ///< seconds since the prefill began
  double attention_seconds = 0;  ///< part of `seconds` that was spent on attention
};

/// Statistics of a job. They are reported at the end of the reply, in the log, and in the metrics.
struct JobReport {
  int64_t prompt_tokens = 0, cached_tokens = 0, reply_tokens = 0;
  double queue_seconds = 0, prefill_seconds = 0, first_token_seconds = 0, decode_seconds = 0;
  size_t kv_bytes = 0;
  double pairs_share = 1;
  CacheReport cache;
  std::vector<Leg> legs;  ///< how the prompt was computed, including the reused tokens
  std::vector<std::string> warnings;
};

class PrefillGate;
class ServedSequence;

/// A reply, and the record of the keys to which its tokens attended.
struct WatchedReply {
  std::shared_ptr<const SourceWatch> watch;
  std::vector<int32_t> tokens;  ///< the tokens of the reply
};

/// Receives the results of a job. Its functions are called on the engine's thread, and never after
/// done() or failed().
class JobSink {
 public:
  virtual ~JobSink() = default;
  /// Reports that the job has been accepted. It will run now or after other jobs. Not called for
  /// jobs that are rejected.
  virtual void accepted() {}
  virtual void progress(const PromptProgress& progress) = 0;
  /// Receives the logprobs of the prompt's tokens, if Job::prompt_logprobs is set. The first token
  /// has none.
  virtual void prompt_tokens(std::vector<TokenReport> tokens) = 0;
  /// Called when the prompt has been prefilled, before the first token of the reply is sampled.
  virtual void prefilled(const ServedSequence& /*sequence*/) {}
  /// Called before the first token of a choice if Job::sources is set. `watch` will record the keys
  /// to which the tokens of the choice attend.
  virtual void watching(int /*choice*/, const std::shared_ptr<const SourceWatch>& /*watch*/) {}
  /// Receives the complete record of a choice if Job::sources is set. Called before done().
  virtual void sources(int /*choice*/, const WatchedReply& /*reply*/) {}
  virtual void piece(int choice, const ReplyPiece& piece, const JobReport& so_far) = 0;
  virtual void done(const JobReport& report) = 0;
  virtual void failed(const JobError& error) = 0;
  /// Returns whether the client reads too slowly. The scheduler then generates no further tokens
  /// for the job until the result is false.
  virtual bool full() const { return false; }
  /// Returns whether the client needs no further tokens of the choice. The reply then ends as if
  /// the model had ended it.
  virtual bool enough(int choice) const {
    (void)choice;
    return false;
  }
};

/// A named part of a prompt, so that reports can say where two prompts differ.
struct PromptPart {
  std::string name;  ///< such as "system message", "message 3 (user)" or "tools"
  size_t begin = 0;  ///< offset of the part's first byte in the prompt's text
};

struct Job {
  std::string key;         ///< name of the API key; empty: there is none
  std::string cache_salt;  ///< prompts with different salts share nothing in the cache
  /// Name that the client gave to the conversation. Empty: the conversation has no name, and only
  /// equal tokens show that two jobs belong to the same conversation.
  std::string conversation;
  MethodSpec attention = MethodSpec::parse("dense");
  std::string adapter;  ///< name of an offered adapter; empty: the model as it is
  std::vector<int32_t> prompt;
  int64_t instruction = 0;
  /// Lengths of prefixes of the prompt that the client expects to send again. These are the ends of
  /// documents, and the client's cache marks. The prefix cache keeps snapshots there. Lengths
  /// beyond the prompt are ignored.
  std::vector<int64_t> checkpoints;
  ReplyOptions reply;
  int choices = 1;
  bool prompt_logprobs = false;
  /// Whether a reply that would exceed the context is shortened instead of rejected.
  bool caps_reply = false;
  bool progress = false;  ///< whether PromptProgress is requested
  bool sources = false;   ///< whether JobSink::sources() is requested
  /// Whether the job prefills a document. Such a job leaves most of the time to other long prompts,
  /// and does not count as a running request.
  bool background = false;
  /// If not empty, the snapshot after the prompt is pinned under this name: it is not evicted until
  /// Scheduler::unpin() is called with the name.
  std::string pin;
  /// If set, the pinned snapshot is also written to disk, where it stays until unpin(). The
  /// function is called on the engine's thread when it has been written, with an empty string, or
  /// with the reason why it could not be written.
  std::function<void(const std::string& error)> saved;
  std::vector<std::shared_ptr<PrefillGate>> gates;  ///< the job waits until all of them are open
  bool reuse = true;  ///< whether the job may resume from a snapshot of the prefix cache
  /// For this many seconds, the snapshots of the job are evicted only after all others.
  double cache_seconds = 0;
  std::vector<PromptPart> parts;  ///< parts of the prompt in order; empty: not known
  CancelFlag cancel;
  std::shared_ptr<JobSink> sink;
};

}  // namespace longhaul::serve
