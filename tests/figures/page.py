"""A page of HTML as tests look at it."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Its tags, what they lead to or load, its ids and the words for pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.alts: list[str | None] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        self.ids += [identity for identity in (values.get("id"),) if identity]
        self.links += [value for name in ("href", "src") if (value := values.get(name))]
        if tag == "img":
            self.alts.append(values.get("alt"))
