#!/usr/bin/env python3
"""`longhaul serve --cache-dir` is killed at random moments and started again: python3 kill_test.py BINARY

After each start a question about every prompt that was prefilled before, and about every document that is listed,
gets the reply of a server without a cache, and the folder has no temporary files. KILLS sets the number of kills
(default 5)."""

import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

from server_process import ServerProcess

BINARY = sys.argv[1]
KILLS = int(os.environ.get("KILLS", "5"))
SEED = int(os.environ.get("SEED", "20261128"))


def document(number):
    words = random.Random(number)
    lines = [f"Entry {i}: the {words.choice('red green blue grey'.split())} box holds {words.randrange(1000)} nails."
             for i in range(60)]
    lines.insert(words.randrange(60), f"The pass key is {48213 + number}. Remember it.")
    return " ".join(lines)


def question(number, turn=0):
    asked = "What is the pass key?" if turn == 0 else f"What is the pass key? This is question {turn}."
    return {"messages": [{"role": "system", "content": document(number)}, {"role": "user", "content": asked}],
            "max_tokens": 12, "session": f"talk-{number}"}


def about(one):
    return {"documents": [one], "messages": [{"role": "user", "content": "What is the pass key?"}], "max_tokens": 12}


def add(server, number, persist):
    return server.post("/v1/documents", {"text": document(number), "name": str(number), "persist": persist})


def listed(server):
    return server.ask("GET", "/v1/documents")[1]["data"]


def keep_documents(server, numbers, stop):
    """Adds and deletes documents until the server is gone."""
    while not stop.is_set():
        try:
            add(server, random.choice(numbers), True)
            kept = listed(server)
            if len(kept) > 4:
                server.ask("DELETE", "/v1/documents/" + random.choice(kept)["id"])
            time.sleep(0.2)
        except (OSError, ValueError):
            return


def text_of(reply):
    return reply["choices"][0]["message"]["content"]


def use(server, numbers, stop):
    """Prefills, replies and saves until the server is gone."""
    turn = 1
    while not stop.is_set():
        number = random.choice(numbers)
        try:
            server.post("/v1/chat/completions", question(number, turn))
            server.post(f"/v1/sessions/talk-{number}/save", {})
        except (OSError, ValueError):
            return
        turn += 1


def main():
    random.seed(SEED)
    numbers = [0, 1, 2]
    with ServerProcess(BINARY, "--no-sandbox", "-t", "1") as server:
        expected = {n: text_of(server.post("/v1/chat/completions", {**question(n), "cache_prompt": False})[1])
                    for n in numbers}
        expected_of_document = {}
        for number in numbers:
            reply = server.post("/v1/chat/completions", about(add(server, number, False)[1]["id"]))[1]
            expected_of_document[str(number)] = text_of(reply)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary, "cache")
        reused = asked = 0
        for kill in range(KILLS + 1):
            with ServerProcess(BINARY, "--cache-dir", str(folder), "-t", "1") as server:
                left = [p.name for p in folder.iterdir() if "longhaul-part" in p.name]
                assert not left, f"temporary files remain after kill {kill}: {left}"
                for number in numbers:
                    status, reply = server.post("/v1/chat/completions", question(number))
                    assert status == 200, reply
                    assert text_of(reply) == expected[number], (kill, number, text_of(reply), expected[number])
                    reused += reply["longhaul"]["cache"]["reused"]
                for one in listed(server):
                    status, reply = server.post("/v1/chat/completions", about(one["id"]))
                    assert status == 200, (kill, one, reply)
                    assert text_of(reply) == expected_of_document[one["name"]], (kill, one, reply)
                    asked += 1
                if kill == KILLS:
                    for one in listed(server):
                        server.ask("DELETE", "/v1/documents/" + one["id"])
                    left = [p.name for p in folder.iterdir() if p.suffix == ".document"]
                    assert not left, f"files of deleted documents remain: {left}"
                    break
                stop = threading.Event()
                users = [threading.Thread(target=use, args=(server, numbers, stop)) for _ in range(2)]
                users.append(threading.Thread(target=keep_documents, args=(server, numbers, stop)))
                for user in users:
                    user.start()
                time.sleep(random.uniform(0.05, 3))
                server.process.send_signal(signal.SIGKILL)
                stop.set()
                for user in users:
                    user.join()
        assert reused > 0, "nothing was reused after a start"
        assert asked > 0, "no document was listed after a start"
        print(f"{KILLS} kills, {reused} tokens reused and {asked} listed documents answered after starts")


main()
