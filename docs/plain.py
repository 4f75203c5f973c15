"""For mkdocs: the whole site as one plain text, `llms.txt`, for programs that read it."""

from pathlib import Path
from typing import Any

_PAGES: list[str] = []


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Keep the text of each page, in the order of the site."""
    _PAGES.append(f"<!-- {page.file.src_uri} -->\n\n{markdown.strip()}\n")
    return markdown


def on_post_build(config: Any, **_: Any) -> None:
    """Write them as one."""
    Path(config.site_dir, "llms.txt").write_text("\n\n".join(_PAGES), encoding="utf-8")
    _PAGES.clear()
