"""
The docs say what is true: their links lead somewhere, their snippets run, and nothing that
a user can meet is missing from them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bascule.cli.main import COMMANDS
from bascule.model import Phase, Reason
from tests.docs import snippets

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("examples/*.md")])
GLOSSARY = DOCS / "glossary.md"

of_each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that a reader of *page* can be sent to."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text()), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def without_code(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)


def all_text() -> str:
    return "\n".join(page.read_text() for page in DOCS.rglob("*.md"))


class TestPages:
    @of_each_page
    def test_links_lead_somewhere(self, page):
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page

            assert target.exists(), link
            assert not anchor or anchor in anchors_of(target), link

    def test_every_page_can_be_reached_from_the_readme(self):
        reached, waiting = set(), [README]
        while waiting:
            page = waiting.pop()
            if page in reached or page.suffix != ".md":
                continue
            reached.add(page)
            links = re.findall(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)", without_code(page.read_text()))
            waiting += [target for link in links if (target := (page.parent / link).resolve()).is_file()]

        assert not set(PAGES) - reached

    def test_the_readme_is_short(self):
        assert len(README.read_text().splitlines()) <= 120

    @of_each_page
    def test_words_are_plain(self, page):
        """
        What is simple to the writer is not to the reader.
        """
        assert not re.findall(
            r"\b(?:simply|obviously|easily|of course)\b", without_code(page.read_text()), re.IGNORECASE
        )


class TestReference:
    def test_every_command_has_its_place(self):
        reference = (DOCS / "reference" / "commands.md").read_text()
        headings = set(re.findall(r"^## `bascule ([a-z -]+)`$", reference, flags=re.MULTILINE))

        assert headings == set(COMMANDS)

    def test_the_commands_are_described_as_they_are(self):
        done = subprocess.run(
            [sys.executable, ROOT / "tools" / "reference.py", "--check"], capture_output=True, text=True
        )

        assert 0 == done.returncode, done.stdout + done.stderr

    def test_what_the_managers_can_do_is_described_as_it_is(self):
        done = subprocess.run(
            [sys.executable, ROOT / "tools" / "managers.py", "--check"], capture_output=True, text=True
        )

        assert 0 == done.returncode, done.stdout + done.stderr

    @pytest.mark.parametrize("word", [*Phase, *filter(None, Reason)])
    def test_every_phase_and_reason_is_explained(self, word):
        page = (DOCS / "concepts" / "jobs.md").read_text()

        assert re.search(rf"^\| `{word}` \| .{{20,}} \|$", page, flags=re.MULTILINE)

    def test_every_manager_has_a_page(self):
        managers = ROOT / "src" / "bascule" / "managers"
        names = {path.stem for path in managers.iterdir() if path.suffix == ".py" or path.is_dir()}
        pages = {page.stem for page in (DOCS / "managers").glob("*.md")} - {"README"}

        assert {name for name in names if not name.startswith("_")} == pages


class TestGlossary:
    terms = re.findall(r"^\*\*(.+?)\*\*", GLOSSARY.read_text() if GLOSSARY.exists() else "", flags=re.MULTILINE)

    def test_terms_are_sorted_and_stand_once(self):
        keys = [term.lower() for term in self.terms]

        assert keys
        assert keys == sorted(set(keys))

    @of_each_page
    def test_one_word_stands_for_one_idea(self, page):
        """
        The glossary ends with words that we do not use, because another one means the same.
        """
        instead = dict(re.findall(r"^\| (\w[\w -]*) \| (\w[\w -]*) \|$", GLOSSARY.read_text(), flags=re.MULTILINE))
        text = re.sub(r"`[^`]*`", "", without_code(page.read_text())) if page != GLOSSARY else ""

        assert instead
        assert not [word for word in instead if re.search(rf"\b{word}s?\b", text, re.IGNORECASE)]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if snippets.snippets_of(page)],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_snippets_do_what_the_page_says(page, desk, settings):
    for snippet in snippets.snippets_of(page):
        snippets.run(snippet, folder=desk, settings=settings)
