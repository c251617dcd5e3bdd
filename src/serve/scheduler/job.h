#pragma once
// One prompt and its replies, as the scheduler processes them.

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
  std::string open;     ///< mark that begins the reasoning
  std::string end;      ///< mark with which the model ends the reasoning
  std::string close;    ///< text that ends the reasoning when the limit is reached
  bool begun = false;   ///< whether the prompt has already opened the reasoning
};

/// How the tokens of a reply are sampled, and where the reply ends.
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
  bool starts_text = true;  ///< false: the reply continues a text
  int logprobs = -1;        ///< number of most likely tokens to report; negative: no logprobs
  std::optional<grammar::Constraint> constraint;  ///< constraint on the form of the reply
  ReasoningLimit reasoning;
};

struct TokenChance {
  int32_t id = 0;
  float logprob = 0;
};

/// A token as a client sees it.
struct TokenReport {
  int32_t id = 0;
  float logprob = 0;              ///< valid only if ReplyOptions::logprobs is not negative
  std::vector<TokenChance> best;  ///< most likely token first
};

enum class Finish : uint8_t { kNone, kEnd, kStopString, kLength, kContextFull, kMemory, kLoop };

/// The part that one step adds to a reply.
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
  /// Members for insufficient_memory.
  size_t needed = 0, limit = 0;
  /// Methods with which the job would fit in memory, and the bytes that each needs.
  std::vector<std::pair<std::string, size_t>> fits;
  int64_t prompt_tokens = 0, context = 0;  ///< numbers for the error context_length_exceeded
  std::vector<std::string> formats;        ///< supported formats, for the error unsupported_format
};

struct PromptProgress {
  int64_t total = 0, cached = 0, processed = 0;
  double seconds = 0;            ///< seconds since the prefill began
  double attention_seconds = 0;  ///< part of `seconds` that was spent on attention
};

/// Statistics of the work, for the end of a reply, the log and the counters.
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

/// A reply for which the attended keys were recorded.
struct WatchedReply {
  std::shared_ptr<const SourceWatch> watch;
  std::vector<int32_t> tokens;  ///< the tokens of the reply
};

/// Receives the results of a job. Its functions are called on the engine's thread, and never after
/// done() or failed().
class JobSink {
 public:
  virtual ~JobSink() = default;
  /// Reports that the job has been accepted and will run, now or after other jobs. It is not called
  /// for jobs that are rejected.
  virtual void accepted() {}
  virtual void progress(const PromptProgress& progress) = 0;
  /// Receives the logprobs of the prompt's tokens, if Job::prompt_logprobs is set. The first token
  /// has none.
  virtual void prompt_tokens(std::vector<TokenReport> tokens) = 0;
  /// This function is called after the prompt has been processed and before a token of the reply is
  /// sampled.
  virtual void prefilled(const ServedSequence& /*sequence*/) {}
  /// Reports that `watch` begins to record the sources of a choice.
  virtual void watching(int /*choice*/, const std::shared_ptr<const SourceWatch>& /*watch*/) {}
  /// Receives the keys to which the tokens of a choice attended, before done() is called.
  virtual void sources(int /*choice*/, const WatchedReply& /*reply*/) {}
  virtual void piece(int choice, const ReplyPiece& piece, const JobReport& so_far) = 0;
  virtual void done(const JobReport& report) = 0;
  virtual void failed(const JobError& error) = 0;
  /// Returns whether the client is too slow. If so, its replies wait.
  virtual bool full() const { return false; }
  /// Returns whether the choice needs no further tokens. If so, the reply ends as if the model had
  /// ended it.
  virtual bool enough(int choice) const {
    (void)choice;
    return false;
  }
};

/// A part of a prompt, for reports.
struct PromptPart {
  std::string name;  ///< such as "system message", "message 3 (user)" or "tools"
  size_t begin = 0;  ///< offset of the part's first byte in the prompt's text
};

struct Job {
  std::string key;         ///< name of the API key; empty: there is none
  std::string cache_salt;  ///< prompts with different salts share nothing in the cache
  /// Name that the client gave; empty: the conversation is recognised by its tokens.
  std::string conversation;
  MethodSpec attention = MethodSpec::parse("dense");
  std::string adapter;  ///< name of an offered adapter; empty: the model as it is
  std::vector<int32_t> prompt;
  int64_t instruction = 0;
  /// Prefix lengths of the prompt that the client expects to send again: ends of documents, and
  /// marks of the client. The prefix cache keeps snapshots there. Lengths beyond the prompt are
  /// ignored.
  std::vector<int64_t> checkpoints;
  ReplyOptions reply;
  int choices = 1;
  bool prompt_logprobs = false;
  /// Whether a reply that would exceed the context is shortened instead of rejected.
  bool caps_reply = false;
  bool progress = false;  ///< whether PromptProgress is requested
  bool sources = false;   ///< whether JobSink::sources() is requested
  /// Whether the job prefills a document. It then leaves most of the time to other long prompts,
  /// and does not count as a running request.
  bool background = false;
  std::string pin;  ///< the snapshot after the prompt is never evicted, until Scheduler::unpin() of
                    ///< this name; empty: it may be evicted
  /// If set, the pinned snapshot is also written to disk, where it stays until it is unpinned. The
  /// function is called on the engine's thread, with an empty string or with the reason why the
  /// snapshot was not written.
  std::function<void(const std::string& error)> saved;
  std::vector<std::shared_ptr<PrefillGate>> gates;  ///< the job waits until all of them are open
  bool reuse = true;  ///< whether the job may resume from a snapshot of the prefix cache
  /// Seconds for which the snapshots of the job are evicted only after all others.
  double cache_seconds = 0;
  std::vector<PromptPart> parts;  ///< parts of the prompt in order; empty: not known
  CancelFlag cancel;
  std::shared_ptr<JobSink> sink;
};

}  // namespace longhaul::serve
