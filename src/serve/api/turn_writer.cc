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
      part = {Kind::kText, std::move(part.raw), "", "", true, ""};
    }
    if (!parts.empty() && part.kind == Kind::kText && parts.back().kind == Kind::kText) {
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
    of.turn.parts.push_back({kind, "", "", "", true, ""});
    of.open = true;
    if (streams) begin_part(choice, of.turn.parts.back());
  }
  of.turn.parts.back().text += text;
  if (streams) add_to_part(choice, of.turn.parts.back(), text);
}

void TurnWriter::begin_call(int choice, const ReplyEvent& event, bool streams) {
  end_open_part(choice, streams);
  State& of = state(choice);
  const bool short_ids = request_.form.format.family == CallFamily::kMistral;
  std::string id = event.id;
  if (id.empty()) id = short_ids ? random_id("").substr(0, 9) : random_id(call_prefix());
  of.turn.parts.push_back({Kind::kCall, "", std::move(id), event.text, false, event.raw});
  of.open = true;
  if (streams) begin_part(choice, of.turn.parts.back());
}

void TurnWriter::end_open_part(int choice, bool streams) {
  State& of = state(choice);
  if (!std::exchange(of.open, false) || !streams) return;
  end_part(choice, of.turn.parts.back());
}

void TurnWriter::keep_piece(int choice, const ReplyPiece& piece) {
  ReplyWriter::keep_piece(choice, piece);
  read(choice, piece.text, false);
}

/// Parts that the prompt has begun are told with the first piece.
void TurnWriter::write_piece(int index, const ReplyPiece& piece, const JobReport&) {
  State& of = state(index);
  if (!choice(index).begun) {
    begin_turn(index);
    for (const ReplyPart& part : of.turn.parts) begin_part(index, part);
  }
  read(index, piece.text, true);
}

void TurnWriter::write_finish(int choice, const JobReport* report) {
  close(choice, true);
  finish_turn(choice, report);
}

}  // namespace longhaul::serve
