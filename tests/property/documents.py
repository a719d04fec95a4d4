"""Markdown documents: own examples for each section of CommonMark, and as many generated ones as are asked for.

The specification's own examples are under CC-BY-SA and so are not held here. Each of ours is a form with words put in, so that a
construct also meets what is likely to harm it: marks, addresses, other scripts, long runs.
"""

import random
from collections.abc import Iterator
from itertools import chain, product

# https://spec.commonmark.org/0.31.2/ , and what models write beside it; `@` and `%` are words.
FORMS: dict[str, tuple[str, ...]] = {
    "tabs": ("\t@\t%", "  - @\n\n\t%", "-\t\t@", ">\t\t@", "#\t@\t", "1.\t@\n\n\t\t%"),
    "escapes": ("\\*@\\* \\_%\\_", "\\# @", "@\\\n%", "\\[@](%)", "\\`@`", "\\\\*@*", "\\@ \\% \\a"),
    "entities": ("&amp; @ &copy; %", "&#35; @", "&nbsp;@", "&nothing; @ &x;", "[@](/a&ouml;b)", "`&lt;@`"),
    "precedence": ("- `@\n- %`", "*@ `*%`", "> `@\n> %`"),
    "rules": ("***\n---\n___", "@\n***\n%", " - - -\n@", "+++\n@", "- @\n***\n- %", "* * *\n> ---"),
    "headings": ("# @", "###### @ #", "####### @", "#@", "## @ ## %", "#\n##\n### ###", "> # @\n%"),
    "underlined": ("@\n===", "@ %\n---", "@\n\n===", "> @\n---", "- @\n---", "`@\n---\n%`"),
    "indented": ("    @\n      %", "@\n    %", "    @\n\n\n    %", "    @\n%", "  \n    @\n\t%"),
    "fenced": (
        "```\n@\n %\n```",
        "~~~\n@\n~~~",
        "```\n@\n~~~",
        "````\n```\n@\n````",
        "```py\n@\n",
        "   ```\n   @\n  ```",
        "> ```\n> @\n\n%",
        "``` @ ```\n%",
        "```%\n@\n```",
        "~~~ @ %\n```\n~~~",
        "```\n\n\n```",
    ),
    "html": ("<div>\n*@*\n</div>", "<b>@</b> %", "<!-- @ -->\n%", "<@>", "a < b > @", "<a href='%'>@</a>", "<?@?>"),
    "references": ("[@]: https://x.org '%'\n\n[@]", "[%]: <>\n[@]", "[@]:\nhttps://x.org\n\n[@][]", "[^1]: @\n\n%[^1]"),
    "paragraphs": ("@\n%", "@\n\n\n%", "  @\n %", "@  \n%", "@\n             %", "\n\n@\n\n"),
    "quotes": ("> @\n> %", ">@\n%", "> > @\n> %", "> - @\n- %", ">\n> @\n>", "> @\n\n> %", ">>> @\n> %", "> ```\n@"),
    "items": (
        "- @\n\n  %",
        "1. @\n   %", "-\n  @", "10) @\n\n    %", "- - @\n  - %", "1. - 2. @", "- # @\n- %", "0. @\n-1. %",
    ),
    "lists": (
        "- @\n- %\n+ @", "1. @\n3. %",
        "* @\n\n* %\n\n\n* @", "@\n- %", "@\n14. %", "- @\n    - %\n        - @", "- [ ] @\n- [x] %",
    ),
    "code": ("`@`", "`` @ ` % ``", "` `` `", "`@\n%`", "`@*`*", "```@`` %`", "`` ` ``@", "*`@`*", "[`@`](https://x.org)"),
    "emphasis": (
        "*@*",
        "_@_ %",
        "**@**%",
        "*@**%*",
        "**@*%***",
        "***@** %*",
        "*@ **%***",
        "__@__%__",
        "@*%*@",
        "@_%_@",
        "* @*",
        "**\n@**",
        "*(**@**)*",
        "_*@_%*",
        "****@****",
        "**@\n%**",
        "~~@~~ ~%~",
        "||@|| %",
        "*@\n\n%*",
    ),
    "links": (
        "[@ \\] %](https://x.org/a_(b)_c)",
        "[`@` **%**](https://x.org/a*b*|c)",
        "[@](https://x.org/\u05d0?q=%20<b>)",
        "[@](https://x.org)",
        "[@](<https://x.org/a b> '%')",
        "[@]( %)",
        "[@ [%]](https://x.org)",
        "[*@*](https://x.org/_a_(b))",
        "[@](<https://x.org/*%*>)",
        "[@](",
        "[@](#%)",
        "[[@](https://x.org)](https://y.org)",
        "[@](javascript:%)",
        "[](https://x.org)",
        "[a] [@](mailto:%@x.org)",
        "**[@](https://x.org)**%",
    ),
    "images": ("![@](https://x.org/i.png)", "![](%)", "![*@*](https://x.org '%')", "[![@](https://x.org)](https://y.org)", "!@"),
    "addresses": (
        "<https://x.org/@>", "https://x.org/_@_", "**https://x.org/%**", "<@%x.org>", "https://x.org). @", "<https://x.org/a b>",
    ),
    "breaks": ("@  \n  %", "@\\\n%", "*@  \n%*", "# @\\", "@ \n%", "`@  \n%`"),
    "tables": (
        "|@|%|\n|-|-|\n|a|b|",
        "@|%\n:-|-:\n`a`|**b**\n*c*|",
        "|@|\n|-|\n\n%",
        "| a |\n| --- |\n| @ \\| % |",
        "|a|b|\n|-|-|\n|[@](https://x.org)|%",
        "> |@|%|\n> |-|-|\n> |1|2|",
        "|a|b|\n|-|-|\n|`@\\|%`|x|",
        "|`a|b`|@|\n|-|-|-|\n|x|%|y|",
        "- |@|\n  |-|\n  |%|",
    ),
    "numbers": (
        "0. @\n1. %", "999999999. @\n1. %", "1986. @\n1990. %", "1. @\n\n1. %\n   3. @", "> 7. @\n> 9. %", "1234567890. @",
    ),
    "mentions": (
        "<@123> @ <!channel> <#C1> %", "<!here|@> <@&7>", "@everyone @here %", "[@](<!channel>)", "`<@U1>` @", "<t:1:R> @",
    ),
    "directions": ("\u202e@\u202c %", "\u05d0\u05d1 **@** \u05d2 `%`", "\u2067@\u2069 (\u0627)", "\u200f- @\n- %", "> \u0627 @"),
    "invisible": (
        "\u200b@\u200b*%*", "*\u200b@*", "\u00ad@\u00ad_%_", "\ufeff# @", "[\u200b](https://x.org) @", "**\u2060@**\u2060%",
    ),
    "literal": (
        "\\*@\\* *%*", "\\_@\\_ _%_", "\\`@\\` `%`", "~@:~% ~~@~~", "\uff0a@\uff0a \uff1e%", "\\|\\|@\\|\\| ||%||",
        "\\> @\n\\- %",
    ),
    "code in lists": (
        "- @\n  ```py\n  %\n  ```\n- @", "1. @\n\n       %", "- - ```\n    @\n    ```", "- > ```\n  > @\n  > ```\n  > %",
    ),
    "marks in prose": ("2*3*4 @", "@_%_x", ">>> print(@)", "a ** b % c", "$@*%$", "@#1 -# %", "# ", "__init__ @", "@ | % || c"),
}  # fmt: skip
WORDS = (
    ("foo", "bar baz"),
    ("snake_case", "2*3"),
    ("\u91cd\u70b9\uff1a", "\u5185\u5bb9\u3002"),
    ("a*b", "c_d_ [e]"),
    ("\U0001f468\u200d\U0001f469\U0001f3fd", "e\u0301"),
    ("<@1> @everyone", "a & b"),
)
_PROSE = ("some words", "of an answer", "that goes on", "and says", "what is to be said,", "more", "or less.")


def examples() -> list[str]:
    """Every form with every pair of words."""
    return [_filled(form, words) for form, words in product(chain(*FORMS.values()), WORDS)]


def _filled(form: str, words: tuple[str, str]) -> str:
    return form.replace("@", words[0]).replace("%", words[1])


def generated(count: int, seed: int) -> Iterator[str]:
    """So many documents; one in eighty is too long for one message anywhere."""
    for number in range(count):
        chance = random.Random(f"{seed}:{number}")
        yield _Writer(chance).document(24 if number % 81 == 0 else chance.randint(1, 2))


class _Writer:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def document(self, blocks: int) -> str:
        gaps = ("\n\n", "\n\n", "\n\n", "\n", "\n\n\n")
        parts = [self._block(depth=0) + self._chance.choice(gaps) for _ in range(blocks)]
        return "".join(parts)

    def _block(self, depth: int) -> str:
        kind = self._chance.choice(_BLOCKS if depth < 2 else _LEAVES)
        match kind:
            case "paragraph":
                return "\n".join(
                    self._inlines(self._chance.randint(1, 4)) for _ in range(self._chance.randint(1, 2))
                )
            case "heading":
                return f"{'#' * self._chance.randint(1, 6)} {self._inlines(4)}"
            case "fence":
                return self._fence()
            case "table":
                return self._table()
            case "form":
                return self._form()
            case "quote":
                return "\n".join(f"> {line}" for line in self._blocks(depth).split("\n"))
            case _:
                return self._list(depth)

    def _blocks(self, depth: int) -> str:
        return "\n\n".join(self._block(depth + 1) for _ in range(self._chance.randint(1, 2)))

    def _list(self, depth: int) -> str:
        mark = self._chance.choice(("- ", "* ", "1. ", "7) "))
        items = [self._blocks(depth).split("\n") for _ in range(self._chance.randint(1, 4))]
        return "\n".join(mark + f"\n{' ' * len(mark)}".join(lines) for lines in items)

    def _fence(self) -> str:
        fence = self._chance.choice(("```", "~~~", "````"))
        lines = [
            "".join(self._chance.choices(_CODE, k=self._chance.randint(0, 9))) for _ in range(self._many())
        ]
        closing = fence if self._chance.random() < 0.9 else ""  # a model was cut off
        return "\n".join([fence + self._chance.choice(("", "py", "c++ x", "sh")), *lines, closing])

    def _table(self) -> str:
        columns = self._chance.randint(1, 4)
        rows = [[self._inline().replace("|", "\\|") for _ in range(columns)] for _ in range(self._many())]
        written = ["| " + " | ".join(row).replace("\n", " ") + " |" for row in rows]
        return "\n".join([written[0] if written else "|a|", "|" + ":-:|" * columns, *written[1:]])

    def _form(self) -> str:
        return _filled(self._chance.choice(_FORMS), self._chance.choice(WORDS))

    def _inlines(self, count: int) -> str:
        return " ".join(self._inline() for _ in range(count))

    def _inline(self) -> str:
        words = " ".join(self._chance.choices(_PROSE, k=self._chance.randint(1, 3)))
        word = self._chance.choice(self._chance.choice(WORDS))
        form = self._chance.choice(_INLINES)
        return form.format(words=words, word=word, run="x" * self._chance.choice((30, 150)))

    def _many(self) -> int:
        return self._chance.choice((0, 1, 2, 3, 4, 12))


_FORMS = tuple(chain(*FORMS.values()))
_LEAVES = ("paragraph", "paragraph", "heading", "fence", "form", "table")
_BLOCKS = (*_LEAVES, "quote", "list", "list")
_CODE = (
    "x = 1",
    "  ",
    "if a < b && c > d:",
    "`",
    "```",
    "**",
    "\t",
    "# no heading",
    "\u6f22",
    "\\",
    "||",
    "y" * 50,
)
_INLINES = (
    "{words}", "{words}", "{words}", "{word}", "**{words}**", "*{words}*", "***{word}***", "~~{words}~~", "||{words}||",
    "`{word}`", "`` {word} ` x ``", "[{words}](https://x.org/{word})", "https://x.org/{words}", "<https://x.org>",
    "**bold *and {word}* `code`**", "*a **b** {word}*", "[**{word}**](https://x.org/?a=1&b=2)", "({words})", "{run}",
    "{words}\n{word}", "*{word}", "**{word}", "`{word}", "[{word}", "\\*{word}\\*", "{word}*{word}", "_{word}_{word}",
)  # fmt: skip


def first(count: int, seed: int) -> list[str]:
    """All examples, and generated documents."""
    return [*examples(), *generated(count, seed)]
