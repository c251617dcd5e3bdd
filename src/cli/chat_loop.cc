#include "cli/chat_loop.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "cli/command.h"
#include "cli/compat_flag_table.h"
#include "cli/message.h"
#include "cli/session_files.h"
#include "cli/session_flags.h"
#include "cli/source_report.h"
#include "documents/documents.h"
#include "text/printable.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

constexpr const char* kHelp =
    "/clear forgets the conversation, /sources shows where replies come from, /help "
    "shows "
    "this, /quit, /bye or Ctrl-D ends the chat.\n"
    "\"\"\" begins a message of several lines, which ends with \"\"\"; pasted lines are one "
    "message.\n"
    "Ctrl-C stops a reply and clears a half-typed line; on an empty line it ends the chat.\n";

const ChatCompatFlag* compat_flag_of(std::string_view said) {
  const std::string_view word = said.substr(0, said.find(' '));
  const auto found = std::ranges::find(chat_compat_flags(), word, &ChatCompatFlag::name);
  return found == chat_compat_flags().end() ? nullptr : &*found;
}

/// "/word", or a command of other chats with words after it; a question or a path contains more.
bool is_command(std::string_view said) {
  return said == "/?" || compat_flag_of(said) != nullptr ||
         (said.size() > 1 && said[0] == '/' &&
          said.find_first_not_of("abcdefghijklmnopqrstuvwxyz", 1) == std::string_view::npos);
}

/// "exit" and "quit" alone end a chat as they end shells and other programs.
bool ends_chat(std::string_view said) {
  constexpr std::string_view kWords[] = {"/quit", "/exit", "/bye", "exit", "quit"};
  return std::ranges::find(kWords, said) != std::end(kWords);
}

class Chat {
 public:
  Chat(Session& session, const PromptFlags& prompt, const std::vector<Document>& documents,
       const ChatOptions& options, Interrupt& interrupt)
      : session_(session),
        prompt_(prompt),
        documents_(documents),
        texts_(texts_of(documents)),
        options_(options),
        interrupt_(interrupt),
        followed_(session),
        sources_(options.sources),
        chat_(prompt.template_of(session.engine())) {}

  int run() {
    if (isatty(STDIN_FILENO) == 1 && !options_.quiet) {
      std::fputs(("A chat with " + one_line(options_.model) + ".\n" + kHelp).c_str(), stderr);
    }
    if (!prompt_.question.empty()) {
      answer(prompt_.question);
    } else if (!documents_.empty()) {
      read_ahead();
    }
    for (;;) {
      interrupt_.flag().clear();
      const std::optional<std::string> line = read_message(interrupt_.flag());
      if (!line) {
        if (isatty(STDIN_FILENO) == 1) std::fputs("\n", stdout);
        return interrupt_.requested() ? kExitCancelled : kExitOk;
      }
      const std::string_view said = trim_back(trim_front(*line));
      if (ends_chat(said)) return kExitOk;
      if (is_command(said)) {
        obey(said);
      } else if (!said.empty()) {
        answer(*line);
      }
    }
  }

 private:
  void obey(std::string_view command) {
    if (command == "/help" || command == "/?") {
      std::fputs(kHelp, stderr);
    } else if (command == "/sources") {
      toggle_sources();
    } else if (command == "/clear") {
      context_.clear();
    } else if (const ChatCompatFlag* compat_flag = compat_flag_of(command);
               compat_flag != nullptr) {
      std::fputs(fmt::format("{}: {}\n", compat_flag->name, compat_flag->text).c_str(), stderr);
    } else {
      std::fputs(fmt::format("unknown command {}; /help lists them\n", command).c_str(), stderr);
    }
  }

  void show_sources(std::span<const int32_t> reply) {
    const FoundSources found =
        followed_.find(context_, documents_, reply, options_.turn.generate.starts_text,
                       static_cast<size_t>(sources_));
    std::fputs(sources_text(found, documents_).c_str(), stdout);
    std::fflush(stdout);
  }

  void toggle_sources() {
    constexpr int kUsual = 3;
    if (documents_.empty()) {
      std::fputs("no sources: the chat has no texts (-f)\n", stderr);
    } else if (sources_ > 0) {
      sources_ = 0;
      std::fputs("sources are no longer shown\n", stderr);
    } else {
      sources_ = options_.sources > 0 ? options_.sources : kUsual;
      std::fputs("sources are shown from the next reply on; /sources again turns them off\n",
                 stderr);
    }
  }

  /// Prefills documents while the user types the first question, unless the method selects by the
  /// question.
  void read_ahead() {
    const Engine& engine = session_.engine();
    const auto method = session_.options().attention.make(engine.model().shape);
    if (!serves_any_question(method->prompt_choice())) return;
    TurnOptions reading = options_.turn;
    reading.generate.max_tokens = 0;
    const std::vector<int32_t> tokens = compose_before_question(prompt_, texts_, engine);
    tell_of(read(tokens, 0, reading));
  }

  RunFacts read(const std::vector<int32_t>& tokens, int64_t instruction, const TurnOptions& turn) {
    if (!warned_) {
      warned_ = warn_beyond_training(session_.engine(), session_.options(),
                                     static_cast<int64_t>(tokens.size()));
    }
    const bool loaded = !compared_ && !session_.tokens().empty();
    compared_ = true;  // after the first turn the session belongs to this conversation
    const bool other = loaded && warn_other_text(session_.sequence(), tokens, options_.loaded);
    RunFacts facts = run_turn(session_, tokens, instruction, turn, interrupt_);
    if (loaded && !other && facts.reading.reused == 0)
      warn_read_anew(session_.sequence(), options_.loaded);
    facts.model = options_.model;
    facts.texts = text_facts(documents_);
    return facts;
  }

  /// Reports documents and stopped prefills in full, and a turn in one line.
  void tell_of(const RunFacts& facts) {
    if (options_.quiet) return;
    const bool in_full = !facts.reading.finished || (!documents_.empty() && !told_of_documents_);
    told_of_documents_ = told_of_documents_ || facts.reading.finished;
    std::fputs((in_full ? run_report(facts, session_) : turn_report(facts, session_)).c_str(),
               stderr);
    if (!facts.reading.finished) {
      std::fputs("the next question prefills the rest first; Ctrl-C stops it again\n", stderr);
    }
    const std::string& note = session_.engine().note();
    if (!facts.replied || in_full || note.empty() || told_note_) return;
    std::fputs(("note: " + note + "\n").c_str(), stderr);
    told_note_ = true;
  }

  void answer(const std::string& text) {
    const std::vector<int32_t> before = context_;
    try {
      const int64_t instruction = append_user(text);
      const bool follows = sources_ > 0 && !documents_.empty();
      if (follows) followed_.begin(std::ssize(context_));
      const RunFacts facts = read(context_, instruction, options_.turn);
      if (follows && facts.replied) show_sources(facts.reply.tokens);
      tell_of(facts);
      if (!facts.reading.finished) {  // the next turn continues where the prefill stopped
        context_ = before;
        return;
      }
      context_.insert(context_.end(), facts.reply.tokens.begin(), facts.reply.tokens.end());
      reply_closed_ = facts.reply.stop == StopReason::kEndOfReply;
      // too long, or out of memory: the conversation continues without it
    } catch (const UserError& error) {
      context_ = before;
      std::fprintf(stderr, "error: %s\n", one_line(error.what()).c_str());
    }
  }

  /// Adds the turn to the context. Returns the number of its tokens.
  int64_t append_user(const std::string& text) {
    const Engine& engine = session_.engine();
    if (context_.empty()) {
      PromptFlags flags = prompt_;
      flags.question = text;
      PromptTokens prompt = compose_prompt(flags, texts_, engine);
      context_ = std::move(prompt.tokens);
      return prompt.instruction;
    }
    size_t replaced = 0;
    const std::optional<std::string> system =
        prompt_.system.empty() ? std::nullopt : std::optional(prompt_.system);
    const auto turn =
        further_turn_tokens(engine.tokenizer(), chat_, text, system, reply_closed_, &replaced);
    warn_replaced("the question", replaced);
    context_.insert(context_.end(), turn.begin(), turn.end());
    return static_cast<int64_t>(turn.size());
  }

  Session& session_;
  const PromptFlags& prompt_;
  const std::vector<Document>& documents_;
  const std::vector<std::string> texts_;
  const ChatOptions& options_;
  Interrupt& interrupt_;
  ReplySources followed_;
  int sources_;  ///< passages to show after each reply; 0: none
  ChatTemplate chat_;
  std::vector<int32_t> context_;  ///< the conversation; the session may hold only a part of it
  bool reply_closed_ = true;
  bool warned_ = false;    ///< about the trained length; once is enough
  bool compared_ = false;  ///< a loaded session was compared with the first prompt
  /// the costs of reading the documents were reported
  bool told_of_documents_ = false, told_note_ = false;
};

}  // namespace

int run_chat(Session& session, const PromptFlags& prompt, const std::vector<Document>& documents,
             const ChatOptions& options, Interrupt& interrupt) {
  return Chat(session, prompt, documents, options, interrupt).run();
}

}  // namespace longhaul
