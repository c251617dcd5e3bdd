#include "serve/api/turn_writer.h"

#include <algorithm>
#include <utility>

namespace longhaul::serve {
namespace {

using Kind = ReplyPart::Kind;

/// Presents calls that cannot be made as the text that the model wrote.
void write_incomplete_as_text(ReplyTurn& turn) {
  std::vector<ReplyPart> parts;
  for (ReplyPart& part : turn.parts) {
    if (part.kind == Kind::kCall && !part.complete) {
      part = {Kind::kText, std::move(part.raw), "", "", true, "", {}};
    }
    if (!parts.empty() && part.kind == Kind::kText && parts.back().kind == Kind::kText) {
      for (Citation& citation : part.citations) {
        citation.sentence.begin += parts.back().text.size();
        citation.sentence.end += parts.back().text.size();
        parts.back().citations.push_back(std::move(citation));
      }
      parts.back().text += part.text;
    } else {
      parts.push_back(std::move(part));
    }
  }
  turn.parts = std::move(parts);
}

}  // namespace

size_t ReplyTurn::calls() const {
  return static_cast<size_t>(std::count_if(parts.begin(), parts.end(), [](const ReplyPart& part) {
    return part.kind == Kind::kCall && part.complete;
  }));
}

std::string ReplyTurn::joined(ReplyPart::Kind kind) const {
  std::string text;
  for (const ReplyPart& part : parts) {
    if (part.kind == kind) text += part.text;
  }
  return text;
}

TurnWriter::TurnWriter(std::shared_ptr<const ServedModel> model, GenerationRequest request,
                       std::shared_ptr<http::Exchange> exchange)
    : ReplyWriter(std::move(model), std::move(request), std::move(exchange)),
      states_(choices().size()) {
  for (size_t i = 0; i < states_.size(); ++i) {
    states_[i].parser.emplace(request_.form.format, request_.form.tools);
    // The prompt has begun the reply, for example with the mark of a call.
    read(static_cast<int>(i), request_.form.prompt_end, false);
  }
}

void TurnWriter::read(int choice, std::string_view text, bool streams) {
  std::vector<ReplyEvent> events;
  state(choice).parser->push(text, events);
  for (const ReplyEvent& event : events) apply(choice, event, streams);
}

void TurnWriter::close(int choice, bool streams) {
  State& of = state(choice);
  if (std::exchange(of.closed, true)) return;
  const Finish finish = this->choice(choice).finish;
  const bool ended = finish == Finish::kEnd || finish == Finish::kStopString;
  std::vector<ReplyEvent> events;
  of.parser->finish(!ended, events);
  for (const ReplyEvent& event : events) apply(choice, event, streams);
  end_open_part(choice, streams);
}

void TurnWriter::close_turns() {
  for (size_t i = 0; i < states_.size(); ++i) {
    close(static_cast<int>(i), false);
    write_incomplete_as_text(states_[i].turn);
  }
}

bool TurnWriter::calls_tools(int choice) {
  const Finish finish = this->choice(choice).finish;
  const bool ended = finish == Finish::kEnd || finish == Finish::kStopString;
  return ended && turn(choice).calls() > 0;
}

bool TurnWriter::enough(int choice) const { return states_[static_cast<size_t>(choice)].enough; }

void TurnWriter::apply(int choice, const ReplyEvent& event, bool streams) {
  State& of = state(choice);
  if (of.enough) return;  // text after the only call is dropped
  switch (event.kind) {
    case EventKind::kText:
      return show(choice, Kind::kText, event.text, streams);
    case EventKind::kReasoning:
      return show(choice, Kind::kReasoning, event.text, streams);
    case EventKind::kCallBegin:
      return begin_call(choice, event, streams);
    case EventKind::kArguments: {
      ReplyPart& part = of.turn.parts.back();
      part.text += event.text;
      part.raw += event.raw;
      if (streams && !event.text.empty()) add_to_part(choice, part, event.text);
      return;
    }
    case EventKind::kCallEnd: {
      ReplyPart& part = of.turn.parts.back();
      part.raw += event.raw;
      part.complete = event.complete;
      end_open_part(choice, streams);
      of.enough = request_.form.one_call && event.complete;
      return;
    }
    case EventKind::kWarning: {
      auto& warnings = request_.warnings;
      if (std::find(warnings.begin(), warnings.end(), event.text) == warnings.end()) {
        warnings.push_back(event.text);
      }
      return;
    }
    case EventKind::kMarkup:
      return;
  }
}

void TurnWriter::show(int choice, ReplyPart::Kind kind, const std::string& text, bool streams) {
  if (text.empty()) return;
  State& of = state(choice);
  if (!of.open || of.turn.parts.back().kind != kind) {
    end_open_part(choice, streams);
    of.turn.parts.push_back({kind, "", "", "", true, "", {}});
    of.open = true;
    if (streams) begin_part(choice, of.turn.parts.back());
    of.sentence_begin = 0;
    of.sentence_token = of.before_piece;
  }
  if (kind == Kind::kText && request_.citations) return add_cited_text(choice, text, streams);
  add_text(choice, text, streams);
}

void TurnWriter::add_text(int choice, std::string_view text, bool streams) {
  if (text.empty()) return;
  ReplyPart& part = state(choice).turn.parts.back();
  part.text += text;
  if (streams) add_to_part(choice, part, text);
}

void TurnWriter::add_cited_text(int choice, std::string_view text, bool streams) {
  State& of = state(choice);
  while (!text.empty()) {
    const size_t end = of.splitter.push(text);
    add_text(choice, text.substr(0, end), streams);
    if (end == std::string_view::npos) return;
    end_sentence(choice, of.before_piece, streams);
    text.remove_prefix(end);
  }
}

/// The open sentence ends before token `end_token` of the reply.
void TurnWriter::end_sentence(int choice, size_t end_token, bool streams) {
  State& of = state(choice);
  ReplyPart& part = of.turn.parts.back();
  of.splitter.clear();
  if (part.text.size() == of.sentence_begin) return;
  Citation citation{{of.sentence_begin, part.text.size()}, {}};
  if (const auto& watched = watch(choice)) {
    citation.passages = request_.citations->of(*watched, of.tokens, of.sentence_token, end_token);
  }
  of.sentence_begin = part.text.size();
  of.sentence_token = end_token;
  part.citations.push_back(citation);
  if (streams) cite(choice, part, citation);
}

void TurnWriter::count_tokens(int choice, const ReplyPiece& piece) {
  State& of = state(choice);
  of.before_piece = of.tokens.size();
  for (const TokenReport& token : piece.tokens) of.tokens.push_back(token.id);
}

void TurnWriter::begin_call(int choice, const ReplyEvent& event, bool streams) {
  end_open_part(choice, streams);
  State& of = state(choice);
  const bool short_ids = request_.form.format.family == CallFamily::kMistral;
  std::string id = event.id;
  if (id.empty()) id = short_ids ? random_id("").substr(0, 9) : random_id(call_prefix());
  of.turn.parts.push_back({Kind::kCall, "", std::move(id), event.text, false, event.raw, {}});
  of.open = true;
  if (streams) begin_part(choice, of.turn.parts.back());
}

void TurnWriter::end_open_part(int choice, bool streams) {
  State& of = state(choice);
  if (!std::exchange(of.open, false)) return;
  if (request_.citations && of.turn.parts.back().kind == Kind::kText) {
    end_sentence(choice, of.tokens.size(), streams);
  }
  if (!streams) return;
  end_part(choice, of.turn.parts.back());
}

void TurnWriter::keep_piece(int choice, const ReplyPiece& piece) {
  ReplyWriter::keep_piece(choice, piece);
  count_tokens(choice, piece);
  read(choice, piece.text, false);
}

/// Parts that the prompt has begun are told with the first piece.
void TurnWriter::write_piece(int index, const ReplyPiece& piece, const JobReport&) {
  State& of = state(index);
  if (!choice(index).begun) {
    begin_turn(index);
    for (const ReplyPart& part : of.turn.parts) begin_part(index, part);
  }
  count_tokens(index, piece);
  read(index, piece.text, true);
}

void TurnWriter::write_finish(int choice, const JobReport* report) {
  close(choice, true);
  finish_turn(choice, report);
}

}  // namespace longhaul::serve
