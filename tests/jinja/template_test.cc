// Templates compared with jinja2's output, and hostile templates.

#include "jinja/template.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/cpu_limit.h"
#include "base/error_of.h"
#include "jinja/clock.h"
#include "jinja/json.h"
#include "jinja/substrings.h"

namespace longhaul::jinja {
namespace {

using nlohmann::ordered_json;
using testing_support::error_of;
using testing_support::has;

std::string read(const std::string& name) {
  std::ifstream in(std::string(LONGHAUL_TEST_DATA) + "/" + name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

String render(const std::string& source, const ordered_json& given = ordered_json::object(),
              bool clock = false) {
  Variables variables;
  for (const auto& [name, value] : given.items()) variables[name] = from_json(value);
  if (clock) variables["strftime_now"] = strftime_now(day(2024, 7, 26), true);
  return Template(source, "test").render(variables, given.dump().size());
}

std::string text_of(const std::string& source, const ordered_json& given = ordered_json::object()) {
  return std::string(render(source, given).bytes());
}

/// Adds the default variables that golden.json omits.
ordered_json with_defaults(ordered_json variables) {
  for (const char* name : {"tools", "documents"}) {
    if (!variables.contains(name)) variables[name] = nullptr;
  }
  variables["bos_token"] = "<BOS>";
  variables["eos_token"] = "<EOS>";
  return variables;
}

TEST(Template, ModelsTemplatesRenderAsInJinja2) {
  const ordered_json golden = ordered_json::parse(read("tokenizer/chat/golden.json"));
  size_t checked = 0;
  for (const auto& [name, expected] : golden["expected"].items()) {
    const std::string source = read("tokenizer/chat/" + name + ".jinja");
    for (const auto& [conversation, variables] : golden["conversations"].items()) {
      SCOPED_TRACE(name + " " + conversation);
      ordered_json text = expected[conversation];
      if (text.is_object()) text = expected[text["as"].get<std::string>()];
      const auto run = [&, given = with_defaults(variables)] {
        return render(source, given, true);
      };
      if (text.is_null()) {
        EXPECT_THROW(run(), UserError);
      } else {
        EXPECT_EQ(run().bytes(), text.get<std::string>());
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 1000u);
}

/// Expressions, statements and white space as in chat templates, random and handwritten.
TEST(Template, SmallTemplatesRenderAsInJinja2) {
  size_t checked = 0;
  for (const auto& entry : ordered_json::parse(read("jinja/golden.json"))) {
    const std::string source = entry["template"];
    SCOPED_TRACE(source);
    const auto run = [&] { return render(source, entry["variables"], true); };
    if (entry["expected"].is_null()) {
      EXPECT_THROW(run(), UserError);
    } else {
      EXPECT_EQ(run().bytes(), entry["expected"].get<std::string>());
    }
    ++checked;
  }
  EXPECT_GT(checked, 300u);
}

/// Bytes from variables stay marked after any operation.
TEST(Template, StringsRememberWhatWasGiven) {
  const auto marked = [](const std::string& source) {
    const String text = render(source, {{"x", "abc"}, {"l", {"p", "q"}}, {"d", {{"k", "v\n"}}}});
    std::string out;
    size_t begin = 0;
    for (const String::Run& run : text.runs()) {
      const std::string part(text.bytes().substr(begin, run.end - begin));
      out += run.origin == Origin::kGiven ? "<" + part + ">" : part;
      begin = run.end;
    }
    return out;
  };
  EXPECT_EQ(marked("a{{ x }}b"), "a<abc>b");
  EXPECT_EQ(marked("{{ 'a' + x ~ 1 }}"), "a<abc>1");
  EXPECT_EQ(marked("{{ ('a' ~ x ~ 'b')[1:3] }}{{ ('-' ~ x)[::-1] }}"), "<abcba>-");
  EXPECT_EQ(marked("{{ (' ' ~ x ~ ' ') | trim | upper | replace('B', '-') }}"), "<A>-<C>");
  EXPECT_EQ(marked("{{ x.split('b') | join('|') }}{{ l | join(',') }}"), "<a>|<cp>,<q>");
  EXPECT_EQ(marked("{{ d | tojson }}{{ d }}{{ l | tojson(indent=1) }}"),
            "{\"<k>\": \"<v\\n>\"}{'<k>': '<v\\n>'}[\n \"<p>\",\n \"<q>\"\n]");
  EXPECT_EQ(marked("{{ '%s!' % x }}{{ '{}!'.format(x) }}{% set y %}({{ x }}){% endset %}{{ y }}"),
            "<abc>!<abc>!(<abc>)");
  EXPECT_EQ(marked("{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(x) | length }}{{ m(x) }}"),
            "5[<abc>]");
  EXPECT_EQ(marked("{% if x == 'abc' and 'b' in x %}same{% endif %}"), "same");
  EXPECT_EQ(marked("{{ 'a<' | safe + x }}{{ x | e }}"), "a<<abcabc>");
}

TEST(Template, HostileTemplatesEndWithOneLine) {
  const auto nested = [](char open, char close) {
    return "{{ " + std::string(5000, open) + "1" + std::string(5000, close) + " }}";
  };
  std::string sum = "1";
  for (int i = 0; i < 5000; ++i) sum += "+1";
  std::string ifs;
  for (int i = 0; i < 200; ++i) ifs += "{% if true %}";
  const std::string long_name(300'000, 'm');
  const auto often = [](const std::string& expression) {
    return "{% for i in range(100000) %}{% set y = " + expression + " %}{% endfor %}";
  };
  const auto search = [&](const std::string& expression) {
    return "{% set a = 'a' * 1000000 %}{% set b = 'a' * 500000 ~ 'b' %}"
           "{% set c = 'b' ~ 'a' * 500000 %}" +
           often(expression);
  };
  const auto kept = [](const std::string& expression) {
    return "{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = ns.l + [" +
           expression + "] %}{% endfor %}";
  };
  struct Hostile {
    std::string source;
    const char* says;
  };
  const Hostile all[] = {
      {"{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", "steps"},
      {"{% for a in range(1000000) %}{% endfor %}", "100000 items"},
      {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested deeper"},
      {"{{ 'x' * 1000000000 }}", "a text of more than"},
      {"{{ 'x' * 9000000000000000000 }}", "too long"},
      {"{{ [1] * 100000000 }}", "steps"},
      {"{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}"
       "{% endfor %}",
       "a text of more than"},
      {"{% for i in range(100000) %}{{ 'some text that is written very often' }}{% endfor %}",
       "a text of more than"},
      {"{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = [ns.l] %}{% endfor "
       "%}",
       "nested deeper than"},
      {"{% set ns = namespace() %}{% set ns.a = ns %}{{ ns.a.a.a.b.c }}", "has no attribute"},
      {"{% for x in [1] recursive %}{{ loop([x]) }}{% endfor %}", "nested deeper than"},
      {nested('(', ')'), "nested deeper than"},
      {nested('[', ']'), "nested deeper than"},
      {"{{ " + sum + " }}", "too long"},
      {ifs, "nested deeper than"},
      {"{{ 9223372036854775807 + 1 }}", "out of range"},
      {"{{ 99999999999999999999 }}", "out of range"},
      {"{{ 10 ** 100 }}", "out of range"},
      {"{{ (-9223372036854775807 - 1) // -1 }}", "out of range"},
      {"{{ '%9999999d' % 1 }}", "out of range"},
      {"{{ 'x'.center(99999999999) }}", "a text of more than"},
      {"{{ 'x' | indent(99999999999) }}", "a text of more than"},
      {"{{ x.y.z }}", "'x' is undefined"},
      {"{% include 'a' %}", "'include' is not supported"},
      {"{{ [].append(1) }}", "unsafe"},
      {"{{ 1 | nothing }}", "no filter named 'nothing'"},
      {"{{ 1 is nothing }}", "no test named 'nothing'"},
      {"{{ 'a", "does not end"},
      // Searches whose time would be the product of both lengths.
      {search("b in a"), "steps"},
      {search("a.find(b)"), "steps"},
      {search("a.rfind(c)"), "steps"},
      {search("a.count(b)"), "steps"},
      {search("a.split(b)"), "steps"},
      {search("a.rsplit(c)"), "steps"},
      {search("a.rpartition(c)"), "steps"},
      {search("a | replace(b, 'x')"), "steps"},
      // Formats that make much of little.
      {often("'%9999s' % 1"), "steps"},
      {often("'%.9999f' % 1.5"), "steps"},
      {often("'{:,.9999f}'.format(1.5)"), "steps"},
      {"{% set x = '1' * 1000000 %}" + often("x | int"), "steps"},
      // Values that stay in memory: texts of many runs, lists, names, objects.
      {kept("('b' ~ given[:1]) * 400000 ~ i"), "holds more than 671"},
      {kept("range(100000)"), "holds more than 671"},
      {kept("[1] * 100000"), "holds more than 671"},
      {kept("('x' * 100000) | list"), "holds more than 671"},
      {kept("namespace(**{'k' * 900000 ~ i: 1})"), ""},
      {kept(std::string(300'000, 'q')), ""},
      {"{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% macro " + long_name +
           "() %}{% endmacro %}{% set ns.l = ns.l + [" + long_name + "] %}{% endfor %}",
       "holds more than 671"},
      {"{% raw %}", "'endraw' is missing"},
      {"{{ ''.__class__ }}{{ ''.__class__.__mro__ }}", "has no attribute"},
  };
  for (const Hostile& hostile : all) {
    SCOPED_TRACE(hostile.source.substr(0, 80));
    const std::string error = error_of([&] { render(hostile.source, {{"given", "text"}}); });
    EXPECT_TRUE(has(error, {"test", "line 1", hostile.says}));
  }
  EXPECT_TRUE(has(error_of([] { render(std::string(2 << 20, 'x')); }), {"test has 2097152 bytes"}));
}

TEST(Template, ProcessorTimeIsLimited) {
  CpuLimit::scale(0.001);
  EXPECT_TRUE(has(error_of([] {
                    render(
                        "{% for i in range(100000) %}{% for j in range(90) %}{% endfor %}"
                        "{% endfor %}");
                  }),
                  {"test", "10 s of processor time"}));
  CpuLimit::scale(1);
}

TEST(Template, SearchesFindWhatTheLibraryFinds) {
  uint32_t state = 1;
  const auto random = [&](uint32_t most) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % most;
  };
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random(40), 'a'), part(random(6), 'a');
    for (char& c : text) c = static_cast<char>('a' + random(2));
    for (char& c : part) c = static_cast<char>('a' + random(2));
    const size_t from = random(45);
    EXPECT_EQ(find_bytes(text, part, from), text.find(part, from)) << text << " " << part;
    EXPECT_EQ(find_last_bytes(text, part), text.rfind(part)) << text << " " << part;
  }
}

TEST(Template, LoopsThatHoldThemselvesAreLetGo) {
  // The address sanitizer reports leaks.
  EXPECT_EQ(text_of("{% set ns = namespace() %}{% for x in [1, 2] %}{% set ns.l = loop %}"
                    "{% macro f() %}{{ x }}{% endmacro %}{% set ns.f = f %}{% set ns.n = [ns] %}"
                    "{% endfor %}{{ ns.f() }}"),
            "2");
}

TEST(Template, BrokenUtf8PassesThrough) {
  Variables variables;
  variables["x"] = Value::text("a\xFF\xE2\x82", Origin::kGiven);
  const Template source("{{ x }}{{ x[::-1] | length }}{{ x | trim | upper }}", "test");
  EXPECT_EQ(source.render(variables, 4).bytes(),
            "a\xFF\xE2\x82"
            "3A\xFF\xE2\x82");
}

}  // namespace
}  // namespace longhaul::jinja
