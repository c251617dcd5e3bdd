// longhaul tokenize: a text's tokens.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/command.h"
#include "cli/find_or_pull.h"
#include "cli/json_output.h"
#include "cli/model_flags.h"
#include "cli/prompt_flags.h"
#include "cli/sandbox_flags.h"
#include "cli/standard_input.h"
#include "cli/table.h"
#include "documents/documents.h"
#include "engine/model_names.h"
#include "format/checkpoint.h"
#include "text/utf8.h"
#include "tokenizer/load_tokenizer.h"

namespace longhaul {
namespace {

struct TokenizeFlags {
  SandboxFlags sandbox;
  std::string model = default_model();
  std::string text;
  std::string file;
  bool text_given = false, file_given = false;  ///< an empty text also counts
  bool special = false;
  bool bare = false;
  bool shows_text = false;
  PageRanges pages;
  bool count = false;
  bool json = false;
};

/// Bytes that are neither printable ASCII nor part of valid UTF-8 are shown as \xNN, newlines as
/// \n.
std::string shown_piece(std::string_view piece) {
  std::string repaired;
  size_t broken = 0;
  repair_utf8(piece, repaired, &broken);
  std::string out;
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && broken > 0)) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

int run(TokenizeFlags flags) {
  if (!flags.file_given && (flags.text == "-" || (!flags.text_given && input_is_piped()))) {
    flags.file = "-";
    flags.file_given = true;
    flags.text_given = false;
  }
  if (flags.file_given && flags.text_given) {
    user_error("longhaul tokenize: give TEXT or -f FILE, not both");
  }
  if (!flags.file_given && !flags.text_given) {
    user_error("longhaul tokenize: nothing to do; give TEXT or -f FILE");
  }
  const std::string text = flags.text_given
                               ? flags.text
                               : read_document(flags.file, {text_limit(), 0, flags.pages}).text;
  if (flags.shows_text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return kExitOk;
  }
  const ModelSource source = find_or_pull(flags.model);
  flags.sandbox.enter({}, true);
  const Checkpoint checkpoint = open_checkpoint(source.path);
  const Tokenizer tokenizer = load_tokenizer(checkpoint);
  size_t replaced = 0;
  const auto ids = tokenizer.encode(
      text, {.add_special = !flags.bare, .parse_special = flags.special}, &replaced);
  if (flags.text_given) warn_replaced("TEXT", replaced);

  if (flags.json) {
    std::vector<std::string> pieces;
    for (const int32_t id : ids) pieces.emplace_back(tokenizer.piece(id));
    nlohmann::ordered_json json = {{"count", ids.size()}};
    if (!flags.count) {
      json["ids"] = ids;
      json["pieces"] = pieces;
    }
    print_json(json);
  } else if (flags.count) {
    fmt::print("{}\n", ids.size());
  } else {
    Table table({Table::Align::kRight});
    for (const int32_t id : ids) {
      table.add({std::to_string(id), "'" + shown_piece(tokenizer.piece(id)) + "'"});
    }
    std::fputs(table.text().c_str(), stdout);
  }
  return kExitOk;
}

}  // namespace

Command add_tokenize_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("tokenize", "A text's token ids and pieces");
  auto flags = std::make_shared<TokenizeFlags>();
  const CLI::Option* text = app->add_option("TEXT", flags->text, "The text")->type_name("");
  app->add_option("-m,--model", flags->model, "GGUF file, Hugging Face folder or name")
      ->type_name("MODEL")
      ->take_last()
      ->capture_default_str();
  app->add_option_function<std::string>(
         "--hf-repo", [flags](const std::string& name) { flags->model = "hf:" + name; },
         "A model of the hub; -hf for short")
      ->type_name("OWNER/REPO[:TYPE]")
      ->take_last();
  const CLI::Option* file =
      app->add_option("-f,--file", flags->file, "Read the text from a file, '-' for standard input")
          ->type_name("FILE")
          ->take_last();
  app->add_flag("--special", flags->special, "Recognise control tokens such as <|im_end|>");
  app->add_flag("--bare", flags->bare, "Add no BOS or EOS, whatever the model says");
  add_pages(*app, flags->pages);
  app->add_flag("--text", flags->shows_text,
                "Print the text of the file as the model would read it, not its tokens");
  app->add_flag("--count", flags->count, "Only print their number");
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  flags->sandbox.add_to(*app);
  app->footer(
      "Examples:\n"
      "  longhaul tokenize -m smollm2 'Hello, world'\n"
      "  longhaul tokenize -m nano -f book.txt --count");
  return {app, [flags, text, file] {
            flags->text_given = text->count() > 0;
            flags->file_given = file->count() > 0;
            return run(*flags);
          }};
}

}  // namespace longhaul
