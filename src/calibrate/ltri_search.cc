#include "calibrate/ltri_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/nth.h"
#include "calibrate/asked_sample.h"
#include "calibrate/state_file.h"

namespace longhaul {
namespace {

constexpr size_t kMostEvidence = 4;  // sentences per prompt: a chain of variables has more

HeadSearch head_search(const LtriSearchSettings& settings) {
  HeadSearch search;
  search.session = settings.session;
  search.chat = settings.chat;
  return search;
}

std::vector<double> flat_scores(const HeadScores& scores) {
  std::vector<double> all;
  for (const auto& layer : scores) all.insert(all.end(), layer.begin(), layer.end());
  return all;
}

void fill_scores(const std::vector<double>& from, HeadScores& scores) {
  size_t at = 0;
  for (auto& layer : scores) {
    for (double& score : layer) score = from[at++];
  }
}

/// Blocks of the prompt to examine: those with evidence, and before each (or after it if there is
/// none before) another one, so that lambda is not determined from evidence alone.
std::vector<int64_t> blocks_to_map(const std::vector<TokenRange>& evidence, int64_t init,
                                   int64_t block, int64_t tokens) {
  std::vector<int64_t> firsts;
  for (const TokenRange& range : evidence) {
    const int64_t first = block_of(range, init, block, tokens);
    if (first < 0) continue;
    firsts.push_back(first);
    if (first - block >= init) {
      firsts.push_back(first - block);
    } else if (first + 2 * block <= tokens) {
      firsts.push_back(first + block);
    }
  }
  std::ranges::sort(firsts);
  firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
  return firsts;
}

}  // namespace

LtriSearch::LtriSearch(std::shared_ptr<const Engine> engine, const EvalData& data,
                       const LtriSearchSettings& settings)
    : engine_(std::move(engine)),
      data_(data),
      settings_(settings),
      head_search_(head_search(settings)),
      heads_(engine_, head_search_),
      spans_(engine_->model().shape.layers, settings.spans) {
  LH_ASSERT(!settings_.tasks.empty() && !settings_.lengths.empty());
  for (const std::string& task : settings_.tasks) eval_task(task);
}

int64_t LtriSearch::total() const {
  return std::ssize(settings_.tasks) * std::ssize(settings_.lengths) * settings_.samples;
}

bool LtriSearch::advance(const CancelFlag* cancel) {
  head_search_.cancel = cancel;
  const SampleRequest request{settings_.tasks, settings_.lengths, settings_.seed};
  const Sample sample = asked_sample(request, done_, heads_.composer(), data_);
  const ComposedPrompt prompt = heads_.compose(sample);
  std::vector<TokenRange> evidence = evidence_in(engine_->tokenizer(), prompt, sample.answers);
  if (evidence.size() > kMostEvidence) evidence.resize(kMostEvidence);
  BlockMaps maps(
      engine_->model().shape, static_cast<int>(settings_.block),
      blocks_to_map(evidence, settings_.init, settings_.block, std::ssize(prompt.tokens) - 1));
  if (!heads_.ask(sample, prompt, [&](const LayerStep& step) { maps.observe(step); })) return false;
  add_maps(maps, evidence);
  ++done_;
  return true;
}

void LtriSearch::add_maps(const BlockMaps& maps, const std::vector<TokenRange>& evidence) {
  const ModelShape& shape = engine_->model().shape;
  const int64_t init = settings_.init, block = settings_.block;
  for (size_t b = 0; b < maps.blocks(); ++b) {
    const int64_t first = maps.first(b), end = first + block;
    BlockSpan wanted;
    for (const TokenRange& range : evidence) {
      if (wanted.length() > 0 || block_of(range, init, block, end) != first) continue;
      wanted.begin = static_cast<int>(std::max(range.begin, first) - first);
      wanted.end = static_cast<int>(std::min(range.end, end) - first);
    }
    for (int layer = 0; layer < shape.layers; ++layer) {
      if (shape.own_window(layer) == 0) spans_.add(layer, maps.of(layer, b), wanted);
    }
  }
}

std::vector<RetrievalHead> LtriSearch::retrieval() const {
  return retrieval_heads(heads_.means().scores, settings_.least);
}

std::string LtriSearch::note() const {
  const int layers = engine_->model().shape.layers;
  double f1 = 0;
  for (int layer = 0; layer < layers; ++layer) f1 += spans_.best(layer).f1 / layers;
  return fmt::format("{} heads, F1 {:.2f}", retrieval().size(), f1);
}

double LtriSearch::tokens_left() const {
  constexpr double kMore = 1.6;  // the reply, the maps and their division
  double tokens = 0;
  for (int64_t i = done_; i < total(); ++i) {
    tokens +=
        kMore * static_cast<double>(nth(settings_.lengths, i % std::ssize(settings_.lengths)));
  }
  return tokens;
}

nlohmann::ordered_json LtriSearch::options() const {
  std::string theta, phi, lambda;
  for (int layer = 0; layer < engine_->model().shape.layers; ++layer) {
    const ThresholdSearch::Trial trial = spans_.best(layer).trial;
    const char* between = layer == 0 ? "" : "/";
    theta += fmt::format("{}{:.4f}", between, trial.theta);
    phi += fmt::format("{}{:.4f}", between, trial.phi);
    lambda += fmt::format("{}{}", between, this->lambda(layer));
  }
  return {{"heads", ltri_heads(retrieval())},
          {"form", settings_.form},
          {"decode", settings_.form == "paper" ? "persistent" : "refresh"},
          {"n_init", settings_.init},
          {"block", settings_.block},
          {"theta", theta},
          {"phi", phi},
          {"lambda", lambda},
          {"spans", settings_.spans.spans},
          {"vectors", settings_.spans.vectors}};
}

std::string LtriSearch::settings_text() const {
  const LtriSearchSettings& s = settings_;
  return fmt::format(
      "model {:016x}, tasks {}, lengths {}, samples {}, trials {}, spans {}, vectors {}, ratio {}, "
      "n_init {}, block {}, seed {}, kv {}, compute {}, chat {}",
      engine_->fingerprint(), fmt::join(s.tasks, "+"), fmt::join(s.lengths, "+"), s.samples,
      s.spans.trials, s.spans.spans, s.spans.vectors, static_cast<int>(s.spans.ratio), s.init,
      s.block, s.seed, name_of(s.session.kv_type), name_of(s.session.compute), chat_text(s.chat));
}

void LtriSearch::save(const std::filesystem::path& file) const {
  const FoundHeads& sums = heads_.sums();
  write_state(file, {"ltri", settings_text()},
              {{"done", done_},
               {"asked", sums.asked},
               {"counted", sums.counted},
               {"scores", flat_scores(sums.scores)},
               {"distant", flat_scores(sums.distant)},
               {"spans", spans_.numbers()}});
}

void LtriSearch::restore(const std::filesystem::path& file) {
  const nlohmann::json state = read_state(file, {"ltri", settings_text()});
  FoundHeads sums = heads_.sums();
  const auto count = static_cast<int64_t>(flat_scores(sums.scores).size());
  fill_scores(state_numbers(state, "scores", count, file), sums.scores);
  fill_scores(state_numbers(state, "distant", count, file), sums.distant);
  const int64_t done = state_integer(state, "done", total(), file);
  sums.asked = static_cast<int>(state_integer(state, "asked", total(), file));
  sums.counted = static_cast<int>(state_integer(state, "counted", sums.asked, file));
  if (!spans_.set_numbers(state_numbers(state, "spans", -1, file))) refuse_damaged(file);
  heads_.set_sums(std::move(sums));
  done_ = done;
}

}  // namespace longhaul
