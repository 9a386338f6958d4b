"""XML and HTML are read."""
import html.parser, xml.etree.ElementTree as tree
root = tree.fromstring("<a>" + "<b c='1'>t</b>" * 1000 + "</a>")
assert len(root.findall("b")) == 1000
class Count(html.parser.HTMLParser):
    n = 0
    def handle_starttag(self, *_): self.n += 1
count = Count(); count.feed("<p><b>x</b></p>" * 100); assert count.n == 200
print("works")
