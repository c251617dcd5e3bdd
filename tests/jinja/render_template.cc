// Renders templates for tools/compare_templates.py. A line of standard input is a JSON object with
// a template and its variables. The output line has the rendered text and the byte ranges [begin,
// end) that came from variables, or the error.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "jinja/clock.h"
#include "jinja/json.h"
#include "jinja/template.h"

namespace {

using namespace longhaul;
using nlohmann::ordered_json;

ordered_json rendered(const ordered_json& task) {
  jinja::Variables variables;
  for (const auto& [name, value] : task["variables"].items()) {
    variables[name] = jinja::from_json(value);
  }
  variables["strftime_now"] = jinja::strftime_now(jinja::day(2024, 7, 26), true);
  const jinja::Template source(task["template"].get<std::string>(), "template");
  const jinja::String text = source.render(variables, task["variables"].dump().size());
  ordered_json given = ordered_json::array();
  size_t begin = 0;
  for (const jinja::String::Run& run : text.runs()) {
    if (run.origin == jinja::Origin::kGiven) given.push_back({begin, run.end});
    begin = run.end;
  }
  return {{"text", text.bytes()}, {"given", given}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    ordered_json answer;
    try {
      answer = rendered(ordered_json::parse(line));
    } catch (const UserError& error) {
      answer = {{"error", error.what()}};
    }
    std::cout << answer.dump(-1, ' ', true, ordered_json::error_handler_t::replace) << std::endl;
  }
}
