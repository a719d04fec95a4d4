# ruff: noqa: E501, ISC004  patterns are read best on one line
"""Looks for text that tries to command the agent.

Injection, role hijack, hidden instructions, exfiltration, invisible characters. Pure and of linear cost: every pattern is bounded. It recognises what is known; what passes is still marked
as untrusted.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = ["Finding", "scan"]

_GAP = r"[\s\W]{1,5}"
_RULES: tuple[tuple[str, str], ...] = (
    (
        "injection",
        rf"\b(?:ignore|disregard|forget|override|bypass){_GAP}(?:\w+{_GAP}){{0,4}}?(?:previous|prior|above|earlier|all|your|system)"
        rf"{_GAP}(?:\w+{_GAP}){{0,3}}?(?:instructions?|prompts?|rules?|directives?|guidelines?|context)\b",
    ),
    ("injection", rf"\b(?:new|real|updated){_GAP}system{_GAP}(?:prompt|instructions?)\b\s*[:=]"),
    ("injection", r"(?:忽略|无视|忘记)[^\n]{0,10}(?:之前|以上|先前|所有)[^\n]{0,10}(?:指令|提示|规则)"),
    (
        "injection",
        r"\bignorier\w*\b[^\n]{0,30}\b(?:anweisung|anweisungen|regeln)\b|\bignora\w*\b[^\n]{0,30}\binstruc\w+",
    ),
    (
        "role hijack",
        rf"\byou{_GAP}are{_GAP}(?:now|no{_GAP}longer){_GAP}(?:\w+{_GAP}){{0,3}}?(?:dan|jailbroken|unrestricted|root|admin|bound|an?{_GAP}ai)\b",
    ),
    (
        "role hijack",
        rf"\b(?:pretend|act){_GAP}(?:as{_GAP}if{_GAP}|that{_GAP})?you{_GAP}(?:are|have){_GAP}(?:no|without){_GAP}(?:\w+{_GAP}){{0,2}}?(?:restrictions?|limits?|rules?|filters?)\b",
    ),
    ("role hijack", r"<\|(?:im_start|im_end|system|assistant|endoftext)\|>|\[/?INST\]|<<SYS>>"),
    ("role hijack", r"(?m)^\s{0,3}(?:#{1,3}\s*)?(?:system|developer)\s*(?:prompt|message|override)\s*:"),
    (
        "hidden instructions",
        rf"\b(?:do{_GAP}not|don.?t|never){_GAP}(?:tell|inform|mention|reveal|show)\w*{_GAP}(?:\w+{_GAP}){{0,3}}?(?:the{_GAP})?(?:user|human|owner|operator)\b",
    ),
    (
        "hidden instructions",
        r"<!--[^>]{0,400}?\b(?:ignore|instruction|system prompt|assistant|secretly)\b[^>]{0,400}?-->",
    ),
    (
        "hidden instructions",
        r"<\w+[^>]{0,200}style\s*=\s*[\"'][^\"'>]{0,200}(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0)",
    ),
    (
        "exfiltration",
        r"\b(?:curl|wget|fetch|nc)\b[^\n]{0,200}(?:\$\{?\w*(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)\w*|\.env\b|id_rsa|id_ed25519)",
    ),
    (
        "exfiltration",
        rf"\b(?:send|post|upload|exfiltrate|leak|forward|email){_GAP}(?:\w+{_GAP}){{0,6}}?(?:api{_GAP}?keys?|tokens?|passwords?|secrets?|credentials?|\.env)\b[^\n]{{0,80}}(?:https?://|\bto\b)",
    ),
    (
        "exfiltration",
        r"\b(?:cat|type|less|head|read)\b[^\n]{0,60}(?:~?/\.(?:ssh|aws|netrc|pgpass)\b|\.hermes/\.env)",
    ),
    ("exfiltration", r"\bauthorized_keys\b"),
    ("exfiltration", r"!\[[^\]\n]{0,100}\]\(https?://[^)\s]{1,300}[?&]\w{1,40}=\s*(?:\{|\$|%7b)"),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _RULES)

# Shows nothing and carries text or turns its order around. ZWJ and ZWNJ belong to emoji and to scripts;
# variation selectors too.
_INVISIBLE = re.compile(
    "[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)
_SUBDIVISION_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,10}\U000e007f")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found. `excerpt` is at most 80 characters; invisible ones are written as U+XXXX."""

    kind: str
    excerpt: str


def scan(text: str) -> tuple[Finding, ...]:
    """What in `text` looks like an attack; empty when nothing does. At most one finding of each rule."""
    found = [Finding(kind, _excerpt(m[0])) for kind, p in _PATTERNS if (m := p.search(text))]
    body = _SUBDIVISION_FLAG.sub("", text.removeprefix("\ufeff"))
    hidden = _INVISIBLE.findall(body)
    if hidden:
        found.append(Finding("invisible Unicode", _excerpt("".join(hidden[:8]))))
        bare = _INVISIBLE.sub("", body)
        found += [
            Finding(k, _excerpt(m[0])) for k, p in _PATTERNS if (m := p.search(bare)) and not p.search(text)
        ]
    plain = unicodedata.normalize("NFKC", text)
    if plain != text:
        found += [
            Finding(k, _excerpt(m[0])) for k, p in _PATTERNS if (m := p.search(plain)) and not p.search(text)
        ]
    return tuple(dict.fromkeys(found))


def _excerpt(text: str) -> str:
    shown = "".join(f"U+{ord(c):04X} " if _INVISIBLE.match(c) else c for c in text)
    return " ".join(shown.split())[:80]
