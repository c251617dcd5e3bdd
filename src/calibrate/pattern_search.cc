#include "calibrate/pattern_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/nth.h"
#include "calibrate/asked_sample.h"
#include "calibrate/state_file.h"

namespace longhaul {
namespace {

/// A temporary file for the method's output, removed on destruction.
class ScratchFile {
 public:
  ScratchFile()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("longhaul-patterns-{}.json", getpid())) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<double> flat_patterns(const HeadPatterns& patterns) {
  std::vector<double> numbers;
  for (const auto& layer : patterns) {
    for (const HeadPattern& p : layer) {
      numbers.insert(numbers.end(), {static_cast<double>(p.kind), static_cast<double>(p.vertical),
                                     static_cast<double>(p.slash), p.score});
    }
  }
  return numbers;
}

}  // namespace

HeadPattern most_caught(std::span<const HeadPattern> of_prompts) {
  LH_ASSERT(!of_prompts.empty());
  HeadPattern best;
  double most = -1;
  for (const HeadPattern& candidate : of_prompts) {
    double sum = 0;
    int count = 0;
    for (const HeadPattern& p : of_prompts) {
      const bool same = p.kind == candidate.kind && p.vertical == candidate.vertical &&
                        p.slash == candidate.slash;
      sum += same ? p.score : 0;
      count += same ? 1 : 0;
    }
    if (sum <= most) continue;
    most = sum;
    best = candidate;
    best.score = sum / count;
  }
  return best;
}

PatternSearch::PatternSearch(std::shared_ptr<const Engine> engine, const EvalData& data,
                             const PatternSearchSettings& settings)
    : engine_(std::move(engine)), data_(data), settings_(settings) {
  LH_ASSERT(!settings_.tasks.empty() && !settings_.lengths.empty());
  for (const std::string& task : settings_.tasks) eval_task(task);
}

bool PatternSearch::advance(const CancelFlag* cancel) {
  const PromptComposer composer(engine_->tokenizer(), settings_.chat);
  const SampleRequest request{settings_.tasks, settings_.lengths, settings_.seed};
  const Sample sample = asked_sample(request, done(), composer, data_);
  const ComposedPrompt prompt = composer.compose(sample, !settings_.chat);
  const ScratchFile file;
  SessionOptions options = settings_.session;
  options.attention = MethodSpec::parse(
      fmt::format("minference:patterns=search,search_at=1,save={}", file.path().string()));
  options.chunk = static_cast<int>(prompt.tokens.size()) + 64;  // one pass, whole tiles
  Session session(engine_, options);
  if (!session.prefill(prompt.tokens, {.cancel = cancel, .instruction = prompt.instruction})) {
    return false;
  }
  const ModelShape& shape = engine_->model().shape;
  found_.push_back(read_patterns(file.path(), shape.layers, shape.heads));
  return true;
}

HeadPatterns PatternSearch::patterns() const {
  LH_ASSERT(!found_.empty());
  HeadPatterns best = found_.front();
  for (size_t layer = 0; layer < best.size(); ++layer) {
    for (size_t head = 0; head < best[layer].size(); ++head) {
      std::vector<HeadPattern> of_prompts;
      for (const HeadPatterns& prompt : found_) of_prompts.push_back(prompt[layer][head]);
      best[layer][head] = most_caught(of_prompts);
    }
  }
  return best;
}

double PatternSearch::tokens_left() const {
  constexpr double kMore = 4;  // attention runs seven times
  double tokens = 0;
  for (int64_t i = done(); i < total(); ++i) {
    tokens +=
        kMore * static_cast<double>(nth(settings_.lengths, i % std::ssize(settings_.lengths)));
  }
  return tokens;
}

std::string PatternSearch::settings_text() const {
  const PatternSearchSettings& s = settings_;
  return fmt::format(
      "model {:016x}, tasks {}, lengths {}, prompts {}, seed {}, kv {}, compute {}, "
      "chat {}",
      engine_->fingerprint(), fmt::join(s.tasks, "+"), fmt::join(s.lengths, "+"), s.prompts, s.seed,
      name_of(s.session.kv_type), name_of(s.session.compute), chat_text(s.chat));
}

void PatternSearch::save(const std::filesystem::path& file) const {
  nlohmann::json prompts = nlohmann::json::array();
  for (const HeadPatterns& prompt : found_)
    prompts.push_back({{"patterns", flat_patterns(prompt)}});
  write_state(file, {"minference", settings_text()}, {{"prompts", prompts}});
}

void PatternSearch::restore(const std::filesystem::path& file) {
  const nlohmann::json state = read_state(file, {"minference", settings_text()});
  const ModelShape& shape = engine_->model().shape;
  const auto prompts = state.find("prompts");
  if (prompts == state.end() || !prompts->is_array() || std::ssize(*prompts) > total()) {
    refuse_damaged(file);
  }
  std::vector<HeadPatterns> found;
  for (const nlohmann::json& prompt : *prompts) {
    if (!prompt.is_object()) refuse_damaged(file);
    const int64_t count = int64_t{4} * shape.layers * shape.heads;
    const std::vector<double> numbers = state_numbers(prompt, "patterns", count, file);
    HeadPatterns& patterns = found.emplace_back(static_cast<size_t>(shape.layers));
    size_t at = 0;
    for (auto& layer : patterns) {
      for (int head = 0; head < shape.heads; ++head, at += 4) {
        const auto whole = [&](size_t i) { return static_cast<int64_t>(numbers[at + i]); };
        if (!(numbers[at] >= 0 && numbers[at] <= 2 && numbers[at + 1] >= 0 &&
              numbers[at + 1] <= HeadPattern::kMost && numbers[at + 2] >= 0 &&
              numbers[at + 2] <= HeadPattern::kMost)) {
          refuse_damaged(file);
        }
        layer.push_back({static_cast<PatternKind>(whole(0)), whole(1), whole(2), numbers[at + 3]});
      }
    }
  }
  found_ = std::move(found);
}

}  // namespace longhaul
