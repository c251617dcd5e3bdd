#include "kv/recurrent_state.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/byte_stream.h"
#include "base/error.h"

namespace longhaul {
namespace {

constexpr int64_t kNumbers = 66;  // floats of a layer

/// Writes `value` into the states of both layers, as `rows` rows at `position` do.
void write(RecurrentState& state, int64_t position, int64_t rows, float value,
           bool discard = false) {
  for (int layer = 0; layer < 2; ++layer) {
    const RecurrentState::Step step = state.advance(layer, position, rows, discard);
    for (int64_t i = 0; i < kNumbers; ++i) step.after.address()[i] = value;
  }
}

float value_of(RecurrentState& state) {
  const float value = *state.advance(0, state.tokens(), 1, true).before.address();
  return value;
}

TEST(RecurrentState, ChangesWithACommit) {
  RecurrentState state(kNumbers, 2, 0);
  write(state, 0, 10, 1);
  EXPECT_EQ(state.tokens(), 0);
  state.drop();
  EXPECT_EQ(*state.advance(1, 0, 1, false).before.address(), 0);
  write(state, 0, 10, 2);
  EXPECT_EQ(*state.advance(1, 10, 1, true).before.address(), 2);  // later rows of the same group
  state.commit();
  EXPECT_EQ(state.tokens(), 10);
  EXPECT_EQ(*state.advance(0, 11, 1, false).before.address(), 2);
}

TEST(RecurrentState, DiscardedRowsDoNotChangeIt) {
  RecurrentState state(kNumbers, 2, 0);
  write(state, 0, 10, 1);
  state.commit();
  write(state, 20, 5, 7, true);
  EXPECT_EQ(*state.advance(0, 25, 5, true).before.address(), 7);  // continues them
  EXPECT_EQ(*state.advance(1, 90, 5, true).before.address(), 1);  // begins anew
  EXPECT_EQ(*state.advance(0, 10, 5, false).before.address(), 1);
}

TEST(RecurrentState, GoesBackToStoredStates) {
  RecurrentState state(kNumbers, 2, 100);
  for (int i = 1; i <= 7; ++i) {
    write(state, (i - 1) * 50, 50, static_cast<float>(i));
    state.commit();
  }
  EXPECT_EQ(state.tokens(), 350);
  RecurrentState other = state.clone();
  EXPECT_EQ(other.rewind(350), 350);
  EXPECT_EQ(other.rewind(349), 300);
  EXPECT_EQ(value_of(other), 6);
  EXPECT_EQ(other.rewind(299), 200);
  EXPECT_EQ(value_of(other), 4);
  EXPECT_EQ(other.rewind(99), 0);
  EXPECT_EQ(value_of(other), 0);
  EXPECT_EQ(state.rewind(340), 300);
}

TEST(RecurrentState, KeepsTheEndOfTheLastPrompt) {
  RecurrentState state(kNumbers, 2, 100);
  write(state, 0, 30, 1);
  state.commit();
  state.end_prompt();
  write(state, 30, 30, 2);
  state.commit();
  state.end_prompt();
  write(state, 60, 10, 3);
  state.commit();
  RecurrentState other = state.clone();
  EXPECT_EQ(other.rewind(65), 60);
  EXPECT_EQ(value_of(other), 2);
  EXPECT_EQ(state.rewind(59), 0);  // the end of an earlier prompt is not kept
}

TEST(RecurrentState, ClonesShareStoredStates) {
  RecurrentState state(kNumbers, 2, 10);
  write(state, 0, 10, 1);
  state.commit();
  const size_t alone = state.own_bytes();
  RecurrentState other = state.clone();
  EXPECT_LT(state.own_bytes(), alone);
  EXPECT_EQ(state.bytes(), other.bytes());
  EXPECT_LE(state.bytes(), state.most_bytes_of(10));
  write(other, 10, 1, 5);
  other.commit();
  EXPECT_EQ(value_of(state), 1);
}

TEST(RecurrentState, IsRestoredFromAFile) {
  RecurrentState state(kNumbers, 2, 10);
  write(state, 0, 10, 1);
  state.commit();
  write(state, 10, 5, 2);
  state.commit();
  ByteWriter out;
  state.save(out);
  const std::vector<std::byte> bytes = out.take();
  RecurrentState read(kNumbers, 2, 10);
  ByteReader in(bytes);
  read.restore(in, 15);
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(read.tokens(), 15);
  EXPECT_EQ(value_of(read), 2);
  EXPECT_EQ(read.rewind(14), 10);
  EXPECT_EQ(value_of(read), 1);

  RecurrentState longer(kNumbers, 1, 10);
  ByteReader again(bytes);
  EXPECT_THROW(longer.restore(again, 15), UserError);
  ByteReader beyond(bytes);
  EXPECT_THROW(read.restore(beyond, 9), UserError);  // holds a state of 10 tokens
}

}  // namespace
}  // namespace longhaul
