#pragma once
// Converts documents, and prefills them one after the other as prompts of low priority.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "documents/converter_process.h"
#include "serve/documents/document_files.h"
#include "serve/documents/document_store.h"
#include "serve/documents/pending_answers.h"
#include "serve/served_model.h"

namespace longhaul::serve {

class DocumentReader {
 public:
  /// `converter`: null if there is no process for it.
  DocumentReader(DocumentStore& store, std::shared_ptr<const ConverterProcess> converter);
  ~DocumentReader();
  /// Ends all threads. Conversions that run are given up.
  void stop();

  /// The bytes of a document that is to be converted.
  struct Source {
    std::string bytes;
    PageRanges pages;
  };
  /// Converts the document in the background and prefills it. `exchange` is answered after the
  /// conversion, or after two seconds.
  void convert(std::shared_ptr<const ServedModel> model, std::shared_ptr<ServedDocument> document,
               Source source, std::shared_ptr<http::Exchange> exchange);
  /// From now on documents that shall persist are written to these files.
  void keep_in(std::shared_ptr<const DocumentFiles> files) { files_ = std::move(files); }
  bool keeps_files() const { return files_ != nullptr; }
  /// Adds a document of an earlier process. It is prefilled again if its snapshot is not on disk.
  void restore(const std::shared_ptr<const ServedModel>& model, StoredDocument stored);
  /// Prefills a document again because its snapshot could not be loaded.
  void read_again(const std::string& id);
  /// Prefills a document whose text is known. Throws ApiError if that is not possible.
  void prefill(std::shared_ptr<const ServedModel> model, std::shared_ptr<ServedDocument> document,
               std::shared_ptr<const DocumentText> text);
  /// Forgets a document that was deleted.
  void forget(const std::shared_ptr<ServedDocument>& document);
  /// Calls `task` when the document is no longer being converted; at once if it is not.
  void when_converted(const std::shared_ptr<ServedDocument>& document, std::function<void()> task);

  /// Whether documents can be converted.
  bool alive() const { return converter_ != nullptr && converter_->alive(); }

 private:
  class Sink;
  struct Conversion {
    std::shared_ptr<const ServedModel> model;
    std::shared_ptr<ServedDocument> document;
    Source source;
  };
  struct Prefill {
    std::shared_ptr<const ServedModel> model;
    std::shared_ptr<ServedDocument> document;
  };

  void run();
  void convert_one(Conversion& conversion);
  std::shared_ptr<const DocumentText> text_of(const Conversion& conversion) const;
  void fail(const std::shared_ptr<ServedDocument>& document, const JobError& error);
  void guard_document(const std::shared_ptr<ServedDocument>& document,
                      const std::function<void()>& work);
  void settle(const std::shared_ptr<ServedDocument>& document);
  void start_prefill();
  void prefill_ended();
  void prefill(std::shared_ptr<const ServedModel> model, std::shared_ptr<ServedDocument> document,
               std::shared_ptr<const DocumentText> text, bool writes);
  void add_prefill(std::shared_ptr<const ServedModel> model,
                   std::shared_ptr<ServedDocument> document);
  void write_first(ServedDocument& document);
  void write(ServedDocument& document);
  void saved(const std::shared_ptr<ServedDocument>& document, const std::string& error);

  DocumentStore& store_;
  std::shared_ptr<const ConverterProcess> converter_;
  std::shared_ptr<const DocumentFiles> files_;  ///< null: documents are in memory only
  std::weak_ptr<const ServedModel> model_;      ///< model of the documents in files_
  PendingAnswers answers_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Conversion> conversions_;
  size_t waiting_bytes_ = 0;  ///< bytes of the documents in conversions_
  std::deque<Prefill> prefills_;
  std::deque<std::shared_ptr<ServedDocument>> unwritten_;  ///< their files have to be written anew
  bool prefilling_ = false, stopping_ = false;
  std::vector<std::pair<std::weak_ptr<ServedDocument>, std::function<void()>>> waiters_;
  std::vector<std::thread> threads_;
};

/// The refusal that a failed conversion becomes.
JobError error_of_document(const DocumentError& error);

}  // namespace longhaul::serve
