#include "cli/prompt_flags.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest_name.h"
#include "base/paths.h"
#include "cli/flags.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Empty for a known name or a file.
std::string chat_template_problem(const std::string& text) {
  const std::vector<std::string_view> names = chat_template_names();
  if (std::find(names.begin(), names.end(), text) != names.end() || is_file(text)) return "";
  const std::vector<std::string> known(names.begin(), names.end());
  return fmt::format("{} is no file and none of {}{}", printable(text), fmt::join(names, ", "),
                     nearest_name_hint(text, known));
}

}  // namespace

void add_prompt_form(CLI::App& app, PromptForm& form) {
  add_path(app, "--chat-template", form.chat_template, "NAME|FILE",
           "Use this template (docs/cli.md lists the names) or Jinja file, not the model's own")
      ->check(chat_template_problem)
      ->group(kPromptFormGroup);
  app.add_flag("--raw", form.raw, "No chat template: the model continues the bare text")
      ->group(kPromptFormGroup);
}

void add_pages(CLI::App& app, PageRanges& pages) {
  app.add_option_function<std::string>(
         "--pages", [&pages](const std::string& text) { pages = PageRanges::parse(text); },
         "Read these pages of a PDF only: 5-10 or 1,4-6,12-")
      ->type_name("PAGES")
      ->take_last();
}

void PromptFlags::add_to(CLI::App& app) {
  app.add_option("-f,--file", files,
                 "Texts to read, '-' for standard input; may be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_pages(app, pages);
  const auto once = CLI::MultiOptionPolicy::Throw;  // the other texts would be lost silently
  add_text(app, "-p,--prompt", question, "TEXT", "The question; it follows the texts")
      ->multi_option_policy(once);
  add_text(app, "--system", system, "TEXT", "System message")
      ->multi_option_policy(once)
      ->group(kPromptFormGroup);
  add_prompt_form(app, form);
  app.add_flag("--template-clock", template_clock, "Give the chat template today's date")
      ->group(kPromptFormGroup);
}

}  // namespace longhaul
