import pytest

from adapters.telegram.failures import Refused
from adapters.telegram.render import marked, render, render_file
from adapters.telegram.sending import Call, remedy, send_call, thread_id
from adapters.telegram.ways import ways
from hermes.adapter import Piece
from hermes.errors import Rejected
from hermes.events import Target
from hermes.files import FileKind, StoredFile


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def refused(description: str, migrated_to: int | None = None) -> Refused:
    return Refused("sendMessage", 400, description, migrated_to)


# -- rendering ---------------------------------------------------------------------------------------


def test_TG_01_emoji_are_counted_in_utf16_units() -> None:
    reply = "\U0001f3b2" * 2049
    pieces = render(reply)
    assert len(pieces) >= 2
    assert all(utf16(marked(p.text, [])[0]) <= 4096 for p in pieces)
    assert "".join(p.text for p in pieces) == reply


def test_blank_text_makes_no_piece() -> None:
    assert list(render(" \n\t ")) == []


def test_entities_are_what_the_bot_api_names_them() -> None:
    (piece,) = render("**b** [l](https://example.com) `c`\n```python\nx\n```")
    kinds = [(e["type"], e.get("url"), e.get("language")) for e in piece.format["entities"]]
    assert kinds == [
        ("bold", None, None),
        ("text_link", "https://example.com", None),
        ("code", None, None),
        ("pre", None, "python"),
    ]


def test_a_repeat_is_marked_and_its_entities_move_along() -> None:
    (piece,) = render("\U0001f680 **b**")
    text, (entity,) = marked(piece.text, piece.format["entities"])
    assert text == "↻ \U0001f680 b"
    units = text.encode("utf-16-le")
    start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
    assert units[start:end].decode("utf-16-le") == "b"


# -- the call ----------------------------------------------------------------------------------------


def test_TG_16a_the_general_topic_is_sent_to_without_its_id() -> None:
    call = send_call(Target("telegram", "-100500", "1"), Piece("x"), again=False)
    assert call.params() == {"chat_id": -100500, "text": "x", "entities": []}


def test_a_topic_is_named() -> None:
    call = send_call(Target("telegram", "-100500", "88"), Piece("x"), again=False)
    assert call.params()["message_thread_id"] == 88


def test_a_public_channel_can_be_named() -> None:
    assert send_call(Target("telegram", "@news"), Piece("x"), again=False).chat == "@news"


@pytest.mark.parametrize(
    "target", [Target("telegram", "bob"), Target("telegram", ""), Target("telegram", "1", "x")]
)
def test_what_cannot_be_a_target_is_refused_in_a_sentence(target: Target) -> None:
    with pytest.raises(Rejected, match="write its number"):
        send_call(target, Piece("x"), again=False)


def test_no_thread_is_no_thread() -> None:
    assert [thread_id(Target("t", "5", t)) for t in (None, "", "1", "2")] == [None, None, None, 2]


# -- remedies ----------------------------------------------------------------------------------------


def test_TG_08_a_plain_call_never_equals_the_formatted_one() -> None:
    call = Call(5, "x", ())
    found = remedy(call, refused("Bad Request: can't parse entities: x"))
    assert found is not None
    assert "entities" in call.params()
    assert "entities" not in found[0].params()
    assert remedy(found[0], refused("Bad Request: can't parse entities: x")) is None


def test_TG_16b_a_lost_topic_is_left_out_once() -> None:
    found = remedy(Call(5, "x", (), 88), refused("Bad Request: message thread not found"))
    assert found is not None
    assert found == (Call(5, "x", ()), "topic 88 is gone; sent without it")
    assert remedy(found[0], refused("Bad Request: message thread not found")) is None


def test_a_moved_group_is_followed_once() -> None:
    found = remedy(Call(-500, "x", (), 3), refused("upgraded", -100777))
    assert found is not None
    assert (found[0].chat, found[0].thread) == (-100777, None)
    assert remedy(found[0], refused("upgraded", -100888)) is None


@pytest.mark.parametrize(
    "description",
    ["Bad Request: chat not found", "Bad Request: message is too long", "Forbidden: bot was kicked"],
)
def test_other_refusals_stand(description: str) -> None:
    assert remedy(Call(5, "x", (), 88), refused(description)) is None


# -- files -------------------------------------------------------------------------------------------


def stored(kind: FileKind = "image", mime: str = "image/png", size: int = 9) -> StoredFile:
    return StoredFile("ab" * 32, kind, mime, "a.png", size)


@pytest.mark.parametrize(
    ("file", "methods"),
    [
        (stored(), ["sendPhoto", "sendDocument"]),
        (stored(size=10_000_001), ["sendDocument"]),
        (stored("image", "image/gif"), ["sendAnimation", "sendDocument"]),
        (stored("image", "image/svg+xml"), ["sendDocument"]),
        (stored("voice", "audio/ogg"), ["sendVoice", "sendDocument"]),
        (stored("voice", "audio/mpeg"), ["sendVoice", "sendAudio", "sendDocument"]),
        (stored("voice", "audio/wav"), ["sendDocument"]),
        (stored("audio", "audio/mpeg"), ["sendAudio", "sendDocument"]),
        (stored("audio", "audio/flac"), ["sendDocument"]),
        (stored("video", "video/mp4"), ["sendVideo", "sendDocument"]),
        (stored("video", "video/webm"), ["sendDocument"]),
        (stored("document", "image/png"), ["sendDocument"]),
    ],
)
def test_a_file_goes_by_its_kind_and_at_last_as_a_document(file: StoredFile, methods: list[str]) -> None:
    assert [way.method for way in ways(file)] == methods


def test_TG_21_a_long_caption_follows_the_file() -> None:
    text = "word " * 300
    first, *rest = render_file(stored(), text)
    assert (first.text, first.file) == ("", stored())
    assert [piece.text for piece in rest] == [text.strip()]
    assert all(piece.file is None for piece in rest)


def test_TG_22_captions_are_counted_in_utf16_units() -> None:
    fits, too_long = "\U0001f3b2" * 511, "\U0001f3b2" * 600
    assert [p.text for p in render_file(stored(), fits)] == [fits]
    assert utf16(marked(fits, [])[0]) == 1024
    assert [p.text for p in render_file(stored(), too_long)] == ["", too_long]


def test_a_caption_is_formatted_and_a_blank_one_is_none() -> None:
    (piece,) = render_file(stored(), "**b**")
    params = send_call(Target("telegram", "5"), piece, again=False).params()
    assert params == {
        "chat_id": 5,
        "caption": "b",
        "caption_entities": [{"type": "bold", "offset": 0, "length": 1}],
    }
    (bare,) = render_file(stored(), " \n")
    assert send_call(Target("telegram", "5"), bare, again=False).params() == {"chat_id": 5}
    assert send_call(Target("telegram", "5"), bare, again=True).params()["caption"] == "↻ "


@pytest.mark.parametrize(
    "description",
    [
        "Bad Request: PHOTO_INVALID_DIMENSIONS",
        "Bad Request: IMAGE_PROCESS_FAILED",
        "Bad Request: not enough rights to send photos to the chat",
        "Bad Request: VOICE_MESSAGES_FORBIDDEN",
    ],
)
def test_what_is_refused_as_a_photo_goes_as_a_document_once(description: str) -> None:
    call = send_call(Target("telegram", "5"), Piece("c", {}, stored()), again=False)
    found = remedy(call, refused(description))
    assert found is not None
    assert (found[0].method, found[0].params()["caption"]) == ("sendDocument", "c")
    assert remedy(found[0], refused(description)) is None
    assert remedy(Call(5, "x", ()), refused(description)) is None
