#pragma once
// The latest prompts of each key, with which a cache miss is explained. They outlive the snapshots.

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
};

class PromptHistory {
 public:
  /// Adds tokens that were prefilled or decoded. Records that they continue are dropped.
  void add(PromptRecord record);
  /// Completes `report`, whose `reused` is set. Only texts of the same key appear in it.
  /// `instruction`: length of the prompt's last message, which is new in every turn.
  void explain(const PromptRecord& prompt, int64_t instruction, const ResumeRule& rule,
               const Tokenizer& tokenizer, CacheReport& report) const;

  size_t tokens() const { return tokens_; }

 private:
  std::deque<PromptRecord> records_;  ///< oldest first
  size_t tokens_ = 0;                 ///< in all records
};

}  // namespace longhaul::serve
