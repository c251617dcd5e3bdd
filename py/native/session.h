#pragma once
// What objects of Python hold: an opened model, and a text that was read.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "documents/documents.h"
#include "engine/prompt.h"
#include "prompt_job.h"

namespace longhaul::python {

struct ModelSettings {
  std::string model, attention, kv_type, compute, device, isa, profiles;
  std::vector<std::string> loras;
  int threads = 0, chunk = 0;
  int64_t context = 0;
  size_t memory_limit = 0;
};

/// Opens a model by a name, a path, or hf:OWNER/REPO if it was fetched before. Throws UserError.
std::shared_ptr<OpenModel> open_model(const ModelSettings& settings);

/// The options of a session that differs from the model's by its method or type of stored rows.
SessionOptions options_with(const OpenModel& model, const std::string& attention,
                            const std::string& kv_type);

/// A text that was read, for any number of questions. It does not change: a question is read into a
/// clone.
struct ReadText {
  ~ReadText();

  std::shared_ptr<OpenModel> model;
  SessionOptions options;
  PromptParts parts;
  std::vector<Document> documents;
  std::vector<std::string> texts;
  std::vector<int32_t> tokens;  ///< those before the question
  /// The text as the method reads it, if that serves any question; otherwise as dense attention
  /// reads it, if the method begins in the same way; otherwise null.
  std::unique_ptr<Sequence> sequence;
  bool any_question = true;  ///< the method's choice does not depend on the question

  /// Opens a sequence for a prompt that begins with the text.
  std::unique_ptr<Sequence> begin(const std::vector<int32_t>& prompt, int64_t instruction) const;
};

/// Describes the reading of `text`, whose sequence is set when the job has ended (take_read()). No
/// job if there is nothing to read before a question is known. `known`: a sequence that may hold
/// the beginning.
std::shared_ptr<PromptJob> read_job(const std::shared_ptr<ReadText>& text,
                                    const std::shared_ptr<ReadText>& known = {});
void take_read(ReadText& text, PromptJob& job);

/// Fills everything of a text except for its sequence.
std::shared_ptr<ReadText> describe_text(const std::shared_ptr<OpenModel>& model,
                                        const SessionOptions& options, PromptParts parts,
                                        std::vector<Document> documents);

/// A session file as a text for further questions.
std::shared_ptr<ReadText> load_text(const std::shared_ptr<OpenModel>& model,
                                    const SessionOptions& options, PromptParts parts,
                                    const std::string& file);
void save_text(const ReadText& text, const std::string& file);

struct SourcePassage {
  size_t text = 0, begin = 0, end = 0;
  double share = 0;
};

struct ReplySources {
  bool shown = false;
  double least_share = 0;
  std::vector<SourcePassage> passages;
  struct Sentence {
    size_t begin = 0, end = 0;
    std::vector<SourcePassage> passages;
  };
  std::vector<Sentence> sentences;
};

/// The passages that the reply of an ended job drew on.
ReplySources sources_of(const PromptJob& job, const std::vector<std::string>& texts, size_t most);

/// Log-likelihoods of continuations of one text.
struct Continuation {
  double sum = 0;      ///< of ln p
  bool greedy = true;  ///< every token is the likeliest one
  int64_t tokens = 0;
};
/// Reads `context` once. Short continuations are decoded together, others are read by a clone each.
/// An empty context scores the continuations from their second token on. Returns nothing if
/// `cancel` was set.
std::vector<Continuation> score_continuations(OpenModel& model, const std::vector<int32_t>& context,
                                              const std::vector<std::vector<int32_t>>& more,
                                              const CancelFlag& cancel);

}  // namespace longhaul::python
