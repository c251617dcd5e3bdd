#!/usr/bin/env python3
"""A server without a model, for tests of the page that need what a small model cannot give: texts of a million tokens,
slow prefills, failures at a chosen moment. Its answers have the form of docs/serving.md.

    python3 tests/web/stand_in.py [PORT]      serves web/ from the source folder; PORT 0: any
"""

import gzip
import json
import pathlib
import re
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WEB = pathlib.Path(__file__).resolve().parents[2] / "web"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}
METHODS = {
    "dense": ("All keys of the text.", "Nothing; it needs the most memory.", 1.0),
    "duo": ("Everything in the heads that look far back, the recent part in the others.", "Little; heads are measured for a model.", 0.55),
    "snapkv": ("The tokens that the end of the text attends to.", "Questions about other parts of the text.", 0.18),
    "infllm": ("The whole text; each step looks up the nearest blocks.", "Facts that are spread over many places.", 1.02),
    "streamingllm": ("The first tokens and the recent ones.", "Everything in between: it is forgotten.", 0.06),
    "h2o": ("The tokens that received most attention so far.", "Rare details.", 0.2),
}
SENTENCE = re.compile(r"[^.!?\n]+[.!?]+|[^\n]+")


class Store:
    """What the server knows. `speed`: tokens per second of a prefill; `pause`: seconds between two words of a reply."""

    def __init__(self, speed=20000, pause=0.02, key=""):
        self.speed, self.pause, self.key = speed, pause, key
        self.lock = threading.Lock()
        self.documents, self.files, self.streams = {}, {}, {}
        self.generated = 0  # replies that were computed
        self.names = 0
        self.away = False  # open connections end
        self.reply = None  # text of the next replies; None: sentences of the document

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names:032x}"

    def add(self, text, name, attention="dense"):
        tokens = max(1, len(text) * 10 // 44)
        pages = [{"page": int(m[1]), "from": m.start()} for m in re.finditer(r"^\[page (\d+)\]$", text, re.MULTILINE)]
        for i, page in enumerate(pages):
            page["to"] = pages[i + 1]["from"] if i + 1 < len(pages) else len(text)
        document = {"id": self.name("doc_"), "object": "document", "created_at": int(time.time()), "name": name, "made": "", "attention": attention,
                    "system": "", "persist": False, "bytes": len(text.encode()), "characters": len(text), "pages": len(pages), "tokens": tokens,
                    "error": None, "warnings": []}
        self.documents[document["id"]] = {"document": document, "text": text, "pages": pages, "begun": time.time()}
        return document["id"]

    def view(self, name):
        entry = self.documents.get(name)
        if not entry:
            return None
        document = dict(entry["document"])
        seconds = time.time() - entry["begun"]
        done = min(document["tokens"], int(seconds * self.speed))
        document["status"] = "ready" if done == document["tokens"] else "reading"
        left = (document["tokens"] - done) / self.speed
        document["progress"] = {"done": done, "total": document["tokens"], "cached": 0, "seconds": seconds, "seconds_left": left,
                                "tokens_per_second": float(self.speed)}
        share = METHODS.get(document["attention"].split(":")[0], ("", "", 1))[2]
        document["kv_bytes"] = int(document["tokens"] * 9216 * share) if document["status"] == "ready" else None
        return document


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store = Store()

    def log_message(self, *_):
        pass

    def send_body(self, status, body, kind="application/json", **more):
        body = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def problem(self, status, code, message, **more):
        self.send_body(status, {"error": {"message": message, "type": "invalid_request_error", "code": code, **more}})

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def page(self, path):
        name = "index.html" if path == "/" else path.removeprefix("/assets/")
        file = WEB / name
        if "/" in name or not file.is_file():
            return self.problem(404, "not_found", "this path is not served")
        self.send_body(200, gzip.compress(file.read_bytes()), TYPES[file.suffix], Content_Encoding="gzip", Cache_Control="no-cache",
                       Content_Security_Policy="default-src 'self'; frame-ancestors 'none'")

    def allowed(self):
        if not self.store.key or self.headers.get("Authorization") == f"Bearer {self.store.key}":
            return True
        self.body()
        self.problem(401, "invalid_api_key", "the API key is missing or wrong")
        return False

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/" or url.path.startswith("/assets/"):
            return self.page(url.path)
        if url.path == "/health":
            return self.send_body(200, {"status": "ok"})
        if not self.allowed():
            return None
        parts = url.path.strip("/").split("/")
        if url.path == "/props":
            return self.send_body(200, {"model_alias": "stand-in", "longhaul": {"attention": "dense", "kv_type": "bf16", "kernels": "none",
                                                                               "trained_context": 131072, "sandbox": "off"}})
        if url.path == "/v1/methods":
            return self.send_body(200, {"data": [{"name": name, "summary": keeps, "keeps": keeps, "harms": harms}
                                                 for name, (keeps, harms, _) in METHODS.items()]})
        if url.path == "/metrics":
            return self.send_body(200, self.metrics(), "text/plain")
        if parts[:2] == ["v1", "documents"]:
            return self.get_document(parts[2:], query)
        if parts[:2] == ["v1", "files"] and len(parts) > 2:
            entry = self.store.files.get(parts[2])
            if not entry:
                return self.problem(404, "not_found", "no such file")
            return self.send_body(200, entry["text"] if len(parts) > 3 else {"id": parts[2], "status": "processed"}, "text/plain" if len(parts) > 3 else "application/json")
        if parts[:2] == ["v1", "stream"]:
            return self.replay(urllib.parse.unquote(parts[2]), int(query.get("from", 0)))
        return self.problem(404, "not_found", "this path is not served")

    def metrics(self):
        kept = sum(self.store.view(name)["kv_bytes"] or 0 for name in self.store.documents)
        return (f'longhaul_kv_limit_bytes 8000000000\nlonghaul_kv_bytes{{state="live"}} 90000000\nlonghaul_kv_bytes{{state="cached"}} {kept}\n'
                f'longhaul_kv_bytes{{state="reserved"}} 240000000\nlonghaul_running 1\nlonghaul_waiting 0\n'
                f'longhaul_prompt_tokens_total{{source="read"}} 120411\nlonghaul_prompt_tokens_total{{source="memory"}} 804112\n')

    def get_document(self, parts, query):
        store = self.store
        if not parts:
            return self.send_body(200, {"object": "list", "data": [store.view(name) for name in list(store.documents)]})
        entry = store.documents.get(parts[0])
        if not entry:
            return self.problem(404, "document_not_found", "there is no document with this id")
        if query.get("stream"):
            return self.follow_document(parts[0])
        if parts[1:] == ["text"]:
            return self.send_body(200, {"id": parts[0], "characters": len(entry["text"]), "from": 0, "to": len(entry["text"]), "text": entry["text"],
                                        "pages": entry["pages"]})
        if parts[1:] == ["map"]:
            return self.send_body(200, self.retention(entry))
        return self.send_body(200, store.view(parts[0]))

    def retention(self, entry, layers=8, heads=4, bins=512):
        share = METHODS[entry["document"]["attention"].split(":")[0]][2]
        def kept(layer, head, b):
            if share >= 1:
                return 1.0
            if b < 4 or b > bins - 24 or (share > 0.5 and (layer + head) % 2):
                return 1.0
            return max(0.0, min(1.0, share * (1 + 2.5 * ((b * 2654435761 + layer * 97 + head * 31) % 101 / 100 - 0.5))))
        tokens = entry["document"]["tokens"]
        return {"id": entry["document"]["id"], "attention": entry["document"]["attention"], "tokens": tokens, "layers": layers, "heads": heads, "bins": bins,
                "text_from": min(12, tokens - 1), "text_to": tokens,
                "kept": [[[kept(layer, head, b) for b in range(bins)] for head in range(heads)] for layer in range(layers)]}

    def begin_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, data):
        self.wfile.write(f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def follow_document(self, name):
        self.begin_events()
        try:
            while True:
                view = self.store.view(name)
                if not view:
                    self.event({"error": {"code": "document_deleted", "message": "the document has been deleted"}})
                    break
                self.event(view)
                if view["status"] in ("ready", "failed"):
                    break
                time.sleep(0.25)
            self.event("[DONE]")
        except OSError:
            pass

    def do_DELETE(self):
        if not self.allowed():
            return
        parts = urllib.parse.urlsplit(self.path).path.strip("/").split("/")
        if parts[:2] == ["v1", "documents"] and self.store.documents.pop(parts[2], None):
            self.send_body(200, {"id": parts[2], "object": "document", "deleted": True})
        elif parts[:2] == ["v1", "stream"]:
            stream = self.store.streams.pop(urllib.parse.unquote(parts[2]), None)
            if stream:
                stream["stopped"] = True
            self.send_response(204)
            self.end_headers()
        elif parts[:2] == ["v1", "files"]:
            self.store.files.pop(parts[2], None)
            self.send_body(200, {"deleted": True})
        else:
            self.problem(404, "document_not_found", "there is no document with this id")

    def do_POST(self):
        if not self.allowed():
            return None
        body = self.body()
        path = urllib.parse.urlsplit(self.path).path
        if path == "/v1/files":
            return self.add_file(body)
        data = json.loads(body)
        parts = path.strip("/").split("/")
        if path == "/v1/documents":
            text = data.get("text") or self.store.files[data["file_id"]]["text"]
            return self.send_body(202, self.store.view(self.store.add(text, data.get("name", "text"), data.get("attention", "dense"))))
        if parts[-1] == "fork":
            entry = self.store.documents[parts[2]]
            return self.send_body(202, self.store.view(self.store.add(entry["text"], entry["document"]["name"], data["attention"])))
        if path == "/v1/chat/completions/input_tokens":
            return self.send_body(200, {"input_tokens": max(1, len(data["messages"][0]["content"]) * 10 // 44)})
        if path == "/v1/advise":
            return self.send_body(200, self.advise(data))
        if path == "/v1/chat/completions":
            return self.chat(data)
        return self.problem(404, "not_found", "this path is not served")

    def add_file(self, body):
        name = re.search(rb'filename="([^"]*)"', body)[1].decode()
        content = body.split(b"\r\n\r\n")[2].rsplit(b"\r\n--", 1)[0] if b"filename" in body.split(b"\r\n\r\n")[1] else body.split(b"\r\n\r\n")[-1].rsplit(b"\r\n--", 1)[0]
        if b"\0" in content:
            return self.problem(415, "unsupported_format", f"{name} is no text, and no format that is read: plain text, PDF, DOCX, ODT, EPUB, HTML, RTF")
        made = self.store.name("file-")
        self.store.files[made] = {"text": content.decode("utf-8", "replace")}
        return self.send_body(200, {"id": made, "object": "file", "filename": name, "status": "processed"})

    def advise(self, data):
        tokens = data.get("tokens") or self.store.documents[data["document"]]["document"]["tokens"]
        limit = 6_000_000_000
        rows = []
        for name, (keeps, harms, share) in METHODS.items():
            size = int(tokens * 9216 * share)
            rows.append({"attention": name, "name": name, "summary": keeps, "keeps": keeps, "harms": harms, "bytes": size, "seconds": tokens / self.store.speed,
                         "fits": size < limit, "fits_now": size < limit, "sources": name not in ("streamingllm", "infllm"), "within_training": tokens < 131072,
                         "recommended": False, "measured": {"task": "needle", "tokens": 16384, "score": 0.97 - (1 - share) * 0.3 * (share < 0.5), "dense": 0.97, "model": "smollm2-32k"}})
        best = next((row for row in rows if row["fits"]), None)
        if best:
            best["recommended"] = True
        return {"tokens": tokens, "reply": 1024, "trained_context": 131072, "limit": limit, "attention": best and best["attention"],
                "why": "It reads everything, and its keys fit into the memory." if best else "Nothing fits into the memory.", "data": rows}

    def chat(self, data):
        store = self.store
        names = data.get("documents", [])
        for name in names:
            if name not in store.documents:
                return self.problem(404, "document_not_found", "there is no document with this id")
        stream = {"bytes": b"", "done": False, "stopped": False, "changed": threading.Condition()}
        conversation = self.headers.get("X-Conversation-Id", store.name("conv-"))
        store.streams[conversation] = stream
        threading.Thread(target=self.generate, args=(data, names, stream), daemon=True).start()
        return self.replay(conversation, 0)

    def generate(self, data, names, stream):
        store = self.store
        store.generated += 1
        method = store.documents[names[0]]["document"]["attention"] if names else data.get("attention", "dense")
        def send(event):
            with stream["changed"]:
                stream["bytes"] += f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
                stream["changed"].notify_all()
        while names and names[0] in store.documents and store.view(names[0])["status"] != "ready":
            progress = store.view(names[0])["progress"]
            send({"choices": [], "prompt_progress": {"total": progress["total"], "cache": 0, "processed": progress["done"], "time_ms": 0}})
            time.sleep(0.25)
        if names and names[0] not in store.documents:
            send({"error": {"status": 404, "code": "document_deleted", "message": "the document has been deleted"}})
            send("[DONE]")
            stream["done"] = True
            return
        text, sentences = self.answer(data, names, method)
        for word in re.findall(r"\S+\s*|\s+", text):
            if stream["stopped"]:
                return
            send({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
            time.sleep(store.pause)
        tokens = store.documents[names[0]]["document"]["tokens"] if names else 40
        sources = [source for sentence in sentences for source in sentence["sources"]][:3]
        send({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        send({"choices": [], "usage": {"prompt_tokens": tokens + 23, "completion_tokens": len(text.split()), "prompt_tokens_details": {"cached_tokens": tokens if names else 0}},
              "timings": {"prompt_ms": 190, "predicted_per_second": 42.0},
              "longhaul": {"attention": method, "kv_bytes": int(tokens * 9216 * METHODS[method.split(":")[0]][2]), "kv_bytes_dense": tokens * 9216, "queue_ms": 2,
                           "pairs_share": 0.4, "seed": None, "cache": {"reused": tokens, "reusable": tokens, "exact": True}, "sources": sources,
                           "rests_on_a_passage": True, "sentences": sentences, "warnings": []}})
        send("[DONE]")
        with stream["changed"]:
            stream["done"] = True
            stream["changed"].notify_all()

    def answer(self, data, names, method):
        """Three sentences of the document, each with its passage, or words without one."""
        if not names:
            said = data["messages"][-1]["content"]
            sentences = [{"from": 0, "to": 6, "sources": [{"document": None, "message": len(data["messages"]) - 1, "page": None, "from": at, "to": at + 6, "share": 0.4,
                                                           "text": "secret"}]} for at in [said.find("secret")] if at >= 0]
            return self.store.reply or "Hello. **This** is a reply:\n\n- one\n- `two`\n\n```\ncode <b>not bold</b>\n```\n", sentences
        entry = self.store.documents[names[0]]
        found = [m for m in SENTENCE.finditer(entry["text"]) if 40 < len(m[0].strip()) < 300]
        seed = len(data["messages"][-1]["content"]) + (7 if method == "snapkv" else 0)
        picked = [found[(seed * 7919 + i * len(found) // 3) % len(found)] for i in range(3)] if found else []
        text, sentences = self.store.reply or "", []
        for match in picked:
            begin = len(text)
            if not self.store.reply:
                text += match[0].strip().replace("\n", " ") + " "
            at = match.start() + len(match[0]) - len(match[0].lstrip())
            page = next((p["page"] for p in reversed(entry["pages"]) if p["from"] <= at), None)
            sentences.append({"from": begin, "to": len(text.rstrip()), "sources": [{"document": names[0], "name": entry["document"]["name"], "page": page, "from": at, "to": match.end(),
                                                                                 "share": 0.21, "text": match[0].strip()}]})
        return text.strip() or "There is nothing.", sentences

    def replay(self, conversation, begin):
        stream = self.store.streams.get(conversation)
        if not stream:
            return self.problem(404, "not_found", "no reply with this id is kept")
        self.begin_events()
        sent = begin
        try:
            while True:
                with stream["changed"]:
                    if sent >= len(stream["bytes"]) and not stream["done"] and not stream["stopped"]:
                        stream["changed"].wait(0.5)
                    piece = stream["bytes"][sent:]
                    ended = stream["done"] or stream["stopped"]
                if self.store.away:
                    return None
                self.wfile.write(piece)
                self.wfile.flush()
                sent += len(piece)
                if ended and sent >= len(stream["bytes"]):
                    return None
        except OSError:
            return None


class StandIn:
    """A running stand-in: `with StandIn(speed=...) as server: server.url`."""

    def __init__(self, port=0, **settings):
        handler = type("StandInHandler", (Handler,), {"store": Store(**settings)})
        self.store = handler.store
        self.port = port
        self.handler = handler
        self.start()

    def start(self):
        self.store.away = False
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), self.handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.store.away = True
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


if __name__ == "__main__":
    with StandIn(int(sys.argv[1]) if len(sys.argv) > 1 else 0) as running:
        print(running.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
