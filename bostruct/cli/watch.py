"""`bostruct watch`: a live report of a file of studies in the browser."""

from __future__ import annotations

import click

from bostruct.cli.options import load_space, open_place, plain_errors, space_option, warn_if_exposed


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--name", help="Name of the study; without it the page shows all studies of the file.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0, the default, takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@space_option
def watch(file: str, name: str | None, port: int, host: str, problem: str | None) -> None:
    """Show the studies in a file or a database (postgresql://...) in the browser; the page is updated as values arrive.

    FILE is only read, while other processes write it. The address that is printed holds a random token: it opens the
    page, and without it there is no answer. Ctrl-C ends.

    \b
    Examples:
      bostruct watch runs.db
      bostruct watch runs.db --port 8765
    """
    with plain_errors():
        from bostruct.cli.live_page import LivePage, WatchServer
        from bostruct.display import printable

        page = LivePage(file, name, load_space(problem))
        with WatchServer(host, port, page.read) as server:
            warn_if_exposed(server, host, "sees")
            click.echo(f"{printable(open_place(file).label)} is shown at {server.page_url}\nCtrl-C ends.")
            try:
                server.serve_forever(poll_interval=0.2)
            except KeyboardInterrupt:
                click.echo("Stopped.")
