#include "attention/method_spec.h"

#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;
using testing_support::small_shape;

/// Takes every kind of option; remembers nothing.
class Sampler final : public AttentionMethod {
 public:
  void attend(LayerStep&) override {}
};

int64_t made_span = 0;

std::unique_ptr<AttentionMethod> make_sampler(const MethodOptions& options, const ModelShape&) {
  made_span = options.integer("span");
  return std::make_unique<Sampler>();
}

constexpr OptionInfo kOptions[] = {
    {"recent", OptionKind::kInteger, "512", "tokens", 1, 4096, "", "rows kept at the end"},
    {"share", OptionKind::kReal, "0.50", "", 0, 1, "", "share of full heads"},
    {"strict", OptionKind::kBool, "false", "", 0, 0, "", "as published"},
    {"fidelity", OptionKind::kChoice, "paper", "", 0, 0, "paper|repo|own", "which source"},
    {"gates", OptionKind::kText, "", "", 0, 0, "", "file of gates"},
    {"bias", OptionKind::kInteger, "0", "", 0, 0, "", "any number"},
    {"tail", OptionKind::kInteger, "auto", "tokens", 0, 64, "", "rows kept; auto: a tenth"},
    {"gate", OptionKind::kReal, "auto", "", 0, 1, "", "least gate; auto: none"},
    {"span", OptionKind::kInteger, "8", "", 1, 9, "", "of its own", "fidelity=own"},
};

const MethodInfo kMethods[] = {
    {"plain",
     "keeps all",
     "always",
     "",
     {},
     [](const MethodOptions&, const ModelShape&) -> std::unique_ptr<AttentionMethod> {
       return std::make_unique<Sampler>();
     }},
    {"sampler", "keeps some", "sometimes", "", kOptions, make_sampler},
};

MethodSpec parse(std::string_view text) { return MethodSpec::parse(text, kMethods); }
std::string refused(std::string_view text) {
  return error_of([&] { parse(text); });
}

TEST(MethodSpec, FillsInDefaults) {
  const MethodSpec spec = parse("sampler");
  EXPECT_EQ(spec.info().name, "sampler");
  EXPECT_EQ(spec.options().integer("recent"), 512);
  EXPECT_EQ(spec.options().real("share"), 0.5);
  EXPECT_FALSE(spec.options().flag("strict"));
  EXPECT_EQ(spec.options().text("fidelity"), "paper");
  EXPECT_EQ(spec.options().text("gates"), "");
  EXPECT_EQ(spec.text(), "sampler");
  EXPECT_NE(spec.make(small_shape(1, 1, 1, 32)), nullptr);
}

TEST(MethodSpec, ReadsEveryKindOfOption) {
  const MethodSpec spec =
      parse("sampler:recent=4096,share=0.25,strict=on,fidelity=repo,gates=/a:b=c.tsv,bias=-9");
  EXPECT_EQ(spec.options().integer("recent"), 4096);
  EXPECT_EQ(spec.options().real("share"), 0.25);
  EXPECT_TRUE(spec.options().flag("strict"));
  EXPECT_EQ(spec.options().text("fidelity"), "repo");
  EXPECT_EQ(spec.options().text("gates"), "/a:b=c.tsv");
  EXPECT_EQ(spec.options().integer("bias"), -9);
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
  EXPECT_EQ(refused("samplr:recent=3"),
            "--attention: unknown method 'samplr'; did you mean 'sampler'? "
            "(methods: plain, sampler)");
  EXPECT_EQ(refused("qqqq"), "--attention: unknown method 'qqqq' (methods: plain, sampler)");
  EXPECT_TRUE(has(refused("SAMPLER:recent=3"), {"did you mean 'sampler'?"}));
  EXPECT_EQ(refused(""), "--attention: the method's name is missing (methods: plain, sampler)");
}

TEST(MethodSpec, AnUnknownKeyIsAnsweredWithTheKeys) {
  EXPECT_EQ(refused("sampler:recnt=3"),
            "--attention sampler: unknown option 'recnt'; did you mean 'recent'? "
            "(options: recent, share, strict, fidelity, gates, bias, tail, gate, span)");
  EXPECT_EQ(refused("plain:recent=3"),
            "--attention plain: unknown option 'recent'; this method has none");
  EXPECT_TRUE(has(refused("sampler:"), {"unknown option ''"}));
  EXPECT_TRUE(has(refused("sampler:recent=3,"), {"unknown option ''"}));
}

TEST(MethodSpec, AValueOutOfRangeIsAnsweredWithTheRange) {
  EXPECT_EQ(refused("sampler:recent=0"),
            "--attention sampler: recent=0: must be from 1 to 4,096 tokens");
  EXPECT_TRUE(has(refused("sampler:recent=4097"), {"recent=4097", "from 1 to 4,096 tokens"}));
  EXPECT_TRUE(has(refused("sampler:share=1.01"), {"share=1.01", "from 0 to 1"}));
  EXPECT_TRUE(has(refused("sampler:share=-0.1"), {"from 0 to 1"}));
}

TEST(MethodSpec, AValueThatIsNoneIsRefused) {
  for (const char* bad : {"", "x", "3x", "1.5", " 3", "99999999999999999999"}) {
    EXPECT_TRUE(has(refused(std::string("sampler:recent=") + bad), {"recent=", "whole number"}));
  }
  for (const char* bad : {"", "x", "nan", "inf", "1e999", "0.5 "}) {
    EXPECT_TRUE(has(refused(std::string("sampler:share=") + bad), {"share=", "a number"}));
  }
  EXPECT_TRUE(has(refused("sampler:strict=maybe"), {"strict=maybe", "true or false"}));
  EXPECT_TRUE(has(refused("sampler:fidelity=pap"), {"fidelity=pap", "paper, repo or own"}));
  EXPECT_TRUE(has(refused("sampler:strict"), {"'strict' has no value", "strict=VALUE"}));
}

TEST(MethodSpec, AKeyGivenTwiceIsRefused) {
  EXPECT_EQ(refused("sampler:recent=3,recent=3"),
            "--attention sampler: option 'recent' is given twice");
}

TEST(MethodSpec, AutoIsAValueOfNumbersWhoseDefaultItIs) {
  EXPECT_EQ(parse("sampler").options().optional_integer("tail"), std::nullopt);
  EXPECT_EQ(parse("sampler").options().optional_real("gate"), std::nullopt);
  EXPECT_EQ(parse("sampler:tail=0").options().optional_integer("tail"), 0);
  EXPECT_EQ(parse("sampler:gate=0").options().optional_real("gate"), 0.0);
  EXPECT_EQ(parse("sampler:tail=auto,gate=auto").text(), "sampler");
  EXPECT_EQ(parse("sampler:tail=00").text(), "sampler:tail=0");
  EXPECT_EQ(parse("sampler:tail=auto").fingerprint(), parse("sampler").fingerprint());
  EXPECT_NE(parse("sampler:tail=0").fingerprint(), parse("sampler").fingerprint());
  EXPECT_EQ(refused("sampler:tail=65"),
            "--attention sampler: tail=65: must be auto or from 0 to 64 tokens");
  EXPECT_EQ(refused("sampler:tail=aut"),
            "--attention sampler: tail=aut: must be auto or a whole number");
  EXPECT_EQ(refused("sampler:recent=auto"),
            "--attention sampler: recent=auto: must be a whole number");
}

TEST(MethodSpec, AnOptionThatHasNoEffectIsRefused) {
  EXPECT_EQ(refused("sampler:fidelity=repo,span=3"),
            "--attention sampler: span has no effect with fidelity=repo");
  EXPECT_EQ(refused("sampler:span=3,fidelity=repo"),
            "--attention sampler: span has no effect with fidelity=repo");
  // Not given: a profile may say otherwise, so that this waits for the model.
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
  EXPECT_EQ(made_span, 8);
  MethodSpec own = parse("sampler:fidelity=own");
  own.set_default("span", "3");
  own.make(shape);
  EXPECT_EQ(made_span, 3);
  EXPECT_NE(own.for_model(shape).fingerprint(),
            parse("sampler:fidelity=own").for_model(shape).fingerprint());
}

}  // namespace
}  // namespace longhaul
