"""A Rich console that prints text literally: no markup, emoji names or control sequences."""

from typing import TYPE_CHECKING, Any

from advcli.common.wording import shown

if TYPE_CHECKING:
    from rich.console import Console


def clean(**options: Any) -> "Console":  # noqa: ANN401  Rich's own
    r"""A console that escapes control characters in every string (not `Text`) before measuring and printing it.

    Args:
        options: options of Rich's console.

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
            """The text with control characters escaped."""
            return super().render_str(shown(text), **style)

    return Clean(markup=False, emoji=False, highlight=False, **options)
