#pragma once
// run --sources: the passages used by a reply, as lines and as JSON.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "documents/documents.h"
#include "engine/passages.h"

namespace longhaul {

struct FoundSources {
  struct Sentence {
    ByteRange range;  ///< within the reply's text
    std::vector<Passage> passages;
  };
  std::vector<Passage> passages;  ///< passages of the whole reply
  std::vector<Sentence> sentences;
  bool shown = false;  ///< false: the method's keys could not be inspected
};

/// `starts_text` must equal that of the generation (GenerateOptions).
FoundSources find_sources(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                          const std::vector<Document>& documents, const SourceWatch& watch,
                          std::span<const int32_t> reply, bool starts_text, size_t most);

/// "1  report.pdf, page 3, line 120, at 27 % (61 %)" and the passage below it.
std::string sources_text(const FoundSources& sources, const std::vector<Document>& documents);
/// Adds `sources` and `sentences` to `json`.
void add_sources(const FoundSources& sources, const std::vector<Document>& documents,
                 nlohmann::ordered_json& json);

}  // namespace longhaul
