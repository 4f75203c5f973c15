"""A console of Rich that prints every text as it is: nothing in it is markup, an emoji's name or an order to a terminal."""

from typing import TYPE_CHECKING, Any

from advcli.common.wording import shown

if TYPE_CHECKING:
    from rich.console import Console


def clean(**options: Any) -> "Console":  # noqa: ANN401  Rich's own
    r"""A console that cleans every text that is not a `Text` before it is measured and printed.

    Args:
        options: those of Rich's console.

    Example:
        >>> console = clean(width=80)
        >>> with console.capture() as captured:
        ...     console.print("[b]\x1b[31mred :smile:")
        >>> print(captured.get(), end="")
        [b]\x1b[31mred :smile:
    """
    from rich.console import Console
    from rich.text import Text

    class Clean(Console):
        def render_str(self, text: str, **style: Any) -> Text:  # noqa: ANN401  Rich's styles
            """The text with what no terminal shall obey spelled out."""
            return super().render_str(shown(text), **style)

    return Clean(markup=False, emoji=False, highlight=False, **options)
