#include "attention/method_spec.h"

#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;
using testing_support::small_shape;

enum class Fidelity : uint8_t { kPaper, kRepo, kOwn };

struct SamplerOptions {
  int64_t recent = 512;
  double share = 0.5;
  bool strict = false;
  Fidelity fidelity = Fidelity::kPaper;
  std::string gates;
  int64_t bias = 0;
  std::optional<int64_t> tail;
  std::optional<double> gate;
  int64_t span = 8;
  void declare(OptionList& o) {
    o.integer(recent, "recent", 1, 4096, "tokens", "rows kept at the end");
    o.real(share, "share", 0, 1, "", "share of full heads");
    o.flag(strict, "strict", "as published");
    o.choice(fidelity, "fidelity", {"paper", "repo", "own"}, "which source");
    o.text(gates, "gates", "", "file of gates");
    o.integer(bias, "bias", -100, 100, "", "any number");
    o.integer(tail, "tail", 0, 64, "tokens", "rows kept; auto: a tenth");
    o.real(gate, "gate", 0, 1, "", "least gate; auto: none");
    o.integer(span, "span", 1, 9, "", "of its own")
        .only([this] { return fidelity == Fidelity::kOwn; }, "fidelity=own", "fidelity");
  }
};

/// Has every kind of option. Remembers the options of its last construction.
class Sampler final : public Method {
 public:
  SamplerOptions own;
  void declare(OptionList& o) { own.declare(o); }
  void fit(const ModelShape&) { last = own; }
  ListPlan plan(int, int, int64_t) const override { return {}; }
  static inline SamplerOptions last;
};

class Plain final : public Method {
 public:
  void declare(OptionList&) {}
  ListPlan plan(int, int, int64_t) const override { return {}; }
};

const MethodInfo kMethods[] = {method_info<Plain>({.name = "plain"}),
                               method_info<Sampler>({.name = "sampler"})};

/// The options with which the method is constructed.
SamplerOptions made(const MethodSpec& spec) {
  spec.make(small_shape(1, 1, 1, 32));
  return Sampler::last;
}

MethodSpec parse(std::string_view text) { return MethodSpec::parse(text, kMethods); }
std::string refusal_of(std::string_view text) {
  return error_of([&] { parse(text); });
}

TEST(MethodSpec, FillsInDefaults) {
  const MethodSpec spec = parse("sampler");
  EXPECT_EQ(spec.info().name, "sampler");
  const SamplerOptions options = made(spec);
  EXPECT_EQ(options.recent, 512);
  EXPECT_EQ(options.share, 0.5);
  EXPECT_FALSE(options.strict);
  EXPECT_EQ(options.fidelity, Fidelity::kPaper);
  EXPECT_EQ(options.gates, "");
  EXPECT_EQ(spec.text(), "sampler");
  EXPECT_NE(spec.make(small_shape(1, 1, 1, 32)), nullptr);
}

TEST(MethodSpec, ReadsEveryKindOfOption) {
  const MethodSpec spec =
      parse("sampler:recent=4096,share=0.25,strict=on,fidelity=repo,gates=/a:b=c.tsv,bias=-9");
  const SamplerOptions options = made(spec);
  EXPECT_EQ(options.recent, 4096);
  EXPECT_EQ(options.share, 0.25);
  EXPECT_TRUE(options.strict);
  EXPECT_EQ(options.fidelity, Fidelity::kRepo);
  EXPECT_EQ(options.gates, "/a:b=c.tsv");
  EXPECT_EQ(options.bias, -9);
}

TEST(MethodSpec, TextIsCanonicalAndReadsBack) {
  EXPECT_EQ(parse("sampler:strict=1,recent=0064,share=2.5e-1").text(),
            "sampler:recent=64,share=0.25,strict=true");
  EXPECT_EQ(parse("sampler:strict=no,share=.5,recent=512").text(), "sampler");
  const std::string text = "sampler:bias=3,fidelity=own,gates=x,recent=1,share=0.1,strict=true";
  EXPECT_EQ(parse(text).text(), text);
  EXPECT_EQ(parse("plain").text(), "plain");
}

TEST(MethodSpec, AnUnknownMethodIsAnsweredWithTheList) {
  EXPECT_EQ(refusal_of("samplr:recent=3"),
            "--attention: unknown method 'samplr'; did you mean 'sampler'? "
            "(methods: plain, sampler)");
  EXPECT_EQ(refusal_of("qqqq"), "--attention: unknown method 'qqqq' (methods: plain, sampler)");
  EXPECT_TRUE(has(refusal_of("SAMPLER:recent=3"), {"did you mean 'sampler'?"}));
  EXPECT_EQ(refusal_of(""), "--attention: the method's name is missing (methods: plain, sampler)");
}

TEST(MethodSpec, AnUnknownKeyIsAnsweredWithTheKeys) {
  EXPECT_EQ(refusal_of("sampler:recnt=3"),
            "--attention sampler: unknown option 'recnt'; did you mean 'recent'? "
            "(options: recent, share, strict, fidelity, gates, bias, tail, gate, span)");
  EXPECT_EQ(refusal_of("plain:recent=3"),
            "--attention plain: unknown option 'recent'; this method has none");
  EXPECT_TRUE(has(refusal_of("sampler:"), {"unknown option ''"}));
  EXPECT_TRUE(has(refusal_of("sampler:recent=3,"), {"unknown option ''"}));
}

TEST(MethodSpec, AValueOutOfRangeIsAnsweredWithTheRange) {
  EXPECT_EQ(refusal_of("sampler:recent=0"),
            "--attention sampler: recent=0: must be from 1 to 4,096 tokens");
  EXPECT_TRUE(has(refusal_of("sampler:recent=4097"), {"recent=4097", "from 1 to 4,096 tokens"}));
  EXPECT_TRUE(has(refusal_of("sampler:share=1.01"), {"share=1.01", "from 0 to 1"}));
  EXPECT_TRUE(has(refusal_of("sampler:share=-0.1"), {"from 0 to 1"}));
}

TEST(MethodSpec, AValueThatIsNoneIsRefused) {
  for (const char* bad : {"", "x", "3x", "1.5", " 3", "99999999999999999999"}) {
    EXPECT_TRUE(has(refusal_of(std::string("sampler:recent=") + bad), {"recent=", "whole number"}));
  }
  for (const char* bad : {"", "x", "nan", "inf", "1e999", "0.5 "}) {
    EXPECT_TRUE(has(refusal_of(std::string("sampler:share=") + bad), {"share=", "a number"}));
  }
  EXPECT_TRUE(has(refusal_of("sampler:strict=maybe"), {"strict=maybe", "true or false"}));
  EXPECT_TRUE(has(refusal_of("sampler:fidelity=pap"), {"fidelity=pap", "paper, repo or own"}));
  EXPECT_TRUE(has(refusal_of("sampler:strict"), {"'strict' has no value", "strict=VALUE"}));
}

TEST(MethodSpec, AKeyGivenTwiceIsRefused) {
  EXPECT_EQ(refusal_of("sampler:recent=3,recent=3"),
            "--attention sampler: option 'recent' is given twice");
}

TEST(MethodSpec, AutoIsAValueOfNumbersWhoseDefaultItIs) {
  EXPECT_EQ(made(parse("sampler")).tail, std::nullopt);
  EXPECT_EQ(made(parse("sampler")).gate, std::nullopt);
  EXPECT_EQ(made(parse("sampler:tail=0")).tail, 0);
  EXPECT_EQ(made(parse("sampler:gate=0")).gate, 0.0);
  EXPECT_EQ(parse("sampler:tail=auto,gate=auto").text(), "sampler");
  EXPECT_EQ(parse("sampler:tail=00").text(), "sampler:tail=0");
  EXPECT_EQ(parse("sampler:tail=auto").fingerprint(), parse("sampler").fingerprint());
  EXPECT_NE(parse("sampler:tail=0").fingerprint(), parse("sampler").fingerprint());
  EXPECT_EQ(refusal_of("sampler:tail=65"),
            "--attention sampler: tail=65: must be auto or from 0 to 64 tokens");
  EXPECT_EQ(refusal_of("sampler:tail=aut"),
            "--attention sampler: tail=aut: must be auto or a whole number");
  EXPECT_EQ(refusal_of("sampler:recent=auto"),
            "--attention sampler: recent=auto: must be a whole number");
}

TEST(MethodSpec, AnOptionThatHasNoEffectIsRefused) {
  EXPECT_EQ(refusal_of("sampler:fidelity=repo,span=3"),
            "--attention sampler: span has no effect with fidelity=repo");
  EXPECT_EQ(refusal_of("sampler:span=3,fidelity=repo"),
            "--attention sampler: span has no effect with fidelity=repo");
  // A profile may change `fidelity`, so the error must wait for the model.
  const MethodSpec spec = parse("sampler:span=3");
  EXPECT_EQ(spec.text(), "sampler:span=3");
  EXPECT_EQ(error_of([&] { spec.for_model(small_shape(1, 1, 1, 32)); }),
            "--attention sampler: span has no effect with fidelity=paper");
  EXPECT_EQ(error_of([&] { spec.make(small_shape(1, 1, 1, 32)); }),
            "--attention sampler: span has no effect with fidelity=paper");
  EXPECT_NO_THROW(parse("sampler:fidelity=own,span=3").make(small_shape(1, 1, 1, 32)));
}

TEST(MethodSpec, ADefaultWithoutEffectIsNotUsed) {
  const ModelShape shape = small_shape(1, 1, 1, 32);
  MethodSpec spec = parse("sampler:fidelity=repo");
  spec.set_default("span", "3");
  EXPECT_EQ(spec.for_model(shape).text(), "sampler:fidelity=repo");
  EXPECT_EQ(spec.for_model(shape).fingerprint(),
            parse("sampler:fidelity=repo").for_model(shape).fingerprint());
  spec.make(shape);
  EXPECT_EQ(Sampler::last.span, 8);
  MethodSpec own = parse("sampler:fidelity=own");
  own.set_default("span", "3");
  own.make(shape);
  EXPECT_EQ(Sampler::last.span, 3);
  EXPECT_NE(own.for_model(shape).fingerprint(),
            parse("sampler:fidelity=own").for_model(shape).fingerprint());
}

}  // namespace
}  // namespace longhaul
