#pragma once
// Reports the costs of a reply, as lines after the reply or as JSON.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "documents/documents.h"
#include "engine/generate.h"
#include "engine/session.h"

namespace longhaul {

/// A text of the prompt: its name such as "report.pdf", and its description such as "27,484 bytes,
/// PDF, 12 pages, by pdftotext".
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
  bool replied = false;  ///< false: cancelled before the first token, or -n 0
  /// Seconds from the beginning of prefill to the first token of the reply.
  double first_token_seconds = 0;
  double session_load_seconds = 0;  ///< duration of --load
  size_t loaded_tokens = 0;         ///< number of tokens in the session file of --load
  std::optional<uint64_t> seed;     ///< seed of the sampler; empty at temperature 0

  bool cancelled() const { return !reading.finished || reply.stop == StopReason::kCancelled; }
};

/// Returns aligned lines for standard error.
std::string run_report(const RunFacts& facts, const Session& session);
/// Returns one line about a turn of a chat.
std::string turn_report(const RunFacts& facts, const Session& session);
nlohmann::ordered_json run_json(const RunFacts& facts, const Session& session);

}  // namespace longhaul
