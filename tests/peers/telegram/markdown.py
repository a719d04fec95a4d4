"""A strict reader of the Bot API's MarkdownV2 mode. https://core.telegram.org/bots/api#markdownv2-style"""

from dataclasses import dataclass

from tests.peers.telegram.entities import Formatted, TextBuilder, Unparsable

_RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
_MARKS = (("__", "underline"), ("||", "spoiler"), ("*", "bold"), ("_", "italic"), ("~", "strikethrough"))
_NAMES = {
    "bold": "Bold", "italic": "Italic", "underline": "Underline", "strikethrough": "Strikethrough",
    "spoiler": "Spoiler", "code": "Code", "pre": "PreCode", "text_link": "TextUrl",
    "custom_emoji": "CustomEmoji",
}  # fmt: skip


@dataclass(slots=True)
class _Open:
    kind: str
    start: int
    at: int


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source.replace("\r", "")
        self.at = 0
        self.out = TextBuilder()
        self.opened: list[_Open] = []
        self.quote: int | None = None

    def read(self) -> Formatted:
        while self.at < len(self.source):
            self._line_start()
            if self.at < len(self.source):
                self._step()
        self._end_quote("blockquote")
        if self.opened:
            last = self.opened[-1]
            raise Unparsable(
                f"Can't find end of {_NAMES[last.kind]} entity at byte offset {self._byte(last.at)}"
            )
        return self.out.build()

    def _line_start(self) -> None:
        """Quotes run over whole lines that begin with `>`."""
        if self.at and self.source[self.at - 1] != "\n":
            return
        if self.source.startswith("**>", self.at):  # two quotes, one right after the other
            self._end_quote("blockquote")
            self.at += 2
        quoted = self.source[self.at] == ">"
        if quoted:
            self.at += 1
            if self.quote is None:
                self.quote = self.out.length
        elif self.quote is not None:
            self._end_quote("blockquote")

    def _end_quote(self, kind: str) -> None:
        if self.quote is not None:
            self.out.close(kind, self.quote)
            self.quote = None

    def _step(self) -> None:
        char = self.source[self.at]
        following = self.source[self.at + 1 : self.at + 2]
        if char == "\\" and following and following <= "\x7e":
            self._text(following, 2)
        elif char not in _RESERVED:
            self._text(char, 1)
        elif char == "`":
            self._code()
        elif char == "]" and self.opened and self.opened[-1].kind in ("text_link", "custom_emoji"):
            self._end_link(self.opened.pop())
        elif char == "[" or self.source.startswith("![", self.at):
            self._begin("custom_emoji" if char == "!" else "text_link", 2 if char == "!" else 1)
        elif not self._expandable_end() and not self._mark():
            raise Unparsable(f"Character '{char}' is reserved and must be escaped with the preceding '\\'")

    def _text(self, text: str, width: int) -> None:
        self.out.add(text)
        self.at += width

    def _begin(self, kind: str, width: int) -> None:
        self.opened.append(_Open(kind, self.out.length, self.at))
        self.at += width

    def _expandable_end(self) -> bool:
        """`||` at the end of a quote's last line makes the quote expandable, unless it ends a spoiler."""
        rest = self.source[self.at : self.at + 4]
        spoiler = bool(self.opened) and self.opened[-1].kind == "spoiler"
        if self.quote is None or spoiler or not (rest == "||" or (rest[:3] == "||\n" and rest[3:] != ">")):
            return False
        self._end_quote("expandable_blockquote")
        self.at += 2
        return True

    def _mark(self) -> bool:
        for mark, kind in _MARKS:
            if self.source.startswith(mark, self.at):
                top = self.opened[-1] if self.opened else None
                if top is not None and top.kind == kind:
                    self.opened.pop()
                    self.out.close(kind, top.start)
                    self.at += len(mark)
                elif any(o.kind == kind for o in self.opened):
                    return False
                else:
                    self._begin(kind, len(mark))
                return True
        return False

    def _code(self) -> None:
        block = self.source.startswith("```", self.at)
        mark, kind = ("```", "pre") if block else ("`", "code")
        begun, self.at = self.at, self.at + len(mark)
        language = self._language() if block else ""
        start = self.out.length
        while not self.source.startswith(mark, self.at):
            if self.at >= len(self.source) or self.source[self.at] == "`":
                raise Unparsable(
                    f"Can't find end of {_NAMES[kind]} entity at byte offset {self._byte(begun)}"
                )
            following = self.source[self.at + 1 : self.at + 2]
            escaped = self.source[self.at] == "\\" and following != "" and following <= "\x7e"
            self._text(following if escaped else self.source[self.at], 2 if escaped else 1)
        self.at += len(mark)
        self.out.close(kind, start, **({"language": language} if language else {}))

    def _language(self) -> str:
        end = self.at
        while end < len(self.source) and not self.source[end].isspace() and self.source[end] != "`":
            end += 1
        language = self.source[self.at : end]
        if self.source[end : end + 1] != "\n":
            return ""
        self.at = end + 1
        return language

    def _end_link(self, link: _Open) -> None:
        if self.source[self.at + 1 : self.at + 2] != "(":
            url = ""
            self.at += 1
        else:
            url = self._url()
        if link.kind == "custom_emoji":
            self.out.close("custom_emoji", link.start, custom_emoji_id=url.rpartition("id=")[2])
        elif "://" in url or url.startswith(("mailto:", "tel:")) or "." in url:
            self.out.close("text_link", link.start, url=url)

    def _url(self) -> str:
        begun, self.at, url = self.at, self.at + 2, []
        while self.source[self.at : self.at + 1] != ")":
            if self.at >= len(self.source):
                raise Unparsable(f"Can't find end of a URL at byte offset {self._byte(begun)}")
            following = self.source[self.at + 1 : self.at + 2]
            escaped = self.source[self.at] == "\\" and following != "" and following <= "\x7e"
            url.append(following if escaped else self.source[self.at])
            self.at += 2 if escaped else 1
        self.at += 1
        return "".join(url)

    def _byte(self, position: int) -> int:
        return len(self.source[:position].encode("utf-8", "surrogatepass"))


def parse_markdown_v2(source: str) -> Formatted:
    """Text and entities of a MarkdownV2 message. Raises `Unparsable`."""
    return _Reader(source).read()
