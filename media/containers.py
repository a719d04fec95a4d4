"""What lies in files that can hold sound, pictures or moving pictures alike. Pure: their beginning in, a media type out."""

from __future__ import annotations

import re

__all__ = ["type_of_ebml", "type_of_iso", "type_of_ogg"]

_STILL = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1", b"avif", b"avis"})
_SOUND = frozenset({b"M4A ", b"M4B ", b"M4P ", b"F4A ", b"F4B "})
_SEEN = re.compile(
    rb"\x86.V_[A-Z]", re.DOTALL
)  # CodecID, its length, then the name: RFC 9559, section 5.1.4.1.21
_HEARD = re.compile(rb"\x86.A_[A-Z]", re.DOTALL)


def type_of_iso(head: bytes) -> str:
    """ISO 14496-12: MP4, QuickTime, 3GPP, HEIF, AVIF; told apart by their brands and what their tracks are handled by."""
    brand = head[8:12]
    size = min(int.from_bytes(head[:4], "big"), 256)
    brands = {brand, *(head[at : at + 4] for at in range(16, size, 4))}
    if brand in _STILL:
        return "image/avif" if brands & {b"avif", b"avis"} else "image/heic"
    if brand in _SOUND:
        return "audio/mp4"
    if brand == b"qt  ":
        return "video/quicktime"
    family = "3gpp" if brand.startswith(b"3g") else "mp4"
    only_sound = b"soun" in head and b"vide" not in head
    return f"audio/{family}" if only_sound else f"video/{family}"


def type_of_ebml(head: bytes) -> str:
    """WebM and Matroska, RFC 9559. A browser records speech as WebM without a picture."""
    name = "webm" if b"webm" in head[:64] else "x-matroska"
    only_sound = _HEARD.search(head) and not _SEEN.search(head)
    return f"audio/{name}" if only_sound else f"video/{name}"


def type_of_ogg(head: bytes) -> str:
    """Ogg, RFC 3533: Opus, Vorbis, FLAC and Speex are heard, Theora is seen."""
    return "video/ogg" if b"\x80theora" in head else "audio/ogg"
