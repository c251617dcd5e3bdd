#pragma once
// One prompt and its replies on their way through the scheduler.

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

/// A budget of reasoning at the beginning of a reply.
struct ReasoningLimit {
  int64_t tokens = -1;  ///< negative: no limit
  std::string open;     ///< mark that begins the reasoning
  std::string end;      ///< mark by which the model ends it
  std::string close;    ///< text that ends it when the budget is used up
  bool begun = false;   ///< the prompt has begun it
};

/// How tokens of one reply are chosen, and where it ends.
struct ReplyOptions {
  SamplerOptions sampler;
  int64_t max_tokens = -1;  ///< negative: until the reply ends
  int64_t open_limit = 0;   ///< most tokens of a reply without max_tokens; 0: no limit
  std::vector<std::string> stop;
  std::map<int32_t, float> logit_bias;
  float presence_penalty = 0;   ///< subtracted from the logits of tokens that the reply holds ...
  float frequency_penalty = 0;  ///< ... and this for each time that it holds them
  bool ignore_eos = false;
  bool control_texts = false;  ///< the text includes the texts of control tokens
  bool starts_text = true;     ///< false: the reply goes on in a text
  int logprobs = -1;           ///< how many of the likeliest tokens to tell; negative: none at all
  std::optional<grammar::Constraint> constraint;  ///< the reply's form
  ReasoningLimit reasoning;
};

struct TokenChance {
  int32_t id = 0;
  float logprob = 0;
};

/// A token as a client sees it.
struct TokenReport {
  int32_t id = 0;
  float logprob = 0;              ///< valid where ReplyOptions::logprobs is not negative
  std::vector<TokenChance> best;  ///< likeliest first
};

enum class Finish : uint8_t { kNone, kEnd, kStopString, kLength, kContextFull, kMemory, kLoop };

/// The part that one step adds to a reply.
struct ReplyPiece {
  std::string text;                 ///< complete characters that no stop string can still take back
  std::vector<TokenReport> tokens;  ///< whose text this is, as far as it is shown
  Finish finish = Finish::kNone;
  std::string stop_string;  ///< the one that ended it
};

struct JobError {
  int status = 500;
  std::string type, code, message;
  double retry_after = 0;  ///< seconds; 0: not said
  /// For insufficient_memory.
  size_t needed = 0, limit = 0;
  std::vector<std::pair<std::string, size_t>> fits;  ///< methods that would, with their bytes
  int64_t prompt_tokens = 0, context = 0;            ///< for context_length_exceeded
  std::vector<std::string> formats;                  ///< for unsupported_format
};

struct PromptProgress {
  int64_t total = 0, cached = 0, processed = 0;
  double seconds = 0;            ///< since the prefill began
  double attention_seconds = 0;  ///< the part of them that attention took
};

/// How the work went, for the last chunk of a reply, the log and the counters.
struct JobReport {
  int64_t prompt_tokens = 0, cached_tokens = 0, reply_tokens = 0;
  double queue_seconds = 0, prefill_seconds = 0, first_token_seconds = 0, decode_seconds = 0;
  size_t kv_bytes = 0;
  double pairs_share = 1;
  CacheReport cache;
  std::vector<Leg> legs;  ///< how the prompt was read, with the reused tokens
  std::vector<std::string> warnings;
};

class PrefillGate;
class ServedSequence;

/// A reply whose sources were watched.
struct WatchedReply {
  std::shared_ptr<const SourceWatch> watch;
  std::vector<int32_t> tokens;  ///< tokens of the reply
};

/// Who receives what a job makes: called on the engine's thread, never after done() or failed().
class JobSink {
 public:
  virtual ~JobSink() = default;
  /// The job can run, now or when others have ended. Not called for jobs that are refused.
  virtual void accepted() {}
  virtual void progress(const PromptProgress& progress) = 0;
  /// Logprobs of the prompt's tokens, where Job::prompt_logprobs asks for them; the first token has
  /// none.
  virtual void prompt_tokens(std::vector<TokenReport> tokens) = 0;
  /// The prompt has been read, and no token of the reply has been made.
  virtual void prefilled(const ServedSequence& /*sequence*/) {}
  /// The sources of a choice are watched from now on: `watch` grows with each token.
  virtual void watching(int /*choice*/, const std::shared_ptr<const SourceWatch>& /*watch*/) {}
  /// The keys that the tokens of a choice have attended to, before done().
  virtual void sources(int /*choice*/, const WatchedReply& /*reply*/) {}
  virtual void piece(int choice, const ReplyPiece& piece, const JobReport& so_far) = 0;
  virtual void done(const JobReport& report) = 0;
  virtual void failed(const JobError& error) = 0;
  /// The client does not keep up: its replies wait.
  virtual bool full() const { return false; }
  /// The choice needs no further tokens: its reply ends as if the model had ended it.
  virtual bool enough(int choice) const {
    (void)choice;
    return false;
  }
};

/// A part of a prompt, for reports.
struct PromptPart {
  std::string name;  ///< "system message", "message 3 (user)", "tools"
  size_t begin = 0;  ///< offset of its first byte in the prompt's text
};

struct Job {
  std::string key;           ///< name of the API key; empty: none
  std::string cache_salt;    ///< prompts with other salts share nothing with this one
  std::string conversation;  ///< as the client names it; empty: found by its tokens
  MethodSpec attention = MethodSpec::parse("dense");
  std::vector<int32_t> prompt;
  int64_t instruction = 0;
  /// Lengths of the prompt's beginnings that the client expects to send again, where the prefix
  /// cache keeps snapshots: ends of documents and marks of the client. Those outside the prompt are
  /// ignored.
  std::vector<int64_t> checkpoints;
  ReplyOptions reply;
  int choices = 1;
  bool prompt_logprobs = false;
  bool caps_reply = false;  ///< a reply too long for the context is shortened, not refused
  bool progress = false;    ///< PromptProgress is asked for
  bool sources = false;     ///< JobSink::sources is asked for
  bool background = false;  ///< a document: it leaves most of the time to other long prompts, and
                            ///< does not count as a running request
  std::string pin;  ///< the snapshot after the prompt is never evicted, until Scheduler::unpin() of
                    ///< this name; empty: it may be evicted
  /// Set: the pinned snapshot is also written to disk, where it stays until it is unpinned. Called
  /// on the engine's thread with an empty text, or with the reason why it was not written.
  std::function<void(const std::string& error)> saved;
  std::vector<std::shared_ptr<PrefillGate>> gates;  ///< the job waits until all of them are open
  bool reuse = true;              ///< may continue from a snapshot of the prefix cache
  double cache_seconds = 0;       ///< for as long its snapshots are evicted after all others
  std::vector<PromptPart> parts;  ///< in order; empty: unknown
  CancelFlag cancel;
  std::shared_ptr<JobSink> sink;
};

}  // namespace longhaul::serve
