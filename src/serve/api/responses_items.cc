#include "serve/api/responses_items.h"

#include "serve/api/reply_sink.h"
#include "serve/documents/text_places.h"

namespace longhaul::serve {
namespace {

Json text_part(const std::string& text, Json annotations = Json::array()) {
  return {{"type", "output_text"},
          {"annotations", std::move(annotations)},
          {"logprobs", Json::array()},
          {"text", text}};
}

}  // namespace

Json ResponsesItems::at_item(const char* type) const {
  return {{"type", type}, {"item_id", item_["id"]}, {"output_index", output_.size()}};
}

Json ResponsesItems::at_part(const char* type) const {
  Json event = at_item(type);
  event[kind_ == Kind::kReasoning && summary_ ? "summary_index" : "content_index"] = 0;
  return event;
}

void ResponsesItems::begin_item(Json item) {
  item_ = std::move(item);
  text_.clear();
  send_(
      {{"type", "response.output_item.added"}, {"output_index", output_.size()}, {"item", item_}});
}

void ResponsesItems::begin_text() {
  begin_item({{"id", random_id("msg_")},
              {"type", "message"},
              {"status", "in_progress"},
              {"role", "assistant"},
              {"content", Json::array()}});
  Json event = at_part("response.content_part.added");
  event["part"] = text_part("");
  send_(std::move(event));
}

void ResponsesItems::end_text() {
  Json done = at_part("response.output_text.done");
  done["text"] = text_;
  done["logprobs"] = Json::array();
  send_(std::move(done));
  Json part = at_part("response.content_part.done");
  part["part"] = text_part(text_, annotations_);
  send_(std::move(part));
  item_["content"] = Json::array({text_part(text_, std::exchange(annotations_, Json::array()))});
  message_["content"].get_ref<std::string&>() += text_;
}

void ResponsesItems::begin_reasoning() {
  Json item = {{"id", random_id("rs_")}, {"type", "reasoning"}, {"summary", Json::array()}};
  if (!summary_) item["content"] = Json::array();
  item["encrypted_content"] = nullptr;
  item["status"] = "in_progress";
  begin_item(std::move(item));
  Json event =
      at_part(summary_ ? "response.reasoning_summary_part.added" : "response.content_part.added");
  event["part"] = {{"type", summary_ ? "summary_text" : "reasoning_text"}, {"text", ""}};
  send_(std::move(event));
}

void ResponsesItems::end_reasoning() {
  Json done =
      at_part(summary_ ? "response.reasoning_summary_text.done" : "response.reasoning_text.done");
  done["text"] = text_;
  send_(std::move(done));
  const Json part = {{"type", summary_ ? "summary_text" : "reasoning_text"}, {"text", text_}};
  Json ended =
      at_part(summary_ ? "response.reasoning_summary_part.done" : "response.content_part.done");
  ended["part"] = part;
  send_(std::move(ended));
  item_[summary_ ? "summary" : "content"] = Json::array({part});
  Json& thought = message_["reasoning_content"];
  thought = thought.is_null() ? text_ : thought.get<std::string>() + text_;
}

void ResponsesItems::begin_call(const ReplyPart& part) {
  const ResponsesTools::Named* known = tools_.find(part.name);
  const bool custom = known != nullptr && known->custom;
  Json item = {{"id", random_id(custom ? "ctc_" : "fc_")},
               {"type", custom ? "custom_tool_call" : "function_call"},
               {"status", "in_progress"},
               {"call_id", part.id},
               {"name", known != nullptr ? known->name : part.name},
               {custom ? "input" : "arguments", ""}};
  if (known != nullptr && !known->space.empty()) item["namespace"] = known->space;
  function_ = part.name;
  arguments_.clear();
  input_.reset();
  if (custom) input_.emplace();
  begin_item(std::move(item));
}

void ResponsesItems::add_input(const std::string& text) {
  if (text.empty()) return;
  text_ += text;
  Json event = at_item("response.custom_tool_call_input.delta");
  event["delta"] = text;
  send_(std::move(event));
}

/// A call that was cut is not announced as done, because clients would run it.
void ResponsesItems::end_call(bool complete) {
  if (input_) add_input(input_->finish());
  if (!input_ && text_.empty()) text_ = arguments_ = "{}";
  item_[input_ ? "input" : "arguments"] = text_;
  if (!complete) return;
  Json done = at_item(input_ ? "response.custom_tool_call_input.done"
                             : "response.function_call_arguments.done");
  if (!input_) done["name"] = item_["name"];
  done[input_ ? "input" : "arguments"] = text_;
  send_(std::move(done));
  Json& calls = message_["tool_calls"];
  if (calls.is_null()) calls = Json::array();
  calls.push_back({{"id", item_["call_id"]},
                   {"type", "function"},
                   {"function", {{"name", function_}, {"arguments", arguments_}}}});
}

void ResponsesItems::begin(const ReplyPart& part) {
  kind_ = part.kind;
  switch (kind_) {
    case Kind::kText:
      return begin_text();
    case Kind::kReasoning:
      return begin_reasoning();
    case Kind::kCall:
      return begin_call(part);
  }
}

void ResponsesItems::add(std::string_view piece) {
  if (kind_ == Kind::kCall) {
    arguments_ += piece;
    if (input_) return add_input(input_->push(piece));
  }
  text_ += piece;
  Json event;
  if (kind_ == Kind::kText) {
    event = at_part("response.output_text.delta");
    event["logprobs"] = Json::array();
  } else if (kind_ == Kind::kReasoning) {
    event = at_part(summary_ ? "response.reasoning_summary_text.delta"
                             : "response.reasoning_text.delta");
  } else {
    event = at_item("response.function_call_arguments.delta");
  }
  event["delta"] = piece;
  send_(std::move(event));
}

void ResponsesItems::annotate(const CitedPassage& passage) {
  const QuestionDocument& document = *passage.document;
  const Json annotation = {{"type", "file_citation"},
                           {"file_id", document.id},
                           {"filename", document.text->document.name},
                           {"index", TextPlaces(text_).characters()},
                           {"page", passage.page > 0 ? Json(passage.page) : Json()},
                           {"from", passage.from},
                           {"to", passage.to},
                           {"share", passage.share},
                           {"text", passage.text}};
  Json event = at_part("response.output_text.annotation.added");
  event["annotation_index"] = annotations_.size();
  event["annotation"] = annotation;
  send_(std::move(event));
  annotations_.push_back(annotation);
}

void ResponsesItems::end(bool complete) {
  switch (kind_) {
    case Kind::kText:
      end_text();
      break;
    case Kind::kReasoning:
      end_reasoning();
      break;
    case Kind::kCall:
      end_call(complete);
      break;
  }
  item_["status"] = complete ? "completed" : "incomplete";
  if (complete || kind_ != Kind::kCall) {
    send_(
        {{"type", "response.output_item.done"}, {"output_index", output_.size()}, {"item", item_}});
  }
  output_.push_back(std::exchange(item_, Json()));
}

}  // namespace longhaul::serve
