"""Lists the mentions of URLs in pages, by the parser of Python's standard library: no tree, just tags as they stand.

Reads paths from standard input, and prints for each page a line of JSON: [[tag, attribute, value, text], ...].
"""
import html.parser
import json
import sys

NAMES = {
    "a": ["href"], "area": ["href"], "link": ["href"], "img": ["src"], "script": ["src"], "iframe": ["src"],
    "source": ["src"], "video": ["src", "poster"], "audio": ["src"], "embed": ["src"], "object": ["data"], "track": ["src"],
}


class Mentions(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found, self.open, self.silent = [], None, False

    def handle_starttag(self, tag, attrs):
        self.silent = tag in ("script", "style")
        met = set()
        for name, value in attrs:
            if name in NAMES.get(tag, []) and name not in met:
                met.add(name)  # of two attributes of one name the first one counts
                self.found.append([tag, name, value or "", ""])
                if tag == "a":
                    self.open = self.found[-1]

    def handle_endtag(self, tag):
        self.silent = False
        if tag == "a":
            self.open = None

    def handle_data(self, data):
        if self.open is not None and not self.silent:
            self.open[3] += data


for path in sys.stdin:
    with open(path.rstrip("\n"), encoding="utf-8", errors="surrogateescape", newline="") as f:
        parser = Mentions()
        parser.feed(f.read())
        parser.close()
    print(json.dumps(parser.found))
