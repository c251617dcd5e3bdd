#include "cli/session_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/part_file.h"
#include "base/units.h"
#include "cli/own_command.h"
#include "text/printable.h"

namespace longhaul {
namespace {

constexpr const char* kSaveWithQuestion =
    "save with the question (-p) that the file is to serve, or with --attention dense for any";

/// Warns if the file holds only a part of its text.
void warn_incomplete(const SessionAbout& about, const std::filesystem::path& file) {
  if (!about.incomplete()) return;
  warn(
      "--load {}: holds only the first {} of {} tokens of its text, and replies are about these; "
      "add {} to prefill the rest",
      file.string(), with_commas(about.held), with_commas(about.whole),
      about.reads.empty() ? "-f and the text" : about.reads);
}

}  // namespace

void check_save_target(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code ignored;
  int error = 0;
  if (fs::is_directory(file, ignored)) {
    error = EISDIR;
  } else if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored)) {
    user_error("--save {}: cannot write: not a regular file", file.string());
    // "/.": fails if it is a file instead of a folder
  } else if (access((folder / ".").c_str(), W_OK) != 0) {
    error = errno;
  } else if (fs::exists(file, ignored) && fs::file_size(file, ignored) > 0 &&
             !is_session_file(file)) {
    user_error("--save {}: is there already and is no session file", file.string());
  } else if (file.filename().string().size() + kPartNameBytes > NAME_MAX) {
    error = ENAMETOOLONG;
  }
  if (error != 0) user_error("--save {}: cannot write: {}", file.string(), std::strerror(error));
}

bool warn_other_text(const Sequence& session, std::span<const int32_t> prompt,
                     const std::filesystem::path& file) {
  const std::span<const int32_t> held = session.tokens();
  if (held.empty()) return false;
  const auto shared =
      std::mismatch(held.begin(), held.end(), prompt.begin(), prompt.end()).first - held.begin();
  const auto all = static_cast<int64_t>(held.size());
  if (2 * shared >= all) return false;
  warn(
      "--load {}: only the first {} of its {} tokens begin this prompt: is it of another text? "
      "The rest is prefilled again",
      file.string(), with_commas(shared), with_commas(all));
  return true;
}

void warn_chosen_without_question(const Session& session, const std::filesystem::path& file) {
  const PromptChoice choice = session.sequence().method().prompt_choice();
  if (choice != PromptChoice::kByLastRow && choice != PromptChoice::kAtEnd) return;
  warn("--save {}: {} chooses by the end of a text what it keeps, and there is no question: {}",
       file.string(), session.options().attention.text(), kSaveWithQuestion);
}

void warn_read_anew(const Sequence& session, const std::filesystem::path& file) {
  const bool serves_any = serves_any_question(session.method().prompt_choice());
  warn(
      "--load {}: {} cannot go back to where this prompt differs from the saved one, so all of it "
      "was prefilled again; {}",
      file.string(), session.options().attention.text(),
      serves_any ? "saved without a question (-n 0 --save FILE, no -p) it serves any"
                 : kSaveWithQuestion);
}

LoadedSession load_session(const std::string& file, const PromptFlags& prompt, Sequence& sequence) {
  LoadedSession loaded;
  sequence.load(file);
  loaded.about = read_about(file);
  if (!prompt.files.empty()) return loaded;
  warn_incomplete(loaded.about, file);
  if (prompt.form.raw) return loaded;  // the bare text continues
  LoadedText text = text_of_loaded(sequence, prompt, file);
  loaded.question = std::move(text.left_out);
  loaded.documents = split_loaded_text(text.text, loaded.about, "the text in " + file);
  return loaded;
}

SessionAbout about_to_save(const std::string& model, const PromptFlags& prompt,
                           const std::vector<Document>& documents, const SessionAbout& loaded) {
  SessionAbout about;
  if (prompt.files.empty()) about = loaded;
  about.model = model;
  if (prompt.files.empty()) return about;
  std::vector<std::string> words;
  for (const std::string& file : prompt.files) words.insert(words.end(), {"-f", file});
  if (!prompt.pages.all()) words.insert(words.end(), {"--pages", prompt.pages.text()});
  about.reads = shell_words(words);
  about.texts = saved_texts(documents);
  return about;
}

void check_save_space(const Session& session, int64_t tokens, const std::filesystem::path& file) {
  const auto method = session.options().attention.make(session.engine().model().shape);
  if (method->forgets()) return;
  const int64_t more = std::max<int64_t>(0, tokens - std::ssize(session.tokens()));
  const size_t bytes = session.forecast(more).kv;
  const std::filesystem::path folder =
      file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || space.available >= bytes) return;
  user_error("--save {}: about {} are needed for {} tokens, and {} are free there", file.string(),
             format_bytes(bytes), with_commas(tokens), format_bytes(space.available));
}

void save_session(const Session& session, const std::filesystem::path& file, int64_t tokens,
                  SessionAbout about, bool quiet) {
  const auto held = std::ssize(session.tokens());
  if (held < tokens) {
    about.held = held;
    about.whole = tokens;
  }
  save_with_about(session.sequence(), file, about);
  if (quiet) return;
  std::error_code ignored;
  std::string line =
      fmt::format("written: {}, {}, {} tokens", one_line(file.string()),
                  format_bytes(std::filesystem::file_size(file, ignored)), with_commas(held));
  if (held < tokens) {
    line += fmt::format(" of {}; this goes on:\n  {}", with_commas(tokens),
                        one_line(command_with({"--load", file.string()})));
  } else if (about.incomplete()) {
    line += fmt::format("; {} of the text's {} tokens", with_commas(about.held),
                        with_commas(about.whole));
  }
  std::fputs((line + "\n").c_str(), stderr);
}

}  // namespace longhaul
