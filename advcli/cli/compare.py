"""`advcli compare`: original, kept, kept + recomputed and other estimators side by side."""

import typer

from advcli.cli import _options as opt
from advcli.cli import _request, _show


@opt.with_shared
def command(shared: opt.Shared, vs: opt.Vs = None) -> None:
    """Compare advantages side by side: original, kept, kept + recomputed, and other estimators.

    Without INPUT it reads standard input if something is piped in, else the bundled sample.
    """
    from advcli.render import jsonout
    from advcli.settings.resolve import versus

    request = _request.build(_request.inputs(shared), shared)
    report = _request.command("compare", shared)(
        request, {spec: versus(request.settings, spec) for spec in vs or ()}
    )
    _show.notes(report, quiet=shared.quiet)
    if shared.json_:
        typer.echo(jsonout.compare(report))
    else:
        _show.table(report, to_stderr=False)
