#pragma once
// One method on the host and on a device: results must be equal.

#include <gtest/gtest.h>

#include <string>

#include "engine/cosine.h"
#include "engine/generate.h"
#include "engine/pass_key_prompt.h"
#include "format/temp_folder.h"

namespace longhaul::testing_support {

/// Number of waits for the device while `passes` passes of a prompt and `replied` tokens were read.
struct Waits {
  int64_t prompt = 0, passes = 0;
  int64_t reply = 0, replied = 0;
};

class TwoPlaces {
 public:
  TwoPlaces(std::shared_ptr<const Engine> engine, std::string spec, Queue device,
            const KvType& kv_type = {}, int chunk = 64)
      : engine_(std::move(engine)),
        spec_(std::move(spec)),
        device_(std::move(device)),
        kv_type_(kv_type),
        chunk_(chunk) {}

  Session session(const Queue& queue) const {
    SessionOptions options;
    options.attention = MethodSpec::parse(spec_);
    options.chunk = chunk_;
    options.kv_type = kv_type_;
    options.compute = Compute::kF32;
    options.queue = queue;
    return Session(engine_, options);
  }
  Session here() const { return session({}); }
  Session there() const { return session(device_); }

  void read(Session& session) const {
    PrefillHooks hooks;
    hooks.instruction = 16;
    ASSERT_TRUE(session.prefill(early_pass_key(*engine_), hooks));
  }
  static std::vector<int32_t> reply(Session& session) {
    GenerateOptions few;
    few.max_tokens = 4;  // later tokens may differ because of rounding
    return generate(session, few).tokens;
  }

  /// On a device, multiplied activations are rounded to bf16. A session saved there continues on
  /// the host, and from the host on the device again. `alike`: the least cosine of logits.
  void expect_same_answers_and_sessions(double alike = 0.98) const {
    const TempFolder folder;
    Session host = here(), device = there();
    read(host);
    read(device);
    EXPECT_GT(cosine_of(host.logits(), device.logits()), alike);
    const int64_t rows = device.report().live_rows;
    EXPECT_EQ(host.report().live_rows, rows);
    device.save(folder.path() / "a");
    const std::vector<int32_t> answer = reply(device);
    EXPECT_EQ(reply(host), answer);

    Session moved = here(), back = there();
    moved.load(folder.path() / "a");
    moved.save(folder.path() / "b");
    EXPECT_EQ(moved.report().live_rows, rows);
    back.load(folder.path() / "b");
    EXPECT_EQ(reply(back), answer);
  }

  /// Counted after all memory is allocated.
  Waits waits() const {
    Session first = there(), session = there();
    read(first);
    Waits counted;
    const std::vector<int32_t> tokens = early_pass_key(*engine_);
    PrefillHooks hooks;
    hooks.instruction = 16;
    hooks.pass_progress = [&](int64_t, int64_t, double share) { counted.passes += share == 1; };
    const auto now = [&] { return device_.device().waits(); };
    const int64_t begin = now();
    EXPECT_TRUE(session.prefill(tokens, hooks));
    const int64_t middle = now();
    for (counted.replied = 0; counted.replied < 4; ++counted.replied)
      session.decode(tokens.front());
    counted.prompt = middle - begin;
    counted.reply = now() - middle;
    return counted;
  }

 private:
  std::shared_ptr<const Engine> engine_;
  std::string spec_;
  Queue device_;
  KvType kv_type_;
  int chunk_;
};

}  // namespace longhaul::testing_support
