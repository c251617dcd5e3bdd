#include "serve/documents/asked_documents.h"

#include "serve/api/api_error.h"
#include "serve/api/conversation.h"
#include "serve/api/field_reader.h"
#include "serve/documents/document_prompt.h"
#include "serve/scheduler/prefill_gate.h"

namespace longhaul::serve {
namespace {

constexpr size_t kMostAsked = 64;
constexpr const char* kLeading = "leading_bytes";

std::vector<std::string> asked_ids(const FieldReader& fields) {
  std::vector<std::string> ids;
  const Json* list = fields.find("documents");
  if (list == nullptr) return ids;
  if (!list->is_array() || list->size() > kMostAsked) {
    refuse_field("documents", "is no list of at most {} ids", kMostAsked);
  }
  for (const Json& id : *list) {
    if (!id.is_string()) refuse_field("documents", "an element is no id");
    ids.push_back(id.get<std::string>());
  }
  return ids;
}

/// The id in a part such as {"type": "file", "file": {"file_id": "file-1"}}.
std::string file_id_of(const Json& part, const std::string& name) {
  const Json file = part.value("file", Json());
  if (!file.is_object()) refuse_field(name + ".file", "is no object");
  const Json id = file.value("file_id", Json());
  if (!id.is_string()) {
    refuse_field(name + ".file.file_id", "is missing: send the file to /v1/files first");
  }
  return id.get<std::string>();
}

/// Replaces file parts by text parts.
void take_file_parts(const ServedModel& model, const std::string& key, Json& messages,
                     std::vector<QuestionDocument>& documents) {
  if (!messages.is_array()) return;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].is_object()) continue;
    const auto content = messages[i].find("content");
    if (content == messages[i].end() || !content->is_array()) continue;
    for (size_t j = 0; j < content->size(); ++j) {
      Json& part = (*content)[j];
      if (!part.is_object() || part.value("type", Json()) != "file") continue;
      const std::string id = file_id_of(part, fmt::format("messages[{}].content[{}]", i, j));
      std::vector<QuestionDocument> found = question_documents(model.documents, key, {id});
      part = {{"type", "text"}, {"text", found.front().text->document.text}};
      found.front().gate = nullptr;  // its text is read with the question
      documents.push_back(std::move(found.front()));
    }
  }
}

/// The first user message, or null.
Json* first_user_message(Json& messages) {
  if (!messages.is_array()) return nullptr;
  for (Json& message : messages) {
    if (message.is_object() && message.value("role", Json()) == "user") return &message;
  }
  return nullptr;
}

bool has_system_message(const Json& messages) {
  for (const Json& message : messages) {
    if (!message.is_object()) continue;
    const Json role = message.value("role", Json());
    if (role == "system" || role == "developer") return true;
  }
  return false;
}

/// Puts the texts before the content of the first user message.
void lead_with(const std::string& texts, Json& messages) {
  Json* message = first_user_message(messages);
  if (message == nullptr) refuse_field("documents", "no message of the user asks about them");
  Json& content = (*message)["content"];
  const std::string leading = texts + "\n\n";
  if (content.is_string()) {
    content = leading + content.get_ref<const std::string&>();
  } else if (content.is_array() && !content.empty() && content[0].is_object() &&
             content[0].contains("text") && content[0]["text"].is_string()) {
    content[0]["text"] = leading + content[0]["text"].get_ref<const std::string&>();
  } else {
    refuse_field("documents", "the first message of the user has no text");
  }
  (*message)[kLeading] = leading.size();
}

}  // namespace

std::vector<QuestionDocument> take_documents(const ServedModel& model, const std::string& key,
                                             Json& body) {
  const FieldReader fields(body);
  if (!fields.has("messages")) return {};
  std::vector<QuestionDocument> documents =
      question_documents(model.documents, key, asked_ids(fields));
  Json& messages = body["messages"];
  if (messages.is_array()) {
    for (Json& message : messages) {
      if (message.is_object()) message.erase(kLeading);
    }
  }
  if (!documents.empty()) {
    std::vector<std::string> texts;
    for (const QuestionDocument& document : documents) {
      texts.push_back(document.text->document.text);
    }
    lead_with(joined_documents(texts), messages);
    const QuestionDocument& first = documents.front();
    if (!first.system.empty() && !has_system_message(messages)) {
      const Json system = {{"role", "system"}, {"content", first.system}};
      messages.insert(messages.begin(), system);
    }
    const std::string named = fields.text("model").value_or("");
    const bool chosen =
        !fields.text("attention").value_or("").empty() || named.find('@') != std::string::npos;
    if (!chosen && !first.attention.empty()) body["attention"] = first.attention;
  }
  // "messages" has moved if a member was added.
  take_file_parts(model, key, body["messages"], documents);
  return documents;
}

std::vector<QuestionDocument> take_documents(const ServedModel& model, const std::string& key,
                                             Json& body, Conversation& conversation) {
  if (!FieldReader(body).has("documents")) return {};
  Json chat = {{"messages", conversation.messages}};
  for (const char* name : {"documents", "model", "attention"}) {
    if (body.contains(name)) chat[name] = body[name];
  }
  std::vector<QuestionDocument> documents = take_documents(model, key, chat);
  if (chat.contains("attention")) body["attention"] = chat["attention"];
  Json& messages = chat["messages"];
  const size_t added = messages.size() - conversation.messages.size();
  for (CacheMark& mark : conversation.marks) {
    mark.message += added;
    if (mark.message >= messages.size()) continue;
    const Json leading = messages[mark.message].value(kLeading, Json());
    if (leading.is_number_unsigned() && mark.bytes > 0) mark.bytes += leading.get<size_t>();
  }
  conversation.messages = std::move(messages);
  return documents;
}

void use_documents(std::vector<QuestionDocument> documents, GenerationRequest& request, Job& job) {
  for (const QuestionDocument& document : documents) {
    if (document.gate) job.gates.push_back(document.gate);
  }
  request.documents = std::move(documents);
}

std::string question_after_documents(Json& messages) {
  std::string question;
  for (Json& message : messages) {
    if (!message.is_object()) continue;
    size_t leading = 0;
    if (const auto bytes = message.find(kLeading); bytes != message.end()) {
      if (bytes->is_number_unsigned()) leading = bytes->get<size_t>();
      message.erase(kLeading);
    }
    if (message.value("role", Json()) != "user") continue;
    const auto content = message.find("content");
    if (content == message.end() || !content->is_string()) continue;
    const auto& text = content->get_ref<const std::string&>();
    question = text.substr(std::min(leading, text.size()));
  }
  return question;
}

}  // namespace longhaul::serve
