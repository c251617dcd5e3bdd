#pragma once
// Writes replies of chat APIs. ReplyParser (serve/output/reply_parser.h) splits a reply into text,
// reasoning and tool calls. TurnWriter joins the parser's events to parts. A derived class for each
// API writes these parts in the form of the API.

#include "serve/api/reply_sink.h"
#include "serve/output/citations.h"
#include "serve/output/reply_parser.h"

namespace longhaul::serve {

/// A part of a reply as the client sees it.
struct ReplyPart {
  enum class Kind : uint8_t { kText, kReasoning, kCall };
  Kind kind = Kind::kText;
  std::string text;                 ///< text of the part; for calls: the arguments as JSON
  std::string id, name;             ///< id and name of a call; empty for other parts
  bool complete = true;             ///< false: the call was cut off, or its arguments are not JSON
  std::string raw;                  ///< for calls: the bytes that the model wrote
  std::vector<Citation> citations;  ///< for texts: sentences and the passages that they cite
};

/// One reply, as a list of its parts in the order in which the model wrote them.
struct ReplyTurn {
  std::vector<ReplyPart> parts;
  /// Returns the number of complete calls.
  size_t calls() const;
  /// Returns all parts of this kind, joined to one text.
  std::string joined(ReplyPart::Kind kind) const;
};

class TurnWriter : public ReplyWriter {
 public:
  TurnWriter(std::shared_ptr<const ServedModel> model, GenerationRequest request,
             std::shared_ptr<http::Exchange> exchange);

 protected:
  // The following functions write the events of a stream. For each part, begin_part() is called
  // first, then functions for its pieces, and then end_part().
  /// Writes the first event of a reply. It is called before all other functions, even if the reply
  /// is empty.
  virtual void begin_turn(int choice) = 0;
  virtual void begin_part(int choice, const ReplyPart& part) = 0;
  virtual void add_to_part(int choice, const ReplyPart& part, std::string_view piece) = 0;
  /// Ends a part. If `part` is an incomplete call, the client has already received its beginning.
  /// The finish reason must then not indicate that the client should execute the call.
  virtual void end_part(int choice, const ReplyPart& part) = 0;
  /// Reports that a sentence of a text part has ended. `citation` has the passages that it cites.
  virtual void cite(int /*choice*/, const ReplyPart& /*part*/, const Citation& /*citation*/) {}
  /// Writes the last event of a choice (see ReplyWriter::write_finish()).
  virtual void finish_turn(int choice, const JobReport* report) = 0;
  /// Returns the prefix of call ids.
  virtual const char* call_prefix() const { return "call_"; }

  /// Returns the reply so far. If the response is not streamed, an incomplete call becomes a part
  /// of kind kText.
  const ReplyTurn& turn(int choice) const { return states_[static_cast<size_t>(choice)].turn; }
  /// Returns whether the client should execute calls: the reply has complete calls, and no limit
  /// has ended it.
  bool calls_tools(int choice);
  /// Returns the index within the turn of the part that is beginning or ending.
  size_t part_index(int choice) const { return turn(choice).parts.size() - 1; }
  /// Ends the parts that are still open in all choices. whole() must call this first.
  void close_turns();

  void write_piece(int choice, const ReplyPiece& piece, const JobReport& so_far) override;
  void write_finish(int choice, const JobReport* report) override;
  void keep_piece(int choice, const ReplyPiece& piece) override;
  bool enough(int choice) const override;

 private:
  struct State {
    ReplyTurn turn;
    std::optional<ReplyParser> parser;
    bool open = false;    ///< whether the last part has begun but not ended
    bool closed = false;  ///< whether the parser has reached the end
    bool enough = false;
    // The following members are used for citations.
    std::vector<int32_t> tokens;  ///< tokens whose text has been parsed
    size_t before_piece = 0;      ///< number of tokens before the piece that is being parsed
    SentenceSplitter splitter;
    size_t sentence_begin = 0;  ///< byte offset in the open part
    size_t sentence_token = 0;  ///< index of the first token of the open sentence
  };
  State& state(int choice) { return states_[static_cast<size_t>(choice)]; }
  void read(int choice, std::string_view text, bool streams);
  void close(int choice, bool streams);
  void apply(int choice, const ReplyEvent& event, bool streams);
  void show(int choice, ReplyPart::Kind kind, const std::string& text, bool streams);
  void add_text(int choice, std::string_view text, bool streams);
  void add_cited_text(int choice, std::string_view text, bool streams);
  void end_sentence(int choice, size_t end_token, bool streams);
  void count_tokens(int choice, const ReplyPiece& piece);
  void begin_call(int choice, const ReplyEvent& event, bool streams);
  void end_open_part(int choice, bool streams);

  std::vector<State> states_;
};

}  // namespace longhaul::serve
