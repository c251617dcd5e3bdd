#include "serve/scheduler/reply_maker.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <deque>

#include "scheduler_fixture.h"

namespace longhaul::serve {
namespace {

using testing_support::nano_tokenizer;

/// Pieces of a reply of these tokens.
std::vector<ReplyPiece> pieces_of(ReplyMaker& maker, const std::vector<int32_t>& tokens) {
  std::vector<ReplyPiece> pieces;
  for (const int32_t token : tokens) {
    std::vector<float> logits(nano_tokenizer().vocab_size(), 0.0f);
    logits[static_cast<size_t>(token)] = 10;
    pieces.push_back(maker.take(logits, {}));
    if (pieces.back().finish != Finish::kNone) break;
  }
  return pieces;
}

std::string text_of_pieces(const std::vector<ReplyPiece>& pieces) {
  std::string text;
  for (const ReplyPiece& piece : pieces) text += piece.text;
  return text;
}

std::vector<int32_t> tokens_of(const std::string& text) {
  return nano_tokenizer().encode(text, {.add_special = false});
}

TEST(ReplyMaker, NeverSplitsACharacter) {
  const std::string text = "caf\xC3\xA9 \xF0\x9F\x98\x80 \xE6\xBC\xA2\xE5\xAD\x97!";
  ReplyMaker maker(nano_tokenizer(), {.max_tokens = 1000, .starts_text = false});
  const auto pieces = pieces_of(maker, tokens_of(text));
  for (const ReplyPiece& piece : pieces) {
    EXPECT_TRUE(piece.text.empty() || (piece.text.front() & 0xC0) != 0x80) << piece.text;
  }
  EXPECT_EQ(text_of_pieces(pieces) + maker.end(Finish::kLength).text, text);
}

TEST(ReplyMaker, NeverShowsTheBeginningOfAStopString) {
  ReplyOptions options;
  options.stop = {"END OF IT", "zzz"};
  options.max_tokens = 1000;
  options.logprobs = 0;
  options.starts_text = false;
  ReplyMaker maker(nano_tokenizer(), options);
  const auto pieces = pieces_of(maker, tokens_of("one END OF two END OF IT three"));
  EXPECT_EQ(text_of_pieces(pieces), "one END OF two ");
  EXPECT_EQ(pieces.back().finish, Finish::kStopString);
  EXPECT_EQ(pieces.back().stop_string, "END OF IT");
  size_t told = 0;
  for (const ReplyPiece& piece : pieces) told += piece.tokens.size();
  EXPECT_LE(told, tokens_of("one END OF two END").size());
}

TEST(ReplyMaker, ConsidersOnlyTokensThatTheFormAllows) {
  ReplyOptions options;
  options.max_tokens = 1000;
  options.starts_text = false;
  options.constraint.emplace(grammar::Grammar::compile("[0-9]{3}!", grammar::GrammarKind::kRegex),
                             grammar::TokenTrie::of(nano_tokenizer()));
  ReplyMaker maker(nano_tokenizer(), options);
  std::string text;
  for (int i = 0; i < 10; ++i) {
    std::vector<float> logits(nano_tokenizer().vocab_size(), 0.0f);
    logits[static_cast<size_t>(tokens_of("x")[0])] = 10;
    const ReplyPiece piece = maker.take(logits, {});
    text += piece.text;
    if (piece.finish != Finish::kNone) {
      EXPECT_EQ(piece.finish, Finish::kEnd) << "nothing can follow";
      break;
    }
  }
  ASSERT_EQ(text.size(), 4U) << text;
  EXPECT_EQ(text.find_first_not_of("0123456789"), 3U);
  EXPECT_EQ(text[3], '!');
}

TEST(ReplyMaker, EndsAtItsLimitAndAtTheEndToken) {
  ReplyMaker maker(nano_tokenizer(), {.max_tokens = 3, .starts_text = false});
  const auto tokens = tokens_of("a b c d e f");
  auto pieces = pieces_of(maker, tokens);
  EXPECT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces.back().finish, Finish::kLength);
  const int32_t end = *nano_tokenizer().eos_id();
  ReplyMaker other(nano_tokenizer(), {.max_tokens = 9, .starts_text = false});
  pieces = pieces_of(other, {tokens[0], end, tokens[1]});
  EXPECT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces.back().finish, Finish::kEnd);
  EXPECT_EQ(text_of_pieces(pieces), nano_tokenizer().decode({&tokens[0], 1}));
}

TEST(ReplyMaker, BiasesForbidAndForce) {
  const std::vector<float> logits = {0, 1, 2, 3};
  ReplyOptions options;
  options.logit_bias = {{3, -100.0f}, {1, 50.0f}};
  ReplyMaker maker(nano_tokenizer(), options);
  maker.take(logits, {});
  EXPECT_EQ(maker.last_token(), 1);
}

TEST(ReplyMaker, PenaltiesConcernTheReplysTokens) {
  const std::vector<float> logits = {0, 0, 1, 1.5};
  ReplyOptions options;
  options.presence_penalty = 1;
  ReplyMaker maker(nano_tokenizer(), options);
  maker.take(logits, {});
  EXPECT_EQ(maker.last_token(), 3);
  maker.take(logits, {});
  EXPECT_EQ(maker.last_token(), 2);
}

/// 64 replies have no buffers of the size of the vocabulary, which would be 1.2 MB each here.
/// Sanitizers report no bytes.
TEST(ReplyMaker, RepliesShareTheBuffersOfTheVocabulary) {
  std::vector<float> logits(100'000, 0.0f);
  logits[300] = 10;
  ReplyOptions options;
  options.ignore_eos = true;
  options.presence_penalty = 0.5f;
  options.sampler.temperature = 1;
  const auto used = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  ReplyMaker(nano_tokenizer(), options).take(logits, {});
  const size_t before = used();
  std::deque<ReplyMaker> makers;
  for (int i = 0; i < 64; ++i) {
    makers.emplace_back(nano_tokenizer(), options);
    makers.back().take(logits, {});
  }
  EXPECT_LE(used() - before, 64 * size_t{16 << 10});
}

TEST(ReportToken, GivesNormalisedLogprobs) {
  const std::vector<float> logits = {0, 1, 2, -std::numeric_limits<float>::infinity()};
  const TokenReport report = report_token(logits, 1, 2);
  const double total = std::log(1 + std::exp(1.0) + std::exp(2.0));
  EXPECT_NEAR(report.logprob, 1 - total, 1e-6);
  ASSERT_EQ(report.best.size(), 2U);
  EXPECT_EQ(report.best[0].id, 2);
  EXPECT_NEAR(report.best[0].logprob, 2 - total, 1e-6);
  EXPECT_TRUE(std::isfinite(report_token(logits, 3, 4).logprob));
}

}  // namespace
}  // namespace longhaul::serve
