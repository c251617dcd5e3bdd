// Batched decode on the host: each sequence gets the bits that it gets alone, whatever methods,
// lengths and phases the others of its batch have.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "attention/settings.h"
#include "base/error.h"
#include "engine/sequence_run.h"
#include "engine/tiny_models.h"
#include "model/decoder.h"

namespace longhaul {
namespace {

using testing_support::decode;
using testing_support::likeliest;
using testing_support::Logits;
using testing_support::logits_of;
using testing_support::read;
using testing_support::runner;
using testing_support::same_bits;
using testing_support::sequence_of;
using testing_support::short_nano;

constexpr int kTokens = 64;

/// Whether nano can be read with the setting; some need a longer trained length.
bool suits_nano(const std::string& spec) {
  try {
    sequence_of(spec);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

/// A sequence of a batch and what it gave alone.
struct Member {
  std::string name;
  Sequence sequence;
  std::vector<Logits> alone;
  size_t joins = 0;  ///< step of the batch at which it begins to decode
  size_t done = 0;
};

Member member_of(const std::string& name, Sequence sequence, ModelRunner& with, int tokens) {
  Sequence copy = sequence.clone();
  Member member{name, std::move(sequence), decode(copy, with, tokens)};
  return member;
}

/// Decodes all members in one batch until each has all tokens. They join one after another.
void expect_same_bits(std::span<Member> members, ModelRunner& with) {
  for (size_t i = 0; i < members.size(); ++i) members[i].joins = i % 5;
  for (size_t step = 0;; ++step) {
    std::vector<DecodeRow> rows;
    std::vector<Member*> now;
    for (Member& m : members) {
      if (m.joins > step || m.done == m.alone.size()) continue;
      rows.push_back({&m.sequence, likeliest(m.sequence)});
      now.push_back(&m);
    }
    if (rows.empty() && step > 5) return;
    with.decode(rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      Member& m = *now[i];
      ASSERT_FALSE(rows[i].failed) << m.name;
      ASSERT_TRUE(same_bits(logits_of(m.sequence), m.alone[m.done]))
          << m.name << " in a batch of " << rows.size() << ", token " << m.done;
      ++m.done;
    }
  }
}

/// A prompt whose length depends on `number`.
std::vector<int32_t> prompt(size_t number) {
  std::vector<int32_t> tokens = testing_support::early_pass_key(*short_nano());
  const auto cut = static_cast<std::ptrdiff_t>(number * 37 % 90);
  tokens.erase(tokens.begin() + 100, tokens.begin() + 100 + cut);
  return tokens;
}

std::vector<std::string> all_settings() {
  std::vector<std::string> all;
  for (const auto& each : testing_support::first_of_each_kind(testing_support::small_settings())) {
    all.push_back(each.spec);
  }
  for (const auto& each :
       testing_support::first_of_each_kind(testing_support::covering_settings())) {
    all.push_back(each);
  }
  std::erase_if(all, [](const std::string& spec) { return !suits_nano(spec); });
  std::shuffle(all.begin(), all.end(), std::mt19937(7));  // so that methods mix
  return all;
}

TEST(Batch, OfEverySettingGivesTheBitsOfEachAlone) {
  const std::vector<std::string> settings = all_settings();
  ASSERT_GT(settings.size(), 60u);
  constexpr size_t kSizes[] = {2, 3, 8, 9, 17};
  const KvType types[] = {{}, KvType(DType::F32), KvType(DType::Q8_0)};
  ModelRunner prefills = runner(), decodes = runner();
  size_t next = 0;
  for (size_t batch = 0; next < settings.size(); ++batch) {
    std::vector<Member> members;
    for (size_t i = 0; i < kSizes[batch % std::size(kSizes)]; ++i, ++next) {
      const std::string& spec = settings[next % settings.size()];
      Sequence sequence = sequence_of(spec, types[next % std::size(types)]);
      read(sequence, prompt(next), prefills);
      members.push_back(member_of(spec, std::move(sequence), decodes, kTokens));
    }
    expect_same_bits(members, decodes);
    if (HasFatalFailure()) return;
  }
}

class BatchOfModel : public testing::TestWithParam<testing_support::TinyModel> {};

TEST_P(BatchOfModel, GivesTheBitsOfEachAlone) {
  const auto engine = Engine::open(GetParam().model);
  const std::vector<int32_t> ids = GetParam().prompt();
  ModelRunner with(engine, {}, Compute::kBest);
  for (const size_t size : {3u, 9u}) {
    std::vector<Member> members;
    for (size_t i = 0; i < size; ++i) {
      Sequence sequence(engine, testing_support::exact_options(64));
      const auto some = std::span(ids).first(ids.size() - i % ids.size());
      Prefill prefill(sequence, some);
      while (prefill.step(with) == PrefillStep::kMore) {
      }
      members.push_back(member_of("dense", std::move(sequence), with, 8));
    }
    expect_same_bits(members, with);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BatchOfModel,
                         testing::ValuesIn(testing_support::tiny_models(LONGHAUL_TEST_DATA)),
                         [](const auto& test) { return test.param.name; });

TEST(Batch, DecodesBetweenTheLayersOfAPrefill) {
  const char* const decoding[] = {"dense", "h2o:budget=60,stride=20", "tova:capacity=60,stride=20",
                                  "infllm:n_init=8,n_local=64,block=16,topk=2,chunk=32,cached=4"};
  ModelRunner prefills = runner(), decodes = runner();
  std::vector<Member> members;
  for (size_t i = 0; i < std::size(decoding); ++i) {
    Sequence sequence = sequence_of(decoding[i]);
    read(sequence, prompt(i), prefills);
    members.push_back(member_of(decoding[i], std::move(sequence), decodes, kTokens));
  }
  for (const auto& setting :
       testing_support::first_of_each_kind(testing_support::small_settings())) {
    Sequence alone = sequence_of(setting.spec), watched = sequence_of(setting.spec);
    const auto tokens = prompt(3);
    read(alone, tokens, prefills);
    std::vector<Sequence> others;
    for (const Member& m : members) others.push_back(m.sequence.clone());
    size_t layer = 0, step = 0;
    read(watched, tokens, prefills, [&] {
      if (++layer % 3 != 0 || step == kTokens) return;  // in every layer at some time
      std::vector<DecodeRow> rows;
      for (Sequence& each : others) rows.push_back({&each, likeliest(each)});
      decodes.decode(rows);
      for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_TRUE(same_bits(logits_of(others[i]), members[i].alone[step]))
            << members[i].name << " beside " << setting.spec << ", token " << step;
      }
      ++step;
    });
    EXPECT_GT(step, 2u);
    EXPECT_TRUE(same_bits(logits_of(watched), logits_of(alone))) << setting.spec;
  }
}

/// The state of the prompt's last row after it was read in groups of 128 rows.
Logits read_yielding(const std::string& spec, bool inside_layers, int& yields) {
  const Model& model = short_nano()->model();
  ModelShape shape = model.shape;
  const auto driver = MethodSpec::parse(spec).make(shape);
  const std::vector<int32_t> tokens = prompt(0);
  Decoder decoder(model, Compute::kBest);
  AttentionRecord record;
  InsideLayer inside{inside_layers, [&] { ++yields; }};
  std::vector<KvStore> streams;
  streams.emplace_back(driver->layout(shape, {}));
  const std::vector<Pass> passes = driver->prepare({0, std::ssize(tokens), 16, 128, {}});
  while (static_cast<int>(streams.size()) < driver->streams()) {
    streams.push_back(streams.front().fork());
  }
  Logits state(static_cast<size_t>(model.config.hidden));
  for (const Pass& pass : passes) {
    const ForwardPass one = ForwardPass::of(tokens, 0, pass);
    const float* hidden =
        decoder.forward({{&one, 1}, streams, driver.get(), &shape, &record}, {.inside = &inside});
    hidden += (one.rows() - 1) * model.config.hidden;
    state.assign(hidden, hidden + model.config.hidden);
    driver->finish(streams, pass);
  }
  return state;
}

TEST(Prefill, YieldsBetweenProductsAndHeadsAndComputesTheSame) {
  for (const auto& setting :
       testing_support::first_of_each_kind(testing_support::small_settings())) {
    int none = 0, yields = 0;
    const Logits want = read_yielding(setting.spec, false, none);
    EXPECT_TRUE(same_bits(read_yielding(setting.spec, true, yields), want)) << setting.spec;
    EXPECT_EQ(none, 0);
    EXPECT_GE(yields, 3 * short_nano()->model().config.layers) << setting.spec;
  }
}

TEST(Batch, GoesOnWithoutASequenceWhoseContextIsFullOrWhoseTokenIsUnknown) {
  ModelRunner with = runner();
  SessionOptions small;
  small.context = std::ssize(prompt(0));
  Sequence full(short_nano(), small), unknown = sequence_of("dense"), good = sequence_of("dense");
  for (Sequence* each : {&full, &unknown, &good}) read(*each, prompt(0), with);
  Sequence alone = good.clone();
  const auto want = decode(alone, with, 1);
  DecodeRow rows[] = {{&full, likeliest(full)}, {&unknown, -1}, {&good, likeliest(good)}};
  with.decode(rows);
  EXPECT_TRUE(rows[0].failed);
  EXPECT_TRUE(rows[1].failed);
  EXPECT_FALSE(rows[2].failed);
  EXPECT_EQ(std::ssize(full.tokens()), std::ssize(prompt(0)));
  EXPECT_EQ(std::ssize(unknown.tokens()), std::ssize(prompt(0)));
  EXPECT_TRUE(same_bits(logits_of(good), want[0]));
}

/// An observer throws where a method would.
TEST(Batch, ResetsASequenceThatThrowsAtALayerAndGoesOnWithTheOthers) {
  ModelRunner with = runner();
  for (const int layer : {0, 2, 3}) {
    std::vector<Member> members;
    for (const char* spec : {"dense", "h2o:budget=60,stride=20", "streamingllm:sink=2,recent=30"}) {
      Sequence sequence = sequence_of(spec);
      read(sequence, prompt(1), with);
      members.push_back(member_of(spec, std::move(sequence), with, 3));
    }
    Sequence throwing = sequence_of("dense");
    read(throwing, prompt(2), with);
    throwing.observe([&](const LayerStep& step, std::span<const AttendTask>) {
      if (step.layer == layer) user_error("the disk is full");
    });
    for (size_t step = 0; step < 3; ++step) {
      std::vector<DecodeRow> rows;
      for (Member& m : members) rows.push_back({&m.sequence, likeliest(m.sequence)});
      if (step == 1) rows.insert(rows.begin() + 1, {&throwing, 7});
      with.decode(rows);
      if (step == 1) {
        EXPECT_TRUE(rows[1].failed);
        EXPECT_TRUE(throwing.tokens().empty());
        EXPECT_EQ(throwing.store().live_rows(), 0);
        rows.erase(rows.begin() + 1);
      }
      for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_FALSE(rows[i].failed);
        EXPECT_TRUE(same_bits(logits_of(members[i].sequence), members[i].alone[step]));
      }
    }
    throwing.observe({});
    read(throwing, prompt(2), with);  // it can be used again
    EXPECT_FALSE(throwing.logits().empty());
  }
}

}  // namespace
}  // namespace longhaul
