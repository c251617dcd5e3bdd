#include "cli/questions.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/progress_bar.h"
#include "cli/session_files.h"
#include "cli/source_report.h"
#include "engine/generate.h"
#include "engine/sources.h"
#include "ops/matmul/matvec.h"
#include "text/printable.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

constexpr size_t kMostQuestionBytes = size_t{64} << 20;
constexpr int kExitSomeFailed = 1;

std::string contents_of(const std::string& file) {
  std::string text;
  const auto read = [&](std::istream& in) {
    char block[4096];
    while (in.read(block, sizeof block) || in.gcount() > 0) {
      text.append(block, static_cast<size_t>(in.gcount()));
      if (text.size() > kMostQuestionBytes) {
        user_error("--questions {}: longer than {}", file, format_bytes(kMostQuestionBytes));
      }
    }
  };
  if (file == "-") {
    read(std::cin);
    return text;
  }
  if (!is_file(file)) user_error("--questions {}: no such file", file);
  std::ifstream in(file, std::ios::binary);
  if (!in) user_error("--questions {}: cannot be read", file);
  read(in);
  return text;
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlanks) + 1 - first);
}

/// A question whose reply is generated.
struct OpenQuestion {
  const QuestionLine* question = nullptr;
  std::string error;
  PromptTokens prompt;
  std::optional<SourceWatch> watch;
  std::unique_ptr<Sequence> sequence;
  std::unique_ptr<Generation> generation;
  RunningReply running;

  bool ended() const { return !error.empty() || running.failed || generation->ended(); }
};

class QuestionRun {
 public:
  /// `base` is empty, or was loaded from a session file.
  QuestionRun(const RunFlags& flags, const std::shared_ptr<const Engine>& engine,
              const SessionOptions& options, const std::vector<Document>& documents, Sequence base)
      : flags_(flags),
        engine_(engine),
        options_(options),
        documents_(documents),
        texts_(texts_of(documents)),
        base_(std::move(base)),
        runner_(engine, options.queue, options.compute) {
    generate_ = flags.sampling.options(&interrupt_.flag());
    generate_.constraint = flags.constraint.constraint(engine->tokenizer());
    generate_.starts_text = !flags.prompt.form.raw;
  }

  int run(const std::vector<QuestionLine>& questions);

 private:
  bool read_text();
  void add(const QuestionLine& question);
  void advance();
  void print_first();
  void print(OpenQuestion& open);
  void fail(const QuestionLine& question, const std::string& why);
  int running() const {
    return static_cast<int>(
        std::ranges::count_if(open_, [](const auto& o) { return !o->ended(); }));
  }
  size_t bytes_of_running() const {
    size_t bytes = 0;
    for (const auto& open : open_) bytes += open->sequence ? open->sequence->own_bytes() : 0;
    return bytes;
  }
  int64_t longest_reply() const { return std::max<int64_t>(0, generate_.max_tokens); }

  const RunFlags& flags_;
  const std::shared_ptr<const Engine>& engine_;
  const SessionOptions options_;
  const std::vector<Document>& documents_;
  const std::vector<std::string> texts_;
  Interrupt interrupt_;
  Sequence base_;  ///< has read the texts, if that serves any question
  ModelRunner runner_;
  GenerateOptions generate_;
  bool reads_once_ = true;
  std::optional<ContextCopy> dense_;  ///< for methods that choose at the end of the prompt
  std::deque<std::unique_ptr<OpenQuestion>> open_;
  bool failed_ = false;
  double text_seconds_ = 0, decode_seconds_ = 0;
  int64_t loaded_tokens_ = 0, text_tokens_ = 0, reply_tokens_ = 0, replies_ = 0;
};

/// Reads what all prompts have in common. Returns false if it was cancelled.
bool QuestionRun::read_text() {
  const std::vector<int32_t> tokens = compose_before_question(flags_.prompt, texts_, *engine_);
  reads_once_ = serves_any_question(base_.method().prompt_choice());
  const PromptFacts some{0, std::ssize(tokens) + 16, 16, base_.chunk(), {}};
  const bool begins_densely = base_.method().dense_prefix(some) > 0;
  if (!reads_once_ && !begins_densely) {
    warn(
        "--questions {}: {} chooses by the question what it keeps of the text, so the text is "
        "prefilled for each question",
        flags_.questions, options_.attention.text());
    return true;
  }
  SessionOptions dense = options_;
  dense.attention = MethodSpec::parse("dense");
  std::optional<Sequence> read_densely;
  if (!reads_once_) read_densely.emplace(engine_, dense);
  Sequence& reader = reads_once_ ? base_ : *read_densely;
  if (!reader.tokens().empty()) {
    const bool warned = warn_other_text(reader, tokens, flags_.load);
    loaded_tokens_ = reader.reuse_prefix(tokens);
    if (loaded_tokens_ == 0 && !warned) warn_read_anew(reader, flags_.load);
  }
  const auto rest = std::span(tokens).subspan(static_cast<size_t>(loaded_tokens_));
  if (rest.empty()) return true;
  ProgressBar bar("prefill", !flags_.quiet && !flags_.json);
  PrefillHooks hooks;
  hooks.reply = longest_reply();
  hooks.cancel = &interrupt_.flag();
  hooks.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
  const Stopwatch watch;
  const bool finished = prefill(reader, runner_, rest, hooks);
  bar.clear();
  text_seconds_ = watch.seconds();
  text_tokens_ = std::ssize(rest);
  if (read_densely) dense_ = read_densely->copy_context();
  return finished;
}

/// Reads the question and begins its reply.
void QuestionRun::add(const QuestionLine& question) {
  auto open = std::make_unique<OpenQuestion>();
  open->question = &question;
  std::string error = question.error;
  try {
    if (error.empty()) {
      PromptFlags asked = flags_.prompt;
      asked.question = question.text;
      open->prompt = compose_prompt(asked, texts_, *engine_);
      const auto tokens = std::span<const int32_t>(open->prompt.tokens);
      const int64_t more = std::ssize(tokens) - std::ssize(base_.tokens());
      while (running() > 0 && !base_.has_room(more, longest_reply(), bytes_of_running())) {
        advance();
      }
      open->sequence =
          std::make_unique<Sequence>(reads_once_ ? base_.clone() : Sequence(engine_, options_));
      if (flags_.sources > 0) {
        const ModelShape& shape = engine_->model().shape;
        open->watch.emplace(shape, heads_to_watch(shape), std::ssize(tokens));
        open->sequence->observe(
            [&watch = *open->watch](const LayerStep& step, std::span<const AttendTask> tasks) {
              watch.observe(step, tasks);
            });
      }
      int64_t taken = 0;
      if (reads_once_) {
        taken = open->sequence->reuse_prefix(tokens);
      } else if (dense_) {
        taken = open->sequence->begin_with(*dense_, tokens, open->prompt.instruction);
      }
      PrefillHooks hooks;
      hooks.instruction = open->prompt.instruction;
      hooks.reply = longest_reply();
      hooks.cancel = &interrupt_.flag();
      if (!prefill(*open->sequence, runner_, tokens.subspan(static_cast<size_t>(taken)), hooks)) {
        return;  // cancelled
      }
      open->generation = std::make_unique<Generation>(*open->sequence, generate_);
      open->running = {open->sequence.get(), open->generation.get()};
    }
  } catch (const UserError& problem) {
    error = problem.what();
  }
  open->error = error;
  open_.push_back(std::move(open));
  print_first();
}

void QuestionRun::advance() {
  const Stopwatch watch;
  std::vector<RunningReply> replies;
  std::vector<RunningReply*> of;
  for (const auto& open : open_) {
    if (open->ended()) continue;
    of.push_back(&open->running);
    replies.push_back(open->running);
  }
  reply_tokens_ += static_cast<int64_t>(advance_together(runner_, replies));
  for (size_t i = 0; i < of.size(); ++i) *of[i] = replies[i];
  decode_seconds_ += watch.seconds();
  print_first();
}

void QuestionRun::print_first() {
  for (; !open_.empty() && open_.front()->ended(); open_.pop_front()) print(*open_.front());
}

void QuestionRun::fail(const QuestionLine& question, const std::string& why) {
  failed_ = true;
  const std::string line =
      fmt::format("{}, line {}: {}", flags_.questions, question.line, one_line(why));
  std::fprintf(stderr, "error: %s\n", line.c_str());
  if (!flags_.json) return;
  print_json_line({{"question", question.text}, {"error", line}});
}

void QuestionRun::print(OpenQuestion& open) {
  std::string error = open.error;
  if (error.empty() && open.running.failed) {
    try {
      std::rethrow_exception(open.running.failed);
    } catch (const std::exception& problem) {
      error = problem.what();
    }
  }
  if (!error.empty()) return fail(*open.question, error);
  const Reply& reply = open.generation->reply();
  if (reply.stop == StopReason::kCancelled) return;
  ++replies_;
  std::optional<FoundSources> sources;
  if (open.watch) {
    sources =
        find_sources(*engine_, open.prompt.tokens, texts_of(documents_), *open.watch, reply.tokens,
                     generate_.starts_text, static_cast<size_t>(flags_.sources));
  }
  if (flags_.json) {
    nlohmann::ordered_json json = {{"question", open.question->text}, {"text", reply.text}};
    if (sources) add_sources(*sources, documents_, json);
    print_json_line(json);
  } else {
    std::printf("> %s\n%s\n\n", one_line(open.question->text).c_str(), reply.text.c_str());
    if (sources) std::fputs((sources_text(*sources, documents_) + "\n").c_str(), stdout);
  }
  std::fflush(stdout);
}

int QuestionRun::run(const std::vector<QuestionLine>& questions) {
  const bool on_host = options_.queue.on_host();
  const int most = on_host ? static_cast<int>(kMatvecMaxRows) : 1;
  if (!read_text()) return kExitCancelled;
  for (const QuestionLine& question : questions) {
    while (running() >= most) advance();
    if (interrupt_.requested()) break;
    add(question);
  }
  while (running() > 0) advance();
  if (!flags_.quiet && !flags_.json) {
    std::string report;
    if (loaded_tokens_ > 0) {
      report = fmt::format("session file: {} tokens reused; ", with_commas(loaded_tokens_));
    }
    if (text_tokens_ > 0) {
      report += fmt::format("text: {} tokens, prefilled in {}; ", with_commas(text_tokens_),
                            format_seconds(text_seconds_));
    }
    report += fmt::format(
        "{} {} in {}, {:.1f} tokens/s", replies_, replies_ == 1 ? "reply" : "replies",
        format_seconds(decode_seconds_),
        decode_seconds_ > 0 ? static_cast<double>(reply_tokens_) / decode_seconds_ : 0.0);
    std::fprintf(stderr, "%s\n", report.c_str());
    const std::string& note = engine_->note();
    if (replies_ > 0 && !note.empty()) std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  if (interrupt_.requested()) return kExitCancelled;
  return failed_ ? kExitSomeFailed : kExitOk;
}

}  // namespace

std::vector<QuestionLine> read_questions(const std::string& file) {
  const std::string text = contents_of(file);
  std::string_view left = text;
  if (left.starts_with("\xEF\xBB\xBF")) left.remove_prefix(3);
  std::vector<QuestionLine> questions;
  for (int64_t line = 1; !left.empty(); ++line) {
    const size_t end = std::min(left.find('\n'), left.size());
    const std::string_view own = trimmed(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
    if (own.empty()) continue;
    QuestionLine question{.line = line};
    size_t replaced = 0;
    std::string repaired;
    question.text = repair_utf8(own, repaired, &replaced);
    if (replaced > 0) question.error = "is not UTF-8";
    questions.push_back(std::move(question));
  }
  if (questions.empty()) user_error("--questions {}: there is no question in it", file);
  return questions;
}

int run_questions(const RunFlags& flags, const std::shared_ptr<const Engine>& engine,
                  const SessionOptions& options, const std::vector<QuestionLine>& questions,
                  const std::vector<Document>& documents) {
  Sequence base(engine, options);
  LoadedSession loaded;
  if (!flags.load.empty()) {
    if (!serves_any_question(base.method().prompt_choice())) {
      user_error(
          "--questions {}: does not go with --load and {}, which chooses by the question what it "
          "keeps of the text; give the texts with -f alone",
          flags.questions, options.attention.text());
    }
    loaded = load_session(flags.load, flags.prompt, base);
  }
  return QuestionRun(flags, engine, options, flags.asks_loaded() ? loaded.documents : documents,
                     std::move(base))
      .run(questions);
}

}  // namespace longhaul
