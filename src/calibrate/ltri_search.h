#pragma once
// Finds the settings of ltri for one model (Ltri-LLM, arXiv:2412.04757): its retrieval heads, and
// the parameters theta, phi and lambda of each layer (calibrate/threshold_search.h explains them).
// The search generates replies to prompts of several tasks with dense attention. The retrieval
// heads are determined from the replies (eval/retrieval_heads.h). theta and phi are determined from
// the sentences that contain the answers (calibrate/threshold_search.h).

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
  std::vector<std::string> tasks;  ///< evaluation tasks, which alternate
  /// Lengths of prompt and reply together, in tokens. Prompts of these lengths alternate.
  std::vector<int64_t> lengths;
  int samples = 4;  ///< number of prompts per task and length
  uint64_t seed = 1;
  SessionOptions session;  ///< the method must be dense attention
  /// None: bare text that ends with the first words of the reply.
  std::optional<ChatTemplate> chat;
  ThresholdSearchSettings spans;
  int64_t init = 128, block = 128;  ///< the options n_init and block of ltri
  double compression = 12;          ///< smallest number of tokens per index vector
  double least = 0.1;               ///< smallest score of a retrieval head
  std::string form = "longhaul";    ///< value of the option `form` in the profile
};

class LtriSearch final : public Calibration {
 public:
  /// Throws UserError for an unknown task.
  LtriSearch(std::shared_ptr<const Engine> engine, const EvalData& data,
             const LtriSearchSettings& settings);
  LtriSearch(const LtriSearch&) = delete;  // heads_ refers to head_search_
  LtriSearch& operator=(const LtriSearch&) = delete;

  int64_t total() const override;
  int64_t done() const override { return done_; }
  /// Generates the reply to one prompt. Throws UserError if the length is too short for the task.
  bool advance(const CancelFlag* cancel) override;
  std::string note() const override;
  double tokens_left() const override;
  void save(const std::filesystem::path& file) const override;
  void restore(const std::filesystem::path& file) override;

  const ThresholdSearch& spans() const { return spans_; }
  FoundHeads found() const { return heads_.means(); }
  /// Returns the retrieval heads, sorted by score, best first.
  std::vector<RetrievalHead> retrieval() const;
  double lambda(int layer) const { return spans_.lambda(layer, settings_.compression); }
  /// Returns the options of ltri for a profile, the file with a method's options for one model
  /// (attention/profile.h): heads, form, block, and theta, phi and lambda of every layer. ltri uses
  /// theta, phi and lambda only with form=paper.
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
