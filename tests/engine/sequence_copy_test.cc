// Sequences that move from a device to host memory and back continue with the same bits.

#include "engine/sequence_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "attention/settings.h"
#include "attention/test_name.h"
#include "base/error.h"
#include "engine/exact_logits.h"
#include "engine/model_runner.h"
#include "engine/prefill.h"
#include "kv/shared_pages.h"
#include "ops/fake_side_copies.h"

namespace longhaul {
namespace {

using testing_support::add_side_copies;
using testing_support::CopyControl;
using testing_support::FakeDevice;
using testing_support::scattered_tokens;
using testing_support::Small;

constexpr size_t kBlock = HostBlocks::kBlockBytes;
using Logits = std::vector<float>;

std::shared_ptr<const Engine> tiny_engine(const std::string& model) {
  return Engine::open(std::filesystem::path(LONGHAUL_TEST_DATA) / "tiny_models" / model);
}

class OnFakeDevice {
 public:
  explicit OnFakeDevice(std::shared_ptr<const Engine> of, const std::string& spec = "dense",
                        size_t host_bytes = 64 * kBlock)
      : engine(std::move(of)) {
    control = add_side_copies(*device);
    options.queue = Queue(device);
    options.attention = MethodSpec::parse(spec);
    options.chunk = 64;
    options.state_every = 50;
    memory = HostMemory::make(options.queue, host_bytes);
    runner.emplace(engine, options.queue, options.compute);
  }

  Sequence read(const std::vector<int32_t>& tokens) {
    Sequence sequence(engine, options);
    add(sequence, tokens);
    return sequence;
  }
  void add(Sequence& sequence, const std::vector<int32_t>& tokens) {
    PrefillHooks hooks;
    hooks.instruction = std::min<int64_t>(16, std::ssize(tokens) / 2);
    Prefill prefill(sequence, tokens, hooks);
    while (prefill.step(*runner, {}) == PrefillStep::kMore) {
    }
  }
  /// The logits after each of some decoded tokens and after a second prompt.
  std::vector<Logits> go_on(Sequence& sequence) {
    std::vector<Logits> all;
    const auto note = [&] { all.emplace_back(sequence.logits().begin(), sequence.logits().end()); };
    note();
    for (const int32_t token : {5, 17, 99, 3}) {
      runner->decode(sequence, token);
      note();
    }
    add(sequence, scattered_tokens(70, 11, 250));
    note();
    runner->decode(sequence, 8);
    note();
    return all;
  }
  std::unique_ptr<SequenceCopy> begin(const Sequence& from, bool to_host,
                                      const SequenceTwins& twins = {}) {
    SessionOptions other = from.options();
    other.queue = to_host ? Queue() : options.queue;
    return std::make_unique<SequenceCopy>(memory, from, other, twins);
  }
  static void await(SequenceCopy& copy) {
    while (!copy.done()) {
      copy.advance(1e-3);
      std::this_thread::yield();
    }
  }
  Sequence moved(const Sequence& from, bool to_host, const SequenceTwins& twins = {}) {
    const auto copy = begin(from, to_host, twins);
    await(*copy);
    EXPECT_EQ(copy->error(), "");
    return copy->take();
  }

  std::shared_ptr<const Engine> engine;
  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  std::shared_ptr<CopyControl> control;
  SessionOptions options;
  std::shared_ptr<HostMemory> memory;
  std::optional<ModelRunner> runner;
};

class MovedSequence : public ::testing::TestWithParam<Small> {};

/// The device's memory is freed and used by another sequence in the meantime.
TEST_P(MovedSequence, ContinuesWithTheSameBits) {
  OnFakeDevice on(tiny_engine("llama_llama3"), GetParam().spec);
  std::optional<Sequence> original = on.read(scattered_tokens(300, 3, 250));
  on.runner->decode(*original, 7);
  Sequence clone = original->clone();
  const auto want = on.go_on(clone);
  const SessionReport before = original->report();
  const bool rewinds = original->method().can_rewind();
  clone.reset();

  std::optional<Sequence> on_host = on.moved(*original, true);
  EXPECT_TRUE(std::ranges::equal(on_host->tokens(), original->tokens()));
  original.reset();
  on.read(scattered_tokens(400, 77, 250));
  Sequence back = on.moved(*on_host, false);
  on_host.reset();
  EXPECT_EQ(on.memory->blocks().bytes_in_use(), 0U);
  EXPECT_EQ(back.report().live_rows, before.live_rows);
  EXPECT_EQ(back.report().pairs_share, before.pairs_share);
  EXPECT_EQ(back.method().can_rewind(), rewinds);
  EXPECT_EQ(on.go_on(back), want);
}

INSTANTIATE_TEST_SUITE_P(
    Registry, MovedSequence,
    ::testing::ValuesIn(testing_support::first_of_each_kind(testing_support::small_settings())),
    [](const auto& test) { return testing_support::test_name(test.param.spec); });

TEST(SequenceCopy, ARecurrentStateMovesWithItsStoredCopies) {
  OnFakeDevice on(tiny_engine("qwen3_next"));
  std::optional<Sequence> original = on.read(scattered_tokens(180, 3, 250));
  std::optional<Sequence> twin = original->clone();
  Sequence clone = original->clone();
  const auto want = on.go_on(clone);
  std::optional<Sequence> twin_on_host = on.moved(*twin, true);
  const size_t downloaded = on.control->downloaded;
  std::optional<Sequence> on_host = on.moved(*original, true, {&*twin, &*twin_on_host});
  EXPECT_LT(on.control->downloaded - downloaded, downloaded / 2)
      << "stored states and pages are shared";
  original.reset();
  twin.reset();
  Sequence back = on.moved(*on_host, false);
  EXPECT_EQ(back.report().kv_bytes, on_host->report().kv_bytes);
  EXPECT_EQ(on.go_on(back), want);
}

TEST(SequenceCopy, RelativesShareTheirPagesOnTheHostAndAfterTheyReturn) {
  OnFakeDevice on(tiny_engine("llama_llama3"));
  std::optional<Sequence> document = on.read(scattered_tokens(1000, 3, 250));
  std::optional<Sequence> question = document->clone();
  on.add(*question, scattered_tokens(100, 5, 250));
  Sequence clone = question->clone();
  const auto want = on.go_on(clone);
  clone.reset();
  const size_t both = shared_page_bytes_in_use(on.options.queue);

  std::optional<Sequence> document_there = on.moved(*document, true);
  const size_t downloaded = on.control->downloaded;
  std::optional<Sequence> question_there =
      on.moved(*question, true, {&*document, &*document_there});
  EXPECT_LT(on.control->downloaded - downloaded, downloaded / 4);
  document.reset();
  question.reset();
  EXPECT_EQ(shared_page_bytes_in_use(on.options.queue), 0U);

  document = on.moved(*document_there, false);
  const size_t uploaded = on.control->uploaded;
  document_there->clone();  // may end before the other
  question = on.moved(*question_there, false, {&*document_there, &*document});
  EXPECT_LT(on.control->uploaded - uploaded, uploaded / 4);
  EXPECT_EQ(shared_page_bytes_in_use(on.options.queue), both);
  document_there.reset();
  EXPECT_EQ(on.go_on(*question), want);
  // The document's own rows have not changed.
  Sequence again = document->clone();
  on.add(again, scattered_tokens(100, 5, 250));
  EXPECT_EQ(on.go_on(again), want);
}

TEST(SequenceCopy, TheSourceIsUsedWhileItIsCopied) {
  OnFakeDevice on(tiny_engine("llama_llama3"));
  const Sequence original = on.read(scattered_tokens(300, 3, 250));
  Sequence clone = original.clone();
  const auto want = on.go_on(clone);
  on.control->hold(true);
  const auto copy = on.begin(original, true);
  Sequence second = original.clone();
  EXPECT_EQ(on.go_on(second), want);
  EXPECT_FALSE(copy->done());
  on.control->hold(false);
  OnFakeDevice::await(*copy);
  Sequence back = on.moved(copy->take(), false);
  EXPECT_EQ(on.go_on(back), want);
}

TEST(SequenceCopy, AnAbandonedCopyLeavesNothing) {
  OnFakeDevice on(tiny_engine("llama_llama3"));
  const Sequence original = on.read(scattered_tokens(300, 3, 250));
  const Sequence on_host = on.moved(original, true);
  const size_t host = on.memory->blocks().bytes_in_use();
  const size_t device = shared_page_bytes_in_use(on.options.queue);
  for (const bool out : {true, false}) {
    on.control->hold(true);
    auto copy = on.begin(out ? original : on_host, out);
    copy->advance(1);
    std::thread releases([&] { on.control->hold(false); });
    copy.reset();  // waits for what has begun
    releases.join();
    EXPECT_EQ(on.memory->blocks().bytes_in_use(), host);
    EXPECT_EQ(shared_page_bytes_in_use(on.options.queue), device);
  }
}

TEST(SequenceCopy, AFullHostOrAFailedCopyIsReported) {
  OnFakeDevice on(tiny_engine("llama_llama3"), "dense", kBlock / 2);
  const Sequence original = on.read(scattered_tokens(300, 3, 250));
  {
    const auto copy = on.begin(original, true);
    OnFakeDevice::await(*copy);
    EXPECT_NE(copy->error(), "");
  }
  OnFakeDevice broken(tiny_engine("llama_llama3"));
  const Sequence there = broken.read(scattered_tokens(300, 3, 250));
  const Sequence on_host = broken.moved(there, true);
  broken.control->fails = true;
  for (const bool out : {true, false}) {
    const auto copy = broken.begin(out ? there : on_host, out);
    OnFakeDevice::await(*copy);
    EXPECT_EQ(copy->error(), "a copy failed");
  }
}

/// Copies wait for queued work: for writers of the pages that are read, and for readers of the
/// pages that are written.
TEST(SequenceCopy, EveryCopyFollowsTheQueue) {
  OnFakeDevice on(tiny_engine("llama_llama3"));
  const Sequence original = on.read(scattered_tokens(300, 3, 250));
  const Sequence on_host = on.moved(original, true);
  EXPECT_EQ(on.control->followed, 1U);
  const size_t batches = on.control->batches;
  on.moved(on_host, false);
  EXPECT_EQ(on.control->followed - 1, on.control->batches - batches);
}

TEST(SequenceCopy, ASequenceOfTheHostIsSavedAsThatOfTheDevice) {
  OnFakeDevice on(tiny_engine("llama_llama3"));
  Sequence original = on.read(scattered_tokens(300, 3, 250));
  const Sequence on_host = on.moved(original, true);
  const std::filesystem::path folder = testing::TempDir();
  on_host.save_after(folder / "a.session", {});
  Sequence loaded(on.engine, on.options);
  loaded.load(folder / "a.session");
  EXPECT_EQ(on.go_on(loaded), on.go_on(original));
}

}  // namespace
}  // namespace longhaul
