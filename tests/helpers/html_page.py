"""Pages of HTML, taken apart."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "img", "input", "link", "hr"}


class Page(HTMLParser):
    """Elements, text outside of scripts and styles, and what could act or fetch."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.ids = [], [], []
        self.text, self.open, self.scripts = "", [], []
        self.feed(source)
        assert self.open == []
        assert all(not name.startswith("on") for _, name, _ in self.attributes)
        self.words = " ".join(self.text.split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif not self.open or self.open[-1] != "style":
            self.text += data + " "
