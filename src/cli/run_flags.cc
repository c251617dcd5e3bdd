#include "cli/run_flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/paths.h"
#include "cli/catalogue.h"
#include "cli/document_word.h"
#include "cli/flags.h"
#include "cli/session_files.h"
#include "cli/standard_input.h"
#include "engine/model_names.h"
#include "hub/model_reference.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Whether it names a model, local or downloadable (cli/find_or_pull.h); nothing is downloaded yet.
bool names_model(const std::string& word) {
  if (parse_reference(word) || find_in_catalogue(word)) return true;
  try {
    find_model_source(word);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

bool is_whole_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

/// Whether it is a file, and not a word of a question that happens to be a file's name.
bool looks_like_file(const std::string& word) {
  return word.find_first_of("./") != std::string::npos && is_file(word);
}

bool looks_like_question(const std::string& word) {
  return word.find(' ') != std::string::npos || word.ends_with('?');
}

/// Refuses to answer if -f names files without any text. An empty pipe only causes a warning,
/// because a script may run the program with one unintentionally.
void check_texts(const std::vector<std::string>& files, const std::vector<Document>& documents) {
  const auto blank = [](const Document& d) { return is_blank(d.text); };
  const bool named = std::ranges::find(files, "-") == files.end();
  if (named && !documents.empty() && std::ranges::all_of(documents, blank)) {
    user_error("{}: there is no text in it", documents.front().name);
  }
  for (const Document& document : documents) {
    if (blank(document)) warn("{}: there is no text in it", document.name);
  }
}

}  // namespace

void RunFlags::add_to(CLI::App& app) {
  app_ = &app;
  app.add_option("words", words_, "A model and a question, as -m and -p give them")
      ->type_name("[MODEL [QUESTION]]");
  model.add_to(app);
  prompt.add_to(app);
  app.add_flag("-i,--interactive", interactive, "Chat: ask further questions, with line editing");
  sampling.add_to(app);
  constraint.add_to(app);
  session.add_to(app);
  const std::string group = "Session files";
  add_path(app, "--save", save, "FILE", "Store the keys and values of the prompt")->group(group);
  add_path(app, "--load", load, "FILE",
           "Continue from a saved file: only the rest of the prompt is prefilled. Without -f the "
           "question is about its text")
      ->group(group);
  add_path(app, "--questions", questions, "FILE",
           "Ask each line of it about the texts, which are prefilled once; '-' for standard input");
  app.add_flag("--sources{3}", sources,
               "Show the passages that the reply drew on, after it; --sources=N: at most N");
  app.add_flag("--json", json, "One JSON object on standard output instead of the text");
  app.add_flag("-q,--quiet", quiet, "No report, no progress bar");
  sandbox.add_to(app);
}

void RunFlags::take_words() {
  if (words_.empty()) return;
  const std::string& front = words_.front();
  if (app_->get_option("--sources")->count() > 0 && is_whole_number(front)) {
    user_error("longhaul run: --sources {0}: write --sources={0}", front);
  }
  if (is_document_file(front)) {
    user_error("longhaul run: {} is a document: put -f before it", front);
  }
  for (const std::string& word : std::span(words_).subspan(1)) {
    if (looks_like_file(word)) user_error("longhaul run: {} is a file: put -f before it", word);
  }
  const auto unexpected = [this](const std::string& why) {
    if (prompt.question.empty() && looks_like_question(words_.front())) {
      user_error("longhaul run: put -p before the question: -p {}", printable(words_.front()));
    }
    user_error(
        "longhaul run: unexpected argument {}: {}; put -p before the question, in quotes, and -f "
        "before each text",
        printable(words_.front()), why);
  };
  const bool model_named =
      app_->get_option("--model")->count() > 0 || app_->get_option("--hf-repo")->count() > 0;
  const bool no_question = words_.size() == 1 && !looks_like_question(front);
  if (model_named && (!prompt.question.empty() || looks_like_file(front) || no_question)) {
    unexpected(fmt::format("the model is given by {}{}",
                           app_->get_option("--hf-repo")->count() > 0 ? "-hf" : "-m",
                           prompt.question.empty() ? "" : ", the question by -p"));
  }
  if (words_.size() > 1 && !prompt.question.empty()) unexpected("the question is given by -p");
  if (!model_named && !names_model(front)) {
    unexpected("no model of this name is at hand ('longhaul models')" +
               catalogue_hint(words_.front()));
  }
  if (!model_named) model.model = front;
  for (const std::string& word : std::span(words_).subspan(model_named ? 0 : 1)) {
    prompt.question += (prompt.question.empty() ? "" : " ") + word;
  }
}

/// Piped input is a text, unless others are given: a loop reading the same input would lose it.
void RunFlags::take_input() {
  if (interactive || !questions.empty()) return;
  if (!prompt.files.empty() || !load.empty()) {
    if (std::count(prompt.files.begin(), prompt.files.end(), "-") == 0) warn_unread_input();
    return;
  }
  if (input_is_piped()) {
    wait_for_piped_text(quiet);
    prompt.files.emplace_back("-");
  } else if (prompt.question.empty() && isatty(STDIN_FILENO) == 1 && !json) {
    interactive = true;
  }
}

void RunFlags::check_questions() const {
  const auto refuse = [&](std::string_view flag, std::string_view why) {
    user_error("--questions {}: does not go with {}, {}", questions, flag, why);
  };
  if (interactive) refuse("-i", "which reads your questions");
  if (!save.empty()) refuse("--save", "since each question leaves a context of its own");
  if (!load.empty() && prompt.form.raw) refuse("--raw and --load", "which continue one text");
  if (!prompt.question.empty()) refuse("-p", "which is one question");
  if (sampling.max_tokens == 0) refuse("-n 0", "which leaves nothing to answer");
  if (prompt.files.empty() && load.empty()) {
    user_error("--questions {}: needs a text (-f), or a session file (--load)", questions);
  }
  if (questions == "-" && std::ranges::count(prompt.files, "-") > 0) {
    user_error("--questions -: standard input can be read once, and -f - reads it");
  }
}

void RunFlags::check() const {
  if (interactive && json) user_error("--json: does not go with -i");
  if (sources > 1000) user_error("--sources={}: from 1 to 1,000 passages", sources);
  if (sources < 0) user_error("--sources=N: from 1 to 1,000 passages");
  if (interactive && prompt.form.raw)
    user_error("--raw: does not go with -i, a chat needs a template");
  if (!questions.empty()) check_questions();
  prompt.check();
  const auto from_stdin = std::count(prompt.files.begin(), prompt.files.end(), "-");
  if (interactive && from_stdin > 0)
    user_error("-f -: does not go with -i, which reads your lines");
  if (from_stdin > 1) user_error("-f -: standard input can be read once, not {} times", from_stdin);
  if (!interactive && prompt.files.empty() && prompt.question.empty() && load.empty() &&
      questions.empty()) {
    refuse_empty_prompt();
  }
  if (!save.empty()) check_save_target(save);
}

/// Plain `run` does not answer with the test model.
void RunFlags::take_default_model() {
  const bool named = !words_.empty() || app_->get_option("--model")->count() > 0 ||
                     app_->get_option("--hf-repo")->count() > 0;
  if (!named) model.model = chat_model();
}

bool RunFlags::names_attention() const { return app_->get_option("--attention")->count() > 0; }

void RunFlags::settle() {
  take_words();
  take_default_model();
  take_input();
  check();
  constraint.settle();
}

std::vector<Document> RunFlags::read_texts(const TextLimit& limit, size_t memory) const {
  if (!prompt.pages.all() && prompt.files.empty()) user_error("--pages: needs a text (-f)");
  std::vector<Document> documents = read_documents(prompt.files, {limit, memory, prompt.pages});
  if (!prompt.question.empty() || !questions.empty()) check_texts(prompt.files, documents);
  return documents;
}

}  // namespace longhaul
