"""Dumps with texts that try to leave their place, and the page of one."""

import json

from advcli.pipeline.report import report
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

EVIL = '</script><script>document.title="taken"</script><img src=x onerror=alert(1)>&amp; <b>bold</b>'


def dump(path, *, steps=3):
    """A dump with two reward parts, lengths, steps, and a text that is markup."""
    lines = []
    for step in range(steps):
        for prompt in range(4):
            for place in range(4):
                right = float(place <= prompt) if prompt else 0.0
                lines.append(
                    {
                        "prompt": f"{EVIL} {prompt}" if prompt == 1 else f"question {prompt}",
                        "completion": EVIL if place == 0 else f"answer {step}-{prompt}-{place}",
                        "step": step,
                        "reward": right + 0.1 * (place % 2),
                        "correct": right,
                        "format": 0.1 * (place % 2),
                        "length": 100 + 10 * place + step,
                    }
                )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def page(path, **settings):
    """The page of a dump, with two reward parts."""
    columns = ColumnOptions(rewards=(("correct", 1.0), ("format", 0.5)), length="length")
    return report(Request((str(path),), Settings(**settings), columns))
