# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page.py FILE KERNELS EDGES: checks a page of `fusec explain --html`."""
import html.parser
import sys

VOID = {"meta"}
IMPLIED = {"th"}  # may go without an end tag


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.targets, self.rows = [], [], [], 0

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "img", "iframe", "b", "base") or \
            (tag == "b" and self.open[-1] == "div"), tag
        for name, value in attributes:
            assert not name.startswith("on"), name
            assert name not in ("src", "srcset"), name
            if name == "id":
                self.ids.append(value)
            if name == "href":
                assert value.startswith("#"), value
                self.targets.append(value[1:])
        self.rows += tag == "tr"
        if tag not in VOID | IMPLIED:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in IMPLIED:
            assert self.open.pop() == tag, (tag, self.getpos())


text = open(sys.argv[1], encoding="utf-8").read()
kernels, edges = map(int, sys.argv[2:])
page = Page()
page.feed(text)
assert not [t for t in page.open if t not in ("rect",)], page.open
assert len(set(page.ids)) == len(page.ids)
assert set(page.targets) <= set(page.ids)
assert sum(i.startswith("k") for i in page.ids) == kernels, page.ids
assert page.rows == kernels + edges + 1 + (edges > 0), page.rows
assert "://" not in text and "@import" not in text
assert text.count('class="k"') == kernels
