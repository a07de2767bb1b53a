"""A server on the loopback interface that answers as GROBID's `processFulltextDocument` does.

As documented: the file comes as the form field `input`, TEI goes back with 200, 503 when all
threads are busy, 500 for a file that cannot be read.
"""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TEI = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xml:space="preserve" xmlns="http://www.tei-c.org/ns/1.0">
<teiHeader xml:lang="en"><fileDesc><titleStmt>
<title level="a" type="main">Safe Crossings for Urban Wildlife</title></titleStmt>
<sourceDesc><biblStruct><analytic><author><persName><forename type="first">Kim</forename>
<surname>Elm</surname></persName></author></analytic><monogr/><idno type="DOI">10.1000/safe</idno>
</biblStruct></sourceDesc></fileDesc>
<profileDesc><abstract><div><p><s>We build crossings.</s></p></div></abstract></profileDesc>
</teiHeader>
<text xml:lang="en"><body><div><head n="1">Introduction</head>
<p><s coords="1,72,100,200,9">Many die on roads <ref type="bibr" target="#b0">[1]</ref>, and wire
helps <ref type="bibr" target="#b1">[2]</ref>.</s>
<s coords="2,72,100,200,9">The zorbulating pavement repels badgers.</s></p></div></body>
<back><div type="references"><listBibl>
<biblStruct xml:id="b0" coords="3,72,100,200,9"><analytic>
<title level="a" type="main">Attention Is All You Need</title>
<author><persName><forename type="first">Zed</forename><surname>Zinnia</surname></persName></author>
<author><persName><forename type="first">Quentin</forename><surname>Quill</surname></persName></author>
</analytic><monogr><title level="m">NeurIPS</title><imprint><date type="published" when="2017"/>
</imprint></monogr><note type="raw_reference">Z. Zinnia and Q. Quill. Attention ...</note></biblStruct>
<biblStruct xml:id="b1" coords="3,72,120,200,9"><monogr><title level="m">A Book of Hedgehogs</title>
<author><persName><surname>Oak</surname></persName></author>
<imprint><date type="published" when="2002-05"/></imprint></monogr></biblStruct>
</listBibl></div></back></text></TEI>
"""


class Grobid:
    """One that runs; its manners may change at any time."""

    def __init__(self, *, busy: int = 0, seconds: float = 0.0, status: int = 200,
                 body: str = TEI) -> None:  # fmt: skip
        self.busy = busy
        """So many requests are answered with 503 first."""
        self.seconds = seconds
        self.status = status
        self.body = body
        self.requests: list[tuple[str, bytes]] = []
        """Path and body of each request."""
        handler = type("Handler", (_Handler,), {"grobid": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def quit(self) -> None:
        """As its user ends it."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Grobid:
        return self

    def __exit__(self, *_: object) -> None:
        self.quit()


class _Handler(BaseHTTPRequestHandler):
    grobid: Grobid

    def do_POST(self) -> None:
        grobid = self.grobid
        grobid.requests.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        time.sleep(grobid.seconds)
        status, body = grobid.status, grobid.body.encode()
        if grobid.busy:
            grobid.busy -= 1
            status, body = 503, b"no thread available"
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            if status in (301, 302):
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
