#pragma once
// Keeps the tokens of recent prompts, so that the server can explain why a prompt missed the prefix
// cache. A prompt is often still kept when its snapshot has been evicted.

#include <deque>
#include <string>
#include <vector>

#include "attention/resume_rule.h"
#include "serve/cache/cache_report.h"
#include "serve/scheduler/job.h"
#include "tokenizer/tokenizer.h"

namespace longhaul::serve {

struct PromptRecord {
  std::string key, salt, method;
  std::vector<int32_t> tokens;
  std::vector<PromptPart> parts;
  std::string adapter;
};

class PromptHistory {
 public:
  /// Adds a record of tokens that have been prefilled or decoded. Removes records whose tokens are
  /// a prefix of the new record's tokens.
  void add(PromptRecord record);
  /// Sets the members of `report` that explain a miss. `report.reused` must already be set. Only
  /// texts of the same API key appear in the report. `instruction` is the length of the prompt's
  /// last message, which is new in every turn.
  void explain(const PromptRecord& prompt, int64_t instruction, const ResumeRule& rule,
               const Tokenizer& tokenizer, CacheReport& report) const;

  size_t tokens() const { return tokens_; }

 private:
  std::deque<PromptRecord> records_;  ///< oldest record first
  size_t tokens_ = 0;                 ///< number of tokens in all records
};

}  // namespace longhaul::serve
