"""A server on loopback that speaks as OpenAI's chat completions do, and counts what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_retrieval import goldset_from_frames


class Server:
    """Answers every request from its own words alone, so that the same request gets the same reply.

    Attributes
    ----------
    asked
        Request body → how often a reply to it was sent.
    failures
        Statuses to answer with before anything else, each once.
    delay
        Seconds before a reply.
    """

    def __init__(self):
        self.asked = Counter()
        self.headers = []
        self.failures = []
        self.delay = 0.0
        self.reply = answer
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                outer.headers.append(dict(self.headers))
                time.sleep(outer.delay)
                if outer.failures:
                    self.send(outer.failures.pop(0), {"error": "busy"})
                    return
                reply = outer.reply(json.loads(body))
                outer.asked[body] += 1
                self.send(200, reply)

            def send(self, status, value):
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments):
                pass

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                """A client that was killed is no news."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def completion(content, finish="stop", **message):
    return {
        "choices": [
            {"finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": {"total_tokens": 7},
    }


def answer(body):
    """Cite the first document listed."""
    lines = body["messages"][-1]["content"].splitlines()
    first = next(line.removeprefix("ID: ") for line in lines if line.startswith("ID: "))
    return completion(json.dumps({"answer": f"Take {first}.", "cited_ids": [first]}))


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="session")
def goldset():
    import pandas as pd

    queries = pd.DataFrame(
        {"query_id": [f"q{n}" for n in range(12)], "query": [f"lamp {n}" for n in range(12)]}
    )
    qrels = pd.DataFrame(
        {"query_id": queries["query_id"], "doc_id": [f"d{n}" for n in range(12)], "grade": 1}
    )
    catalog = pd.DataFrame(
        {"doc_id": [f"d{n}" for n in range(20)], "name": [f"lamp {n}" for n in range(20)], "note": ""}
    )
    return goldset_from_frames("lamps", queries, qrels, catalog)
