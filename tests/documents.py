"""Documents to read: made by the programs that make such documents, or byte by byte where those would refuse to."""

import io
import zipfile
import zlib
from collections.abc import Sequence
from datetime import date
from typing import Any

import docx
import openpyxl
from pypdf import PdfReader, PdfWriter

DOCUMENT_XML = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{}</w:body></w:document>'


# -- PDF (ISO 32000-1) -----------------------------------------------------------------------------


def pdf_of(*objects: bytes, root: int = 1, trailer: bytes = b"") -> bytes:
    """A file with these objects, numbered from 1, a table of where they are, and a trailer."""
    out, places = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    out += b"trailer\n<</Size %d/Root %d 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (size, root, trailer, start)
    return bytes(out)


def stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<</Length %d%s>>\nstream\n%s\nendstream" % (len(data), more, data)


def pdf(*pages: str) -> bytes:
    """One page for each text; "" is a page without any, as a scan has."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(pages), kids),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    for n, text in enumerate(pages):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>"
            b"/Contents %d 0 R>>" % (5 + 2 * n)
        )
        lines = b" T* ".join(b"(%s) Tj" % line.encode("cp1252") for line in text.split("\n") if line)
        objects.append(stream(b"BT /F1 12 Tf 14 TL 72 720 Td %s ET" % lines))
    return pdf_of(*objects)


def locked_pdf(password: str, algorithm: str = "RC4-128", *texts: str) -> bytes:
    """`password` is needed to read it; with "" only to change it."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(*(texts or ("secret words",))))))
    writer.encrypt(password, owner_password="owner", algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def nested_pdf(depth: int) -> bytes:
    """A tree of pages that is one branch."""
    middle = [b"<</Type/Pages/Count 1/Kids[%d 0 R]/Parent %d 0 R>>" % (n + 3, n + 1) for n in range(depth)]
    page = b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 9 9]>>" % (depth + 1)
    return pdf_of(b"<</Type/Catalog/Pages 2 0 R>>", *middle, page)


def circular_pdf() -> bytes:
    """Its tree of pages has itself as a branch, and a drawing on its page draws itself."""
    return pdf_of(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 3/Kids[3 0 R 2 0 R]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</XObject<</X 4 0 R>>>>/Contents 5 0 R>>",
        stream(b"/X Do", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 4 0 R>>>>"),
        stream(b"/X Do"),
        trailer=b"/Prev 15",
    )


def swollen_pdf(size: int) -> bytes:
    """A page of `size` bytes of drawing in a stream that is a thousandth of that."""
    return pdf_of(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
        stream(b"\x78\x9c" + swollen(b"0 0 m 9 9 l S\n", size), b"/Filter/FlateDecode"),
    )


# -- archives --------------------------------------------------------------------------------------


def swollen(pattern: bytes, size: int) -> bytes:
    """A deflate stream of `size` bytes of the pattern, made without ever having them."""
    block = pattern * (1_000_000 // len(pattern))  # whole ones: what is swollen is well formed
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return packed * (size // len(block)) + packer.flush()


def archive(parts: dict[str, bytes | str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in parts.items():
            packed.writestr(name, data)
    return out.getvalue()


def bomb(name: str, begin: bytes, pattern: bytes, size: int) -> bytes:
    """An archive with one part that begins so and goes on with the pattern for `size` bytes."""
    head = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = head.compress(begin) + head.flush(zlib.Z_FULL_FLUSH) + swollen(pattern, size)
    sizes = len(data).to_bytes(4, "little") + min(size + len(begin), 0xFFFFFFFE).to_bytes(4, "little")
    named = name.encode()
    fields = b"\x14\0\0\0\x08\0" + b"\0" * 4 + b"\0" * 4 + sizes + len(named).to_bytes(2, "little")
    local = b"PK\3\4" + fields + b"\0\0" + named + data
    central = b"PK\1\2\x14\0" + fields + b"\0" * 16 + named
    end = (
        b"PK\5\6"
        + b"\0" * 4
        + b"\1\0\1\0"
        + len(central).to_bytes(4, "little")
        + len(local).to_bytes(4, "little")
    )
    return local + central + end + b"\0\0"


# -- office documents ------------------------------------------------------------------------------


def word() -> bytes:
    """What a letter has: headings, a list, a table, line breaks."""
    made = docx.Document()
    made.add_heading("Report", 0)
    made.add_heading("Figures", 1)
    made.add_paragraph("First line\nand second.")
    made.add_paragraph("milk", style="List Bullet")
    table = made.add_table(rows=2, cols=2)
    for row, texts in zip(table.rows, (("name", "sum"), ("Köln", "7 €")), strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    made.add_paragraph("The end.")
    return _saved(made)


def word_of(body: str) -> bytes:
    """A document whose body is this XML."""
    return archive({"word/document.xml": DOCUMENT_XML.format(body)})


def sheets(rows: Sequence[Sequence[object]] = ()) -> bytes:
    """Two sheets: what is given (or a bill), and a hidden one."""
    book = openpyxl.Workbook()
    first = book.active
    assert first is not None
    first.title = "Bill"
    for row in rows or (
        ("what", "price", "day"),
        ("tea, green", 2.5, date(2026, 5, 1)),
        (None, 0.1 + 0.2),
    ):
        first.append(list(row))
    second = book.create_sheet("Notes")
    second["B2"] = "below"
    second.sheet_state = "hidden"
    return _saved(book)


def _saved(made: Any) -> bytes:
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
)


def related(**targets: str) -> str:
    """A part of relationships: id=`kind target`."""
    one = '<Relationship Id="{}" Type="' + _REL + '/{}" Target="{}"/>'
    return _RELS.format("".join(one.format(name, *target.split()) for name, target in targets.items()))


def slides(*texts: tuple[str, str, str]) -> bytes:
    """Title, text and notes of each slide; the presentation shows them in the reverse order of their files."""
    ids = [f"r{n}" for n in range(len(texts))]
    shown = "".join(f'<p:sldId id="256" r:id="{name}"/>' for name in reversed(ids))
    parts: dict[str, bytes | str] = {
        "_rels/.rels": related(x="officeDocument ppt/presentation.xml"),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="p" xmlns:r="{_REL}"><p:sldIdLst>{shown}</p:sldIdLst></p:presentation>',
        "ppt/_rels/presentation.xml.rels": related(**{name: f"slide slides/s{name}.xml" for name in ids}),
    }
    shape = '<p:sp><p:nvSpPr><p:ph type="{}"/></p:nvSpPr><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>'
    slide = '<p:sld xmlns:p="p" xmlns:a="a">{}</p:sld>'
    for name, (title, text, notes) in zip(ids, reversed(texts), strict=True):
        parts[f"ppt/slides/s{name}.xml"] = slide.format(
            shape.format("title", title) + shape.format("body", text)
        )
        parts[f"ppt/slides/_rels/s{name}.xml.rels"] = related(n=f"notesSlide ../notes/n{name}.xml")
        parts[f"ppt/notes/n{name}.xml"] = slide.format(shape.format("body", notes))
    return archive(parts)


def open_document(body: str, kind: str = "text", manifest: str = "<m/>") -> bytes:
    """An OpenDocument file whose content is this XML."""
    out = io.BytesIO()
    content = f'<o:document-content xmlns:o="o" xmlns:text="t" xmlns:table="ta" xmlns:draw="d">{body}</o:document-content>'
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}", zipfile.ZIP_STORED)
        packed.writestr("content.xml", content)
        packed.writestr("META-INF/manifest.xml", manifest)
    return out.getvalue()


def locked_office() -> bytes:
    """The beginning of the container in which an encrypted Office document lies."""
    return (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        + b"\0" * 1016
        + "EncryptedPackage".encode("utf-16-le")
        + b"\0" * 480
    )


# -- what others would not write -------------------------------------------------------------------


def parts_of(data: bytes) -> dict[str, bytes | str]:
    """The parts of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def archive_with(data: bytes, name: str, begin: bytes, pattern: bytes, size: int) -> bytes:
    """The archive with another part in the place of one of its own: as `bomb` makes it, beside ordinary ones."""
    parts = parts_of(data)
    parts[name] = begin
    if not size:
        return archive(parts)
    rest = archive({n: d for n, d in parts.items() if n != name})
    return _joined(bomb(name, begin, pattern, size), rest)


def _joined(first: bytes, second: bytes) -> bytes:
    """Two archives as one: entries of both, with the places of the second moved (APPNOTE.TXT 4.3)."""
    (body, index), (more, moving) = _parted(first), _parted(second)
    moved, at = bytearray(moving), 0
    while at < len(moved):
        place = int.from_bytes(moved[at + 42 : at + 46], "little") + len(body)
        moved[at + 42 : at + 46] = place.to_bytes(4, "little")
        at += 46 + sum(int.from_bytes(moved[at + n : at + n + 2], "little") for n in (28, 30, 32))
    count = (index + bytes(moved)).count(b"PK\1\2").to_bytes(2, "little")
    size, start = len(index) + len(moved), len(body) + len(more)
    end = (
        b"PK\5\6" + b"\0" * 4 + count * 2 + size.to_bytes(4, "little") + start.to_bytes(4, "little") + b"\0\0"
    )
    return body + more + index + bytes(moved) + end


def _parted(data: bytes) -> tuple[bytes, bytes]:
    """The entries of an archive, and its index."""
    end = data.rindex(b"PK\5\6")
    size, start = (int.from_bytes(data[end + n : end + n + 4], "little") for n in (12, 16))
    return data[:start], data[start : start + size]
