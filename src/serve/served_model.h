#pragma once
// Defines ServedModel: the model that a server serves, its settings, and its scheduler.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/session.h"
#include "serve/api/response_store.h"
#include "serve/output/reply_format.h"
#include "serve/scheduler/engine_port.h"
#include "serve/scheduler/scheduler.h"

namespace longhaul::serve {

class DocumentSource;

struct ServedModel {
  std::string name;  ///< name that clients see
  std::string path;
  std::shared_ptr<const Engine> engine;
  SessionOptions session;  ///< options of all sequences, except for the attention method
  /// Methods that clients may name in addition to the server's own; empty: all methods that need no
  /// file.
  std::vector<MethodSpec> offers;
  AdapterEngines adapters;           ///< adapters that clients may name
  std::optional<ChatTemplate> chat;  ///< empty: chat requests are rejected
  std::string chat_problem;          ///< reason why there is no chat template
  ReplyFormat reply_format;          ///< format of replies for the template; set by use_template()
  bool keep_billing_header = false;  ///< whether Claude Code's first system block is kept
  SamplerOptions sampler;            ///< default sampling options of requests
  std::string kv_type, kernels;
  std::string sandbox;
  int64_t context = 0;  ///< largest number of tokens of prompt and reply; 0: no limit
  int parallel = 8;
  size_t memory_limit = 0;
  std::filesystem::path cache_folder;  ///< folder of --cache-dir; empty: not used
  /// Hash of model and settings; identifies the files in the folder.
  uint64_t cache_fingerprint = 0;
  /// Finds the documents that requests name; null: there are no documents.
  DocumentSource* documents = nullptr;

  /// Stored responses of the Responses API, which clients may continue.
  std::shared_ptr<ResponseStore> responses = std::make_shared<ResponseStore>();

  std::unique_ptr<EnginePort> port;
  std::unique_ptr<Scheduler> scheduler;

  /// Sets the chat template and determines the format in which the model writes calls and
  /// reasoning.
  void use_template(ChatTemplate chat_template);
  int64_t trained(const std::string& adapter = {}) const {
    const Engine& used = adapter.empty() ? *engine : *adapters.at(adapter);
    return used.model().shape.trained_context;
  }
  /// Returns the context limit that clients see: --ctx, or the trained length if it is not set.
  int64_t told_context(const std::string& adapter = {}) const {
    return context > 0 ? context : trained(adapter);
  }
};

/// The attention method and the adapter that a request selects.
struct ModelChoice {
  MethodSpec attention;
  std::string adapter;  ///< empty: the model as it is
};

/// Returns the method and the adapter that a request selects. `named_model` is the name of the
/// model in the request: NAME or NAME+ADAPTER, which may be followed by @METHOD. `attention` is a
/// method, or empty. Throws ApiError for an unknown name or method, and for a method that the
/// server does not offer.
ModelChoice choice_of_request(const ServedModel& model, const std::string& named_model,
                              const std::string& attention);
/// Returns the method that `attention` names. If `attention` is empty, returns the server's own
/// method. Throws ApiError for an unknown method, and for one that the server does not offer.
MethodSpec method_of_request(const ServedModel& model, const std::string& attention);

/// Returns all names by which requests can select the model with its methods and adapters. GET
/// /v1/models lists them.
std::vector<std::string> names_of(const ServedModel& model);

}  // namespace longhaul::serve
