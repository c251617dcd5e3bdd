#include "attention/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "attention/method_run.h"
#include "attention/method_spec.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::small_shape;
using testing_support::TempFolder;

/// Without options the text is the name alone, except for `form`, which is always included.
std::string usual_text(const MethodInfo& method) {
  const OptionSet set = method.describe();
  const Option* form = set.list.find("form");
  return std::string(method.name) + (form == nullptr ? "" : ":form=" + form->fallback);
}

TEST(Registry, EveryMethodIsDescribedAndItsDefaultsAreValid) {
  std::set<std::string_view> names;
  for (const MethodInfo& method : attention_methods()) {
    EXPECT_TRUE(names.insert(method.name).second) << method.name;
    EXPECT_FALSE(method.summary.empty()) << method.name;
    EXPECT_FALSE(method.when.empty()) << method.name;
    std::set<std::string_view> keys;
    const OptionSet set = method.describe();
    for (const Option& option : set.list.options()) {
      EXPECT_TRUE(keys.insert(option.key).second) << method.name << " " << option.key;
      EXPECT_FALSE(option.help.empty()) << method.name << " " << option.key;
    }
    const MethodSpec spec = MethodSpec::parse(method.name);
    EXPECT_EQ(spec.text(), usual_text(method));
    const ModelShape shape = small_shape(2, 2, 2, 64);
    if (set.list.needed().empty()) {
      EXPECT_NE(spec.make(shape), nullptr) << method.name;
    } else {
      const std::string error = error_of([&] { spec.make(shape); });
      EXPECT_TRUE(error.starts_with(
          fmt::format("--attention {}: needs {}; ", method.name, set.list.needed())))
          << error;
      EXPECT_TRUE(error.ends_with(fmt::format("'longhaul methods {}' explains", method.name)));
    }
  }
  EXPECT_TRUE(names.count("dense"));
}

TEST(Registry, AutoIsWhatANumberIsWithoutAValue) {
  std::set<std::string> tried;
  for (const MethodInfo& method : attention_methods()) {
    const OptionSet set = method.describe();
    for (const Option& option : set.list.options()) {
      const std::string given = fmt::format("{}:{}=", method.name, option.key);
      if (!option.takes_auto()) {
        EXPECT_NE(option.fallback, "auto") << given;
        continue;
      }
      tried.insert(given);
      EXPECT_EQ(MethodSpec::parse(given + "auto").text(), usual_text(method));
      EXPECT_NE(option.help.find("auto: "), std::string_view::npos) << given;
      EXPECT_GE(option.least, 0) << given << ": a number below stands for something else";
      EXPECT_NE(error_of([&] { MethodSpec::parse(given + "-1"); }).find("must be auto or from"),
                std::string::npos);
    }
  }
  const std::set<std::string> want = {"duo:threshold=",
                                      "h2o:recent=",
                                      "infllm:n_local=",
                                      "ltri:n_local=",
                                      "minference:slash=",
                                      "minference:vertical=",
                                      "ntk:context=",
                                      "roco:recent=",
                                      "tova:recent=",
                                      "trianglemix:start_layer=",
                                      "trianglemix:triangle_layers="};
  EXPECT_EQ(tried, want);
}

/// Options that other options make ineffective, and their error message.
TEST(Registry, OptionsWithoutEffectAreRefused) {
  const TempFolder folder;
  const std::string gates = folder.write("gates.tsv", "1\n").string();
  const struct {
    std::string spec, error;
  } cases[] = {
      {"tova:sink=9,recent=100000", "tova: sink has no effect with mode=official"},
      {"tova:recent=9", "tova: recent has no effect with mode=official"},
      {"tova:mode=official,positions=cache", "tova: positions has no effect with mode=official"},
      {"h2o:mode=oneshot,sink=4096", "h2o: sink has no effect with mode=oneshot"},
      {"h2o:mode=oneshot,stride=7", "h2o: stride has no effect with mode=oneshot"},
      {"h2o:mode=oneshot,positions=cache", "h2o: positions has no effect with mode=oneshot"},
      {"ntk:context=5", "ntk: context has no effect with mode=exact"},
      {"ntk:mode=fixed,length=pass", "ntk: length has no effect with mode=fixed"},
      {"trianglemix:dense_options=gamma=1",
       "trianglemix: dense_options has no effect with dense=full"},
      {"trianglemix:layers=0,start_layer=0",
       "trianglemix: layers has no effect with start_layer=0"},
      {"trianglemix:ranking=0,start_layer=0",
       "trianglemix: ranking has no effect with start_layer=0"},
      {"trianglemix:triangle_layers=1",
       "trianglemix: triangle_layers has no effect without ranking"},
      {"trianglemix:dense=minference,dense_options=search_at=9",
       "minference: search_at has no effect without patterns=search"},
      {"minference:save=found.json", "minference: save has no effect without patterns=search"},
      {"minference:search_at=9", "minference: search_at has no effect without patterns=search"},
      {"minference:patterns=p.json,pattern=a_shape",
       "minference: pattern has no effect with patterns=p.json"},
      {"minference:patterns=p.json,vertical=9",
       "minference: patterns has no effect with vertical=9"},
      {"minference:patterns=p.json,slash=9", "minference: patterns has no effect with slash=9"},
      {"minference:pattern=blocks,slash=9", "minference: slash has no effect with pattern=blocks"},
      {"minference:pattern=a_shape,last=9", "minference: last has no effect with pattern=a_shape"},
      {"xattention:thresholds=t.json,tau=0.5",
       "xattention: tau has no effect with thresholds=t.json"},
      {"duo:threshold=0.5", "duo: threshold has no effect without gates"},
      {"duo:gates=" + gates + ",threshold=0.5,sparsity=0.5",
       "duo: sparsity has no effect with threshold=0.5"},
      {"duo:sparsity=1,dense_options=vertical=9",
       "duo: dense_options has no effect with dense=full"},
      {"ltri:vote=false", "ltri: vote has no effect without heads"},
      {"ltri:query_rows=2", "ltri: query_rows has no effect with form=paper and queries=spans"},
      {"ltri:lambda=1/2,lambda_first=3",
       "ltri: lambda_first has no effect with form=paper and lambda=1/2"},
      {"ltri:form=longhaul,theta=0.9", "ltri: theta has no effect with form=longhaul"},
      {"ltri:form=longhaul,phi=0.2", "ltri: phi has no effect with form=longhaul"},
      {"ltri:form=longhaul,spans=2", "ltri: spans has no effect with form=longhaul"},
      {"ltri:form=longhaul,vectors=2", "ltri: vectors has no effect with form=longhaul"},
      {"ltri:form=longhaul,lambda=2", "ltri: lambda has no effect with form=longhaul"},
      {"ltri:form=longhaul,ratio=col", "ltri: ratio has no effect with form=longhaul"},
      {"ltri:form=longhaul,queries=rows", "ltri: queries has no effect with form=longhaul"},
      {"ltri:form=longhaul,index=mean", "ltri: index has no effect with form=longhaul"},
      {"ltri:form=longhaul,similarity=max", "ltri: similarity has no effect with form=longhaul"},
      {"reattention:recall=decode,prefill_topk=exact",
       "reattention: prefill_topk has no effect with recall=decode"},
      {"reattention:recall=prefill,bug_compat=true",
       "reattention: bug_compat has no effect with recall=prefill and k=4"},
  };
  const ModelShape shape = small_shape(1, 1, 1, 64);
  std::set<std::pair<std::string_view, std::string_view>> tried;
  for (const auto& c : cases) {
    EXPECT_EQ(error_of([&] { MethodSpec::parse(c.spec).make(shape); }), "--attention " + c.error);
    for (const MethodInfo& method : attention_methods()) {
      const OptionSet set = method.describe();
      for (const Option& option : set.list.options()) {
        if (c.error.find(fmt::format("{}: {} has", method.name, option.key)) == 0) {
          tried.insert({method.name, option.key});
        }
      }
    }
  }
  for (const MethodInfo& method : attention_methods()) {
    const OptionSet set = method.describe();
    for (const Option& option : set.list.options()) {
      EXPECT_EQ(tried.count({method.name, option.key}), option.only_with.empty() ? 0u : 1u)
          << method.name << " " << option.key << ": add a case";
    }
  }
}

TEST(Registry, OnNanoItsProfilesDecideWhatHasAnEffect) {
  ModelShape nano = small_shape(12, 3, 2, 64);
  nano.profile_prefix = std::string(LONGHAUL_MODELS) + "/nano/";
  const auto refused = [&](const char* spec) {
    return error_of([&] { MethodSpec::parse(spec).make(nano); });
  };
  for (const char* taken :
       {"ltri:form=longhaul", "ltri:decode=persistent,form=longhaul",
        "ltri:form=paper,queries=rows", "ltri:form=paper,lambda=1", "minference",
        "minference:vertical=9", "minference:dense_below=0",
        "minference:pattern=a_shape,patterns=", "duo", "duo:threshold=0.5", "reattention",
        "trianglemix:start_layer=6", "trianglemix:dense=minference"}) {
    EXPECT_NO_THROW(EXPECT_EQ(MethodSpec::parse(taken).for_model(nano).text(), taken));
    EXPECT_NO_THROW(MethodSpec::parse(taken).make(nano)) << taken;
  }
  EXPECT_EQ(MethodSpec::parse("ltri").for_model(nano).text(), "ltri:form=longhaul");
  EXPECT_EQ(refused("ltri:form=paper,queries=spans,query_rows=16"),
            "--attention ltri: query_rows has no effect with form=paper and queries=spans");
  EXPECT_EQ(refused("minference:pattern=a_shape"),
            fmt::format("--attention minference: pattern has no effect with patterns={}",
                        nano.profile_prefix + "minference_patterns.json"));
}

TEST(Registry, LtriWithoutLaterOptionsIsWhatOlderSessionsWereSavedWith) {
  // These were written into session files by a program without form= and index= (commit f475a1e).
  // Its n_local was 4096 where none was given.
  const struct {
    const char* spec;
    uint64_t fingerprint;
  } saved[] = {
      {"ltri:n_local=4096", 0x32c4f99c5697ecf6},
      {"ltri:n_local=4096,queries=rows", 0x3f9fdb501fbeb489},
      {"ltri:block=64,heads=5.0:0.77/8.4:0.78,n_init=64,n_local=512", 0xd3b498a74f636ae6},
      {"ltri:decode=refresh,heads=7.3:0.61,lambda=0,lambda_first=0,n_local=4096,queries=rows,"
       "query_rows=32,similarity=max,spans=1,theta=0,vectors=512",
       0xf4380597cab4e5f4}};
  for (const auto& [spec, fingerprint] : saved) {
    EXPECT_EQ(MethodSpec::parse(spec).fingerprint(), fingerprint) << spec;
  }
}

TEST(Registry, OptionsAreTakenWhereTheyHaveAnEffect) {
  const TempFolder folder;
  const std::string gates = folder.write("gates.tsv", "1\n").string();
  const ModelShape shape = small_shape(1, 1, 1, 64);
  for (const std::string& spec : std::vector<std::string>{
           "tova:mode=easykv,sink=9,recent=100,positions=cache",
           "h2o:sink=9,recent=100,stride=7,positions=cache", "h2o:mode=oneshot,recent=9",
           "ntk:mode=fixed,context=5000", "ntk:mode=hf,length=pass",
           "trianglemix:dense=minference,dense_options=patterns=search+search_at=9",
           "minference:patterns=search,search_at=9,pattern=blocks,last=9",
           "minference:pattern=a_shape,vertical=3,slash=4", "duo:gates=" + gates + ",threshold=0.5",
           "duo:gates=" + gates + ",sparsity=0.5", "ltri:heads=0.0,vote=false",
           "ltri:queries=rows,query_rows=2,lambda=1,lambda_first=3",
           "reattention:recall=prefill,k=2,bug_compat=true,prefill_topk=exact"}) {
    EXPECT_NO_THROW(MethodSpec::parse(spec).make(shape)) << spec;
  }
}

}  // namespace
}  // namespace longhaul
