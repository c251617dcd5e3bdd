#pragma once
// Replies of chat APIs: events of the parser become parts (text, reasoning, calls) that a writer
// presents in the form of its API.

#include "serve/api/reply_sink.h"
#include "serve/output/citations.h"
#include "serve/output/reply_parser.h"

namespace longhaul::serve {

/// A part of a reply, as a client sees it.
struct ReplyPart {
  enum class Kind : uint8_t { kText, kReasoning, kCall };
  Kind kind = Kind::kText;
  std::string text;                 ///< in a call: its arguments as JSON
  std::string id, name;             ///< set for calls
  bool complete = true;             ///< false: a call that was cut, or whose arguments are not JSON
  std::string raw;                  ///< in a call: the bytes that the model wrote
  std::vector<Citation> citations;  ///< in a text: its sentences with what they cite
};

/// One reply. Parts are in the order in which the model wrote them.
struct ReplyTurn {
  std::vector<ReplyPart> parts;
  /// Complete calls.
  size_t calls() const;
  /// All parts of this kind as one text.
  std::string joined(ReplyPart::Kind kind) const;
};

class TurnWriter : public ReplyWriter {
 public:
  TurnWriter(std::shared_ptr<const ServedModel> model, GenerationRequest request,
             std::shared_ptr<http::Exchange> exchange);

 protected:
  // Events of a stream. Every part begins, gets pieces, and ends before the next part begins.
  /// The first event of a reply; called before any other, also if the reply is empty.
  virtual void begin_turn(int choice) = 0;
  virtual void begin_part(int choice, const ReplyPart& part) = 0;
  virtual void add_to_part(int choice, const ReplyPart& part, std::string_view piece) = 0;
  /// A call may be incomplete: the client has its beginning, and the finish must not present it as
  /// a call to make.
  virtual void end_part(int choice, const ReplyPart& part) = 0;
  /// A sentence of the text part has ended; the next text begins another one.
  virtual void cite(int /*choice*/, const ReplyPart& /*part*/, const Citation& /*citation*/) {}
  /// The last event of a choice: as ReplyWriter::write_finish().
  virtual void finish_turn(int choice, const JobReport* report) = 0;
  /// Begins the id of a call.
  virtual const char* call_prefix() const { return "call_"; }

  /// The reply so far. In a whole answer an incomplete call is a text.
  const ReplyTurn& turn(int choice) const { return states_[static_cast<size_t>(choice)].turn; }
  /// Whether the reply ends with calls that the client shall make.
  bool calls_tools(int choice);
  /// Index of the part that begins or ends, within the turn.
  size_t part_index(int choice) const { return turn(choice).parts.size() - 1; }
  /// Ends all turns, for whole().
  void close_turns();

  void write_piece(int choice, const ReplyPiece& piece, const JobReport& so_far) override;
  void write_finish(int choice, const JobReport* report) override;
  void keep_piece(int choice, const ReplyPiece& piece) override;
  bool enough(int choice) const override;

 private:
  struct State {
    ReplyTurn turn;
    std::optional<ReplyParser> parser;
    bool open = false;    ///< the last part has begun and not ended
    bool closed = false;  ///< the parser has seen the end
    bool enough = false;
    // With citations.
    std::vector<int32_t> tokens;  ///< tokens whose text has been read
    size_t before_piece = 0;      ///< tokens before the piece that is being read
    SentenceSplitter splitter;
    size_t sentence_begin = 0;  ///< in the open part
    size_t sentence_token = 0;  ///< first token of the open sentence
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
