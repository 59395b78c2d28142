"""A server on this machine that says what a test has it say, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Asked:
    """One request as it arrived."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self.method, self.path, self.headers = handler.command, handler.path, handler.headers
        self.body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))


# (status, headers, body) for a request.
Says = Callable[[Asked], tuple[int, dict[str, str], bytes]]


class Server:
    def __init__(self, says: Says) -> None:
        self.says = says
        self.asked: list[Asked] = []
        self.address = ""


@contextmanager
def serving(says: Says) -> Iterator[Server]:
    server = Server(says)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            asked = Asked(self)
            server.asked.append(asked)
            status, headers, body = server.says(asked)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            # What says more than it sends is cut off.
            self.close_connection = int(headers.get("Content-Length", len(body))) != len(body)

        do_GET = do_POST = answer

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.address = f"http://127.0.0.1:{listening.server_port}"
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()
