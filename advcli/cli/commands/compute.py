"""`advcli compute`: annotate files, and print the original next to the processed advantage."""

from functools import partial

import typer

from advcli.cli import flags, output
from advcli.cli import options as opt
from advcli.cli.follow import compute as follow_compute
from advcli.cli.shared import Shared, with_shared
from advcli.common.errors import UsageError


@with_shared
def command(
    shared: Shared,
    out: opt.Out = None,
    force: opt.Force = False,
    prefix: opt.Prefix = "adv_",
    metrics: opt.Metrics = None,
    same_layout: opt.SameLayout = False,
    resume: opt.Resume = False,
    follow: opt.Follow = False,
    off_policy: opt.OffPolicy = False,
) -> None:
    """Add advantages to a copy of each dump, and compare original and processed.

    The copy has four more columns: adv_original, adv_processed, adv_kept and adv_group.
    """
    from advcli.io.sources import sample
    from advcli.records.table import STANDARD_OUTPUT

    inputs = flags.inputs(shared)
    if out is None and inputs == [str(sample.path())]:
        # The folder of the bundled sample may be read-only.
        out = f"{sample.path().stem}.adv{sample.path().suffix}"
    if metrics is not None and str(metrics) == "-":
        raise UsageError("--metrics writes a file, not stdout", hint="--metrics metrics.jsonl")
    to_stdout = out in STANDARD_OUTPUT or (out is None and inputs == ["-"])
    if to_stdout and shared.json_:
        raise UsageError("--json and the annotated rows both go to standard output", hint="--out FILE")
    if resume and shared.engine != "ray":
        raise UsageError("--resume is for --engine ray", hint="--force to write all files again")
    if follow:
        follow_compute(
            shared, inputs, out, prefix, force=force, same_layout=same_layout, but={"--metrics": metrics}
        )
        return
    if off_policy and shared.engine != "local":
        raise UsageError("--off-policy does not run on Ray", hint="--engine local")
    run = flags.command("compute", shared)
    with output.progress("reading", "rows", quiet=shared.quiet) as advance:
        request = flags.build(
            inputs,
            shared,
            prefix=prefix,
            # A prefetch would read the files before the extra columns are known to be free.
            prefetch=not off_policy,
            advance=lambda rows: advance and advance(rows, None),
            log_probs="figures" if off_policy else "",
        )
        from advcli.pipeline.compute import Output
        from advcli.records.results.compute import ComputeResult
        from advcli.records.results.result import dumped

        written = partial(advance, doing="writing") if advance else None
        report = run(
            request,
            Output(out, prefix, metrics, force, same_layout, resume, off_policy=off_policy),
            advance=written,
        )
    output.notes(report, quiet=shared.quiet)
    if shared.json_:
        typer.echo(dumped(ComputeResult.of(report)))
    elif not shared.quiet:
        output.table(report, to_stderr=to_stdout)
