// Replies that resume from the prefix cache, on a real engine. For every setting of the registry,
// random trees of prompts diverge, grow, shrink and repeat. Each reply has the bits of the same
// prefills and decoded tokens in a fresh sequence. Where the report calls it exact, it also has the
// bits of a reply without a cache.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "attention/settings.h"
#include "base/error.h"
#include "engine/model_runner.h"
#include "engine/prefill.h"
#include "serve/scheduler/scheduler.h"
#include "serve/scheduler/sequence_engine.h"

namespace longhaul::serve {
namespace {

constexpr int kReply = 3;
constexpr int64_t kGrid = 128;

using Tokens = std::vector<int32_t>;
using Chances = std::vector<std::vector<float>>;  ///< one for every token of the vocabulary

std::shared_ptr<const Engine> tiny(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const Engine>> opened;
  auto& engine = opened[name];
  if (!engine) {
    engine = Engine::open(std::filesystem::path(LONGHAUL_TEST_DATA) / "tiny_models" / name);
  }
  return engine;
}

SessionOptions options_of(const std::string& spec) {
  SessionOptions options;
  options.attention = MethodSpec::parse(spec);
  options.chunk = 64;
  return options;
}

/// A reply, as one job's client sees it.
struct Heard : JobSink {
  void progress(const PromptProgress&) override {}
  void prompt_tokens(std::vector<TokenReport>) override {}
  void piece(int, const ReplyPiece& piece, const JobReport&) override {
    tokens.insert(tokens.end(), piece.tokens.begin(), piece.tokens.end());
  }
  void done(const JobReport& r) override { report = r; }
  void failed(const JobError& e) override { error = e.message; }

  Chances chances() const {
    Chances all;
    for (const TokenReport& token : tokens) {
      auto& one = all.emplace_back(token.best.size());
      for (const TokenChance& chance : token.best) {
        one[static_cast<size_t>(chance.id)] = chance.logprob;
      }
    }
    return all;
  }

  std::vector<TokenReport> tokens;
  JobReport report;
  std::string error;
};

struct Asked {
  std::string spec;
  Tokens prompt;
  int64_t instruction = 0;
  std::vector<int64_t> checkpoints;
};

class TinyServer {
 public:
  TinyServer(const std::shared_ptr<const Engine>& engine, bool exact)
      : engine_(engine),
        port_(engine, options_of("dense")),
        scheduler_(port_, engine->tokenizer(), options(exact), metrics_) {}

  std::shared_ptr<Heard> answer(const Asked& asked) {
    const auto job = std::make_shared<Job>();
    const auto heard = std::make_shared<Heard>();
    job->attention = MethodSpec::parse(asked.spec).for_model(engine_->model().shape);
    job->prompt = asked.prompt;
    job->instruction = asked.instruction;
    job->checkpoints = asked.checkpoints;
    job->reply.max_tokens = kReply;
    job->reply.ignore_eos = true;
    job->reply.logprobs = engine_->model().config.vocab;
    job->sink = heard;
    EXPECT_FALSE(scheduler_.submit(job));
    while (!scheduler_.idle()) scheduler_.turn();
    return heard;
  }

 private:
  static SchedulerOptions options(bool exact) {
    SchedulerOptions options;
    options.memory_limit = size_t{1} << 33;
    options.exact_cache = exact;
    options.cache_grid = kGrid;
    return options;
  }

  std::shared_ptr<const Engine> engine_;
  SequenceEngine port_;
  Metrics metrics_;
  Scheduler scheduler_;
};

/// The reply of a fresh sequence that reads and decodes the prompt as `legs` say.
Chances replayed(const std::shared_ptr<const Engine>& engine, const Asked& asked,
                 std::span<const Leg> legs, const std::vector<int64_t>& instructions) {
  ModelRunner runner(engine, {}, Compute::kBest);
  Sequence sequence(engine, options_of(asked.spec));
  int64_t begin = 0;
  for (size_t i = 0; i < legs.size(); ++i) {
    const auto tokens =
        std::span(asked.prompt)
            .subspan(static_cast<size_t>(begin), static_cast<size_t>(legs[i].end - begin));
    begin = legs[i].end;
    if (legs[i].decoded) {
      for (const int32_t token : tokens) runner.decode(sequence, token);
      continue;
    }
    PrefillHooks hooks;
    hooks.instruction = std::min(instructions[i], std::ssize(tokens));
    hooks.to_come = std::ssize(asked.prompt) - begin;
    prefill(sequence, runner, tokens, hooks);
  }
  ReplyOptions reply;
  reply.max_tokens = kReply;
  reply.ignore_eos = true;
  reply.logprobs = engine->model().config.vocab;
  ReplyMaker maker(engine->tokenizer(), reply);
  Heard heard;
  for (int i = 0; i < kReply; ++i) {
    if (i > 0) runner.decode(sequence, maker.last_token());
    heard.piece(0, maker.take(sequence.logits(), sequence.tokens()), {});
  }
  return heard.chances();
}

/// Neighbouring prefills as one: their division has no effect on the bits of these methods.
std::vector<Leg> merged(std::span<const Leg> legs) {
  std::vector<Leg> all;
  for (const Leg& leg : legs) {
    if (!all.empty() && !leg.decoded && !all.back().decoded) {
      all.back().end = leg.end;
    } else {
      all.push_back(leg);
    }
  }
  return all;
}

/// Everything that the client of a conversation knows.
struct Turn {
  Asked asked;
  Tokens reply;
};

class Trees {
 public:
  Trees(std::string model, std::string spec, bool exact, unsigned seed)
      : engine_(tiny(model)),
        spec_(std::move(spec)),
        exact_(exact),
        random_(seed),
        server_(engine_, exact) {
    rule_ = Sequence(engine_, options_of(spec_)).method().resume_rule(64);
  }

  void run(int turns) {
    for (int i = 0; i < turns && !testing::Test::HasFatalFailure(); ++i) turn();
  }

  int64_t reused = 0;
  int exact_replies = 0, warm_replies = 0;

 private:
  int draw(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most)); }
  Tokens words(int count) {
    Tokens tokens;
    while (count-- > 0) tokens.push_back(4 + draw(250));
    return tokens;
  }

  Asked next() {
    Asked asked{spec_, {}, 0, {}};
    if (rule_.group == ResumeGroup::kDense && draw(4) == 0) asked.spec = "dense";
    const int kind = turns_.empty() ? 5 : draw(6);
    if (kind < 5) {
      const Turn& from = turns_[static_cast<size_t>(draw(static_cast<int>(turns_.size())))];
      asked = {kind == 0 ? from.asked.spec : asked.spec, from.asked.prompt, from.asked.instruction,
               from.asked.checkpoints};
      if (kind == 0) return asked;  // repeats
      const auto length = static_cast<int>(asked.prompt.size());
      if (kind == 1) {  // shrinks
        asked.prompt.resize(static_cast<size_t>(17 + draw(std::max(1, length - 17))));
      } else if (kind == 2) {  // diverges
        asked.prompt.resize(static_cast<size_t>(draw(length)));
      } else {  // grows
        asked.prompt.insert(asked.prompt.end(), from.reply.begin(), from.reply.end());
      }
      if (kind == 1) asked.instruction = std::min<int64_t>(8, std::ssize(asked.prompt) / 2);
      if (kind == 1) return asked;
    }
    const int more = 17 + draw(kind == 5 ? 320 : 90);
    const Tokens added = words(more);
    asked.instruction = 1 + draw(more);
    asked.prompt.insert(asked.prompt.end(), added.begin(), added.end());
    asked.checkpoints.clear();
    if (draw(2) == 0) asked.checkpoints = {draw(static_cast<int>(asked.prompt.size()))};
    return asked;
  }

  /// The instruction of each leg: that of the prompt which the leg ends.
  std::vector<int64_t> instructions_of(const Asked& asked, std::span<const Leg> legs) const {
    std::vector<int64_t> all;
    for (const Leg& leg : legs) {
      int64_t instruction = 0;
      for (const Turn& turn : turns_) {
        const Tokens& p = turn.asked.prompt;
        if (std::ssize(p) == leg.end && turn.asked.spec == asked.spec &&
            std::equal(p.begin(), p.end(), asked.prompt.begin())) {
          instruction = turn.asked.instruction;
        }
      }
      all.push_back(leg.end == std::ssize(asked.prompt) ? asked.instruction : instruction);
    }
    return all;
  }

  void turn() {
    const Asked asked = next();
    const auto heard = server_.answer(asked);
    if (!heard->error.empty()) {  // a method may refuse a prompt, whatever the cache has
      ASSERT_EQ(TinyServer(engine_, exact_).answer(asked)->error, heard->error) << asked.spec;
      return;
    }
    const JobReport& report = heard->report;
    const Chances got = heard->chances();
    ASSERT_EQ(got.size(), static_cast<size_t>(kReply));
    const ResumeRule rule = Sequence(engine_, options_of(asked.spec)).method().resume_rule(64);
    std::vector<Leg> legs = report.legs;
    ASSERT_FALSE(legs.empty());
    ASSERT_EQ(legs.back().end, std::ssize(asked.prompt));
    const bool by_dense = rule.group == ResumeGroup::kDense && !rule.is_dense;
    if (by_dense) legs = {{std::ssize(asked.prompt), false}};  // it selects again
    if (rule.is_dense || rule.group == ResumeGroup::kRewindable) legs = merged(legs);
    const std::string where = asked.spec + ", prompt of " + std::to_string(asked.prompt.size()) +
                              ", reused " + std::to_string(report.cache.reused);
    if (!by_dense || report.cache.exact) {
      ASSERT_EQ(got, replayed(engine_, asked, legs, instructions_of(asked, legs))) << where;
    }
    if (exact_) {
      ASSERT_TRUE(report.cache.exact) << where;
    }
    if (report.cache.exact) {
      TinyServer fresh(engine_, exact_);
      ASSERT_EQ(got, fresh.answer(asked)->chances()) << where << ", not like a cold one";
    }
    const bool anywhere = rule.is_dense || rule.group == ResumeGroup::kRewindable;
    if (report.cache.exact && anywhere) {
      const Leg whole[] = {{std::ssize(asked.prompt), false}};
      ASSERT_EQ(got, replayed(engine_, asked, whole, {asked.instruction})) << where;
    }
    reused += report.cache.reused;
    warm_replies += report.cache.reused > 0 ? 1 : 0;
    exact_replies += report.cache.reused > 0 && report.cache.exact ? 1 : 0;
    Turn turn{asked, {}};
    for (const TokenReport& token : heard->tokens) turn.reply.push_back(token.id);
    turns_.push_back(std::move(turn));
  }

  std::shared_ptr<const Engine> engine_;
  std::string spec_;
  bool exact_;
  std::mt19937 random_;
  TinyServer server_;
  ResumeRule rule_;
  std::vector<Turn> turns_;
};

std::vector<std::string> settings_for(const std::string& model) {
  std::vector<std::string> all = longhaul::testing_support::covering_settings();
  for (const auto& each : longhaul::testing_support::small_settings()) all.push_back(each.spec);
  std::erase_if(all, [&](const std::string& spec) {
    try {
      Sequence(tiny(model), options_of(spec));
      return false;
    } catch (const UserError&) {
      return true;
    }
  });
  return all;
}

int trees_asked() {
  const char* value = std::getenv("LONGHAUL_CACHE_TREES");
  return value != nullptr ? std::atoi(value) : 200;
}

TEST(CachedReplies, HaveTheBitsOfTheSameTurnsInAFreshSequence) {
  const std::string models[] = {"llama_llama3", "mistral", "llama_dynamic"};
  std::map<std::string, std::vector<std::string>> settings;
  for (const std::string& model : models) settings[model] = settings_for(model);
  ASSERT_GT(settings[models[0]].size(), 60U);
  int64_t reused = 0;
  int warm = 0, exact = 0;
  for (int i = 0; i < trees_asked(); ++i) {
    const std::string& model = models[i % 8 == 6 ? 1 : i % 8 == 7 ? 2 : 0];
    const auto& specs = settings[model];
    const std::string& spec = specs[static_cast<size_t>(i) % specs.size()];
    SCOPED_TRACE(model + " " + spec + " tree " + std::to_string(i));
    Trees tree(model, spec, i % 3 == 0, static_cast<unsigned>(i));
    tree.run(6);
    if (HasFatalFailure()) return;
    reused += tree.reused;
    warm += tree.warm_replies;
    exact += tree.exact_replies;
  }
  RecordProperty("reused_tokens", static_cast<int>(reused));
  EXPECT_GT(warm, trees_asked());
  EXPECT_GT(exact, trees_asked() / 2);
}

/// Some of each group of docs/serving.md.
TEST(CachedReplies, GroupsFollowFromThePlans) {
  const auto group = [](const std::string& spec) {
    return Sequence(tiny("llama_llama3"), options_of(spec)).method().resume_rule(64).group;
  };
  EXPECT_EQ(group("dense"), ResumeGroup::kDense);
  EXPECT_EQ(group("snapkv"), ResumeGroup::kDense);
  EXPECT_EQ(group("ntk:mode=fixed,context=4096"), ResumeGroup::kRewindable);
  EXPECT_EQ(group("streamingllm"), ResumeGroup::kGrid);
  EXPECT_EQ(group("h2o"), ResumeGroup::kGrid);
  EXPECT_EQ(group("h2o:mode=oneshot"), ResumeGroup::kTurn);
  EXPECT_EQ(group("triangle"), ResumeGroup::kTurn);
  EXPECT_EQ(group("citrus"), ResumeGroup::kQuestion);
}

}  // namespace
}  // namespace longhaul::serve
