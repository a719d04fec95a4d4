"""Documents and voice, as the installed daemon tells the model of them."""

import base64
from typing import Any

from tests import documents
from tests.acceptance.house import API, KEY, House
from tests.peers.model import says
from tests.peers.model.audio import HEARD


def part(name: str, data: bytes) -> dict[str, Any]:
    return {"type": "file", "file": {"filename": name, "file_data": base64.b64encode(data).decode()}}


async def test_what_documents_say_and_why_some_say_nothing(house: House) -> None:
    voice = {"provider": "custom", "base_url": house.model.url, "api_key": "the-voice-key"}
    house.config["media"] = {"voice": voice, "characters": 1000}
    house.write()
    house.model.script.add(says("bring milk"), text=HEARD)
    laughs = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><d>&b;</d>'
    sound = {"data": base64.b64encode(b"OggS" + b"\0" * 24 + b"OpusHead").decode(), "format": "ogg"}
    content = [
        {"type": "text", "text": "look through these"},
        part("letter.bin", documents.word()),  # what it is, is not in its name
        part("bill.xlsx", documents.sheets()),
        part("locked.pdf", documents.locked_pdf("x")),
        part("scan.pdf", documents.pdf("")),
        part("laughs.docx", documents.archive({"word/document.xml": laughs})),
        {"type": "input_audio", "input_audio": sound},
        part(
            "long.pdf", documents.pdf(*("many words " * 12 for _ in range(20)))
        ),  # it takes the room that is left
    ]
    await house.start()
    answer = await house.client.post(
        API,
        json={"model": "hermes", "messages": [{"role": "user", "content": content}]},
        headers={"Authorization": f"Bearer {KEY}"},
    )
    assert answer.status_code == 200, answer.text
    told = house.asked()[-1]["content"]
    assert "# Report\n# Figures\nFirst line\nand second.\n- milk\nname | sum\nKöln | 7 €" in told
    assert '"tea, green",2.5,2026-05-01' in told
    assert "[Page 1]\nmany words many" in told
    assert "Of the file long.pdf only the first part is shown" in told
    assert "bring milk" in told
    for name, why in (("locked.pdf", "password"), ("scan.pdf", "no text"), ("laughs.docx", "damaged")):
        assert any(name in line and why in line for line in told.splitlines()), (name, told)
    for path, data in house.files().items():
        assert b"the-voice-key" not in data or path.name == "config.yaml", path
    await house.stop()
