"""Fetches a URL and returns the text of what is there."""

import http.client
import json
import re
import socket
import ssl
import sys
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

TIMEOUT = 15
REDIRECTS = (301, 302, 303, 307, 308)
HEADERS = {"User-Agent": "web-fetch/1.0", "Accept": "text/html, text/*, application/json", "Accept-Encoding": "identity"}


class Fault(Exception):
    """Why nothing could be fetched: a word for programs and a sentence."""

    def __init__(self, word, text):
        super().__init__(text)
        self.word = word


class Text(HTMLParser):
    """The text of a page, a line for each block."""

    HIDDEN = {"script", "style", "noscript", "template", "head", "svg"}
    BLOCKS = {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "pre", "table"}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.parts, self.title, self.hidden, self.in_title = [], "", 0, False

    def handle_starttag(self, tag, attrs):
        self.in_title = tag == "title" or self.in_title
        self.hidden += tag in self.HIDDEN
        if tag in self.BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag):
        self.in_title = self.in_title and tag != "title"
        if tag in self.HIDDEN and self.hidden:
            self.hidden -= 1
        if tag in self.BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data):
        if self.in_title:
            self.title += data
        elif not self.hidden:
            self.parts.append(data)

    def text(self):
        lines = (re.sub(r"\s+", " ", line).strip() for line in "".join(self.parts).split("\n"))
        return "\n".join(line for line in lines if line)


def connection(url):
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    parts = urlsplit(url)
    if parts.scheme not in kinds or not parts.hostname:
        raise Fault("bad_url", "not an http or https URL")
    if parts.username is not None or re.search(r"[\x00-\x20\x7f]", url):
        raise Fault("bad_url", "a name and password, spaces or control characters in the URL")
    try:
        port = parts.port
        host = parts.hostname.encode("idna").decode() if not parts.hostname.isascii() else parts.hostname
    except ValueError as error:
        raise Fault("bad_url", str(error)) from error
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    return kinds[parts.scheme](host, port, timeout=TIMEOUT), target.encode("utf-8").decode("latin-1")


def get(url, most):
    """Status, headers, body and whether there was more of it."""
    link, target = connection(url)
    try:
        link.request("GET", target, headers=HEADERS)
        answer = link.getresponse()
        body = answer.read(most + 1)
        return answer.status, answer.headers, body[:most], len(body) > most
    except socket.gaierror as error:
        raise Fault("refused", f"the name is not allowed, or there is no such name ({error.strerror})") from error
    except ssl.SSLError as error:
        raise Fault("tls", str(error)) from error
    except TimeoutError as error:
        raise Fault("timeout", "no answer in time") from error
    except ConnectionResetError as error:
        raise Fault("refused", "the connection was reset: the policy does not allow it, or the server ended it") from error
    except http.client.HTTPException as error:
        raise Fault("protocol", f"not HTTP: {type(error).__name__}") from error
    except UnicodeError as error:
        raise Fault("bad_url", "characters that a URL cannot have") from error
    except OSError as error:
        raise Fault("unreachable", error.strerror or str(error)) from error
    finally:
        link.close()


def readable(headers, body):
    kind = headers.get_content_type()
    charset = headers.get_content_charset() or "utf-8"
    if not (kind.startswith("text/") or kind in ("application/json", "application/xml", "application/xhtml+xml")):
        return "", f"[{len(body)} bytes of {kind}]"
    try:
        text = body.decode(charset, "replace")
    except LookupError:
        text = body.decode("utf-8", "replace")
    if kind not in ("text/html", "application/xhtml+xml"):
        return "", text
    page = Text()
    page.feed(text)
    page.close()
    return page.title.strip(), page.text()


def fetch(url, most_bytes, most_chars, redirects):
    hops = []
    try:
        for _ in range(redirects + 1):
            status, headers, body, more = get(url, most_bytes)
            hops.append({"url": url, "status": status})
            if status not in REDIRECTS or "Location" not in headers:
                title, text = readable(headers, body)
                return {
                    "url": url,
                    "status": status,
                    "content_type": headers.get_content_type(),
                    "title": title[:300],
                    "text": text[:most_chars],
                    "truncated": more or len(text) > most_chars,
                    "hops": hops,
                }
            url = urljoin(url, headers["Location"])
        raise Fault("redirect", "too many redirects")
    except Fault as fault:
        return {"url": url, "error": fault.word, "message": str(fault), "hops": hops}


def main():
    data = json.load(sys.stdin)
    result = fetch(
        data["url"], data.get("max_bytes", 500_000), data.get("max_chars", 20_000), data.get("redirects", 5)
    )
    print(json.dumps(result, ensure_ascii=False))
    return 1 if "error" in result else 0


if __name__ == "__main__":
    sys.exit(main())
