#pragma once
// Implements `longhaul run --sources`, which reports the passages on which a reply is based.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "documents/documents.h"
#include "engine/found_sources.h"
#include "engine/session.h"

namespace longhaul {

inline constexpr const char* kNoParticularPassage =
    "The reply does not rest on a particular passage; check it.";

/// Records to which passages of the texts the replies of a session attend.
class ReplySources {
 public:
  explicit ReplySources(Session& session) : session_(session) {}

  /// Call it before the prefill of a prompt of `tokens` tokens.
  void begin(int64_t tokens);
  /// Returns at most `most` passages on which `reply`, the reply to this prompt, is based.
  /// `starts_text` must be the same as in GenerateOptions.
  FoundSources find(std::span<const int32_t> prompt, const std::vector<Document>& documents,
                    std::span<const int32_t> reply, bool starts_text, size_t most) const;

 private:
  Session& session_;
  std::shared_ptr<SourceWatch> watch_;
};

/// Returns lines such as "1 report.pdf, page 3, line 120, at 27 % (61 %)", each followed by its
/// passage.
std::string sources_text(const FoundSources& sources, const std::vector<Document>& documents);
/// Adds the members `sources` and `sentences` to `json`.
void add_sources(const FoundSources& sources, const std::vector<Document>& documents,
                 nlohmann::ordered_json& json);

}  // namespace longhaul
