#pragma once
// What StreamingLLM (arXiv:2309.17453) and LM-Infinite (arXiv:2308.16137) share: every list keeps
// its first rows and its last ones and forgets the others for good (sink_recent.h), so that memory
// stays bounded however long the context grows. They differ in where the kept keys stand.

#include "attention/method.h"

namespace longhaul {

class SinkRecentMethod : public AttentionMethod {
 public:
  /// Tokens: of every list the first `sink` and the last `recent` stay.
  SinkRecentMethod(int64_t sink, int64_t recent) : sink_(sink), recent_(recent) {}

  void retain(KvStore& store, const Pass& pass, bool last_of_prompt) override;
  int numbers_per_row() const override { return 1; }  // its token
  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const override;
  void check_restored(const KvStore& store, int64_t tokens) const override;

 protected:
  int64_t sink() const { return sink_; }
  int64_t recent() const { return recent_; }

 private:
  int64_t sink_, recent_;
};

}  // namespace longhaul
