// Divides replies into text, reasoning and tool calls, as the server does.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <nlohmann/json.hpp>

#include "engine/engine.h"
#include "model_binding.h"
#include "serve/output/reply_parser.h"

namespace longhaul::python {
namespace {

using serve::EventKind;
using serve::ReplyEvent;

const char* name_of_kind(EventKind kind) {
  switch (kind) {
    case EventKind::kText:
      return "text";
    case EventKind::kReasoning:
      return "reasoning";
    case EventKind::kCallBegin:
      return "call";
    case EventKind::kArguments:
      return "arguments";
    case EventKind::kCallEnd:
      return "call_end";
    case EventKind::kMarkup:
      return "markup";
    case EventKind::kWarning:
      break;
  }
  return "warning";
}

nb::list list_of_events(const std::vector<ReplyEvent>& events) {
  nb::list list;
  for (const ReplyEvent& event : events) {
    list.append(nb::make_tuple(name_of_kind(event.kind), event.text, event.id, event.complete));
  }
  return list;
}

class PyReplyReader {
 public:
  PyReplyReader(const PyModel& model, const std::string& tools)
      : format_(serve::find_reply_format(model.model->engine->chat_template())),
        parser_(without_calls(format_, tools.empty()), offered(tools)) {}

  bool needs_control_texts() const { return format_.needs_control_texts(); }
  nb::list push(const std::string& text) {
    std::vector<ReplyEvent> events;
    parser_.push(text, events);
    return list_of_events(events);
  }
  nb::list finish(bool cut) {
    std::vector<ReplyEvent> events;
    parser_.finish(cut, events);
    return list_of_events(events);
  }

 private:
  /// Without tools only reasoning is recognised.
  static serve::ReplyFormat without_calls(serve::ReplyFormat format, bool without) {
    if (without) format.family = serve::CallFamily::kNone;
    return format;
  }
  static serve::OfferedTools offered(const std::string& tools) {
    if (tools.empty()) return {};
    return serve::OfferedTools(nlohmann::ordered_json::parse(tools));
  }

  serve::ReplyFormat format_;
  serve::ReplyParser parser_;
};

}  // namespace

void bind_reply_reader(nb::module_& m) {
  nb::class_<PyReplyReader>(m, "ReplyReader")
      .def(nb::init<const PyModel&, const std::string&>())
      .def_prop_ro("needs_control_texts", &PyReplyReader::needs_control_texts)
      .def("push", &PyReplyReader::push)
      .def("finish", &PyReplyReader::finish);
}

}  // namespace longhaul::python
