#pragma once
// Search for ltri's settings for one model (Ltri-LLM, arXiv:2412.04757): its retrieval heads, and
// theta, phi and lambda per layer. Prompts of several tasks are read densely and answered. The
// replies determine the heads (eval/retrieval_heads.h). The sentences from which they are copied
// determine the thresholds (calibrate/threshold_search.h).

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "calibrate/block_maps.h"
#include "calibrate/calibration.h"
#include "calibrate/threshold_search.h"
#include "eval/evidence.h"
#include "eval/head_profiles.h"
#include "eval/retrieval_heads.h"
#include "eval/task.h"

namespace longhaul {

struct LtriSearchSettings {
  std::vector<std::string> tasks;  ///< tasks of `longhaul eval`, in turn
  std::vector<int64_t> lengths;    ///< tokens of a prompt and its reply, in turn
  int samples = 4;                 ///< prompts per task and length
  uint64_t seed = 1;
  SessionOptions session;            ///< its method must be dense
  std::optional<ChatTemplate> chat;  ///< none: bare text, with the reply's first words
  ThresholdSearchSettings spans;
  int64_t init = 128, block = 128;  ///< ltri's n_init and block
  double compression = 12;          ///< least number of tokens per index vector
  double least = 0.1;               ///< least score of a retrieval head
  std::string form = "longhaul";    ///< form to write to the profile
};

class LtriSearch final : public Calibration {
 public:
  /// UserError for an unknown task.
  LtriSearch(std::shared_ptr<const Engine> engine, const EvalData& data,
             const LtriSearchSettings& settings);
  LtriSearch(const LtriSearch&) = delete;  // heads_ refers to head_search_
  LtriSearch& operator=(const LtriSearch&) = delete;

  int64_t total() const override;
  int64_t done() const override { return done_; }
  /// Runs a prompt. UserError if the length is too short for the task.
  bool advance(const CancelFlag* cancel) override;
  std::string note() const override;
  double tokens_left() const override;
  void save(const std::filesystem::path& file) const override;
  void restore(const std::filesystem::path& file) override;

  const ThresholdSearch& spans() const { return spans_; }
  FoundHeads found() const { return heads_.means(); }
  /// Sorted by score, best first.
  std::vector<RetrievalHead> retrieval() const;
  double lambda(int layer) const { return spans_.lambda(layer, settings_.compression); }
  /// Options of ltri for a profile: heads, form, block, and theta, phi and lambda of every layer,
  /// which form=paper uses.
  nlohmann::ordered_json options() const;

 private:
  void add_maps(const BlockMaps& maps, const std::vector<TokenRange>& evidence);
  std::string settings_text() const;

  std::shared_ptr<const Engine> engine_;
  const EvalData& data_;
  LtriSearchSettings settings_;
  HeadSearch head_search_;
  HeadCount heads_;
  ThresholdSearch spans_;
  int64_t done_ = 0;
};

}  // namespace longhaul
