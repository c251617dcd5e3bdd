#pragma once
// Formats the statistics of a reply (times, sizes and numbers of tokens), as lines that follow the
// reply or as JSON.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "documents/documents.h"
#include "engine/generate.h"
#include "engine/session.h"

namespace longhaul {

/// A text in the prompt. An example of `name` is "report.pdf", and one of `description` is "27,484
/// bytes, PDF, 12 pages, by pdftotext".
struct TextFacts {
  std::string name, description;
  size_t bytes = 0;
};
std::vector<TextFacts> text_facts(const std::vector<Document>& documents);

struct RunFacts {
  std::string model;  ///< value of -m
  std::vector<TextFacts> texts;
  PromptReading reading;
  Reply reply;
  /// Whether there is a reply; false after a cancellation before the first token, and with -n 0.
  bool replied = false;
  /// Seconds from the beginning of prefill to the first token of the reply.
  double first_token_seconds = 0;
  double session_load_seconds = 0;  ///< time that --load took
  size_t loaded_tokens = 0;         ///< number of tokens in the session file of --load
  std::optional<uint64_t> seed;     ///< seed of the sampler; empty at temperature 0

  bool cancelled() const { return !reading.finished || reply.stop == StopReason::kCancelled; }
};

/// Returns the statistics of a command as aligned lines.
std::string run_report(const RunFacts& facts, const Session& session);
/// Returns the statistics of one turn of a chat as a single line.
std::string turn_report(const RunFacts& facts, const Session& session);
nlohmann::ordered_json run_json(const RunFacts& facts, const Session& session);

}  // namespace longhaul
