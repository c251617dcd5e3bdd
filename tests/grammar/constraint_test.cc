#include "grammar/constraint.h"

#include <gtest/gtest.h>

#include "grammar_texts.h"

namespace longhaul::grammar {
namespace {

bool allows(Constraint& constraint, char c) {
  TokenMask mask(constraint.mask_words());
  constraint.allowed(mask);
  const size_t id = static_cast<unsigned char>(c);
  return (mask[id / 64] >> (id % 64) & 1) != 0;
}

void write(Constraint& constraint, std::string_view text) {
  for (const char c : text) constraint.accept(static_cast<unsigned char>(c));
}

TEST(Constraint, HoldsTheWholeReply) {
  Constraint constraint(Grammar::compile("ab+", GrammarKind::kRegex), byte_tokens());
  EXPECT_TRUE(constraint.active());
  EXPECT_TRUE(allows(constraint, 'a'));
  EXPECT_FALSE(allows(constraint, 'b'));
  write(constraint, "ab");
  EXPECT_FALSE(constraint.must_end());
}

TEST(Constraint, BeginsAfterAStartAndEndsWithItsMatch) {
  Constraint constraint(Grammar::compile("[0-9]{2};", GrammarKind::kRegex), byte_tokens(),
                        {"<call>", "<|tag|>"});
  EXPECT_FALSE(constraint.active());
  write(constraint, "Text <call <ca");
  EXPECT_FALSE(constraint.active());
  const Constraint before = constraint;
  write(constraint, "ll>");
  ASSERT_TRUE(constraint.active());
  EXPECT_FALSE(before.active()) << "copies are independent";
  EXPECT_TRUE(allows(constraint, '7'));
  EXPECT_FALSE(allows(constraint, ';'));
  write(constraint, "78;");
  EXPECT_FALSE(constraint.active()) << "the reply is free again";
}

TEST(Constraint, AControlTokenMayBeAStart) {
  Constraint constraint(Grammar::compile("[0-9]{2};", GrammarKind::kRegex), byte_tokens(),
                        {"<|tag|>"});
  write(constraint, "free");
  constraint.accept(256, "<|tag|>");
  ASSERT_TRUE(constraint.active());
  EXPECT_FALSE(allows(constraint, 'x'));
  write(constraint, "42;");
  EXPECT_FALSE(constraint.active()) << "the reply is free again";
  write(constraint, " more");
}

}  // namespace
}  // namespace longhaul::grammar
