"""Mistakes with engines, in Python and in a jobs.toml."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake, Section

_DASK = "from onthedot.dask import DaskEngine"
_DECLARED = f'{_DASK}\napp.engine("cluster", DaskEngine("tcp://host:8786"))'

ENGINES = Section(
    "Engines",
    "",
    (
        Mistake(
            f'{_DASK}\nDaskEngine("host")',
            "DaskEngine: 'host' is no address; write tcp://host:8786, or tls://host:8786",
        ),
        Mistake(
            'app.remote("crunch", "cluster")',
            "'crunch': no engine 'cluster'; none is declared. Declare it before its tasks: app.engine('cluster', …)",
        ),
        Mistake(
            f'{_DECLARED}\napp.remote("crunch", "clutser")',
            "'crunch': no engine 'clutser'; there is cluster. Declare it before its tasks: app.engine('clutser', …)",
        ),
        Mistake(
            'app.engine("cluster", "tcp://host:8786")',
            "app.engine('cluster'): 'tcp://host:8786' is no engine; write DaskEngine(\"tcp://scheduler:8786\") or"
            " CeleryEngine(celery_app)",
        ),
        Mistake(
            f'{_DECLARED}\n@app.task(engine="cluster")\ndef crunch(ctx: Context): ...',
            "'crunch': engine='cluster': a run elsewhere has no Context; take it out of the parameters, and give what"
            " is needed as arguments",
        ),
        Mistake(
            f'{_DECLARED}\n@app.task(engine="cluster", pool="slow")\ndef crunch(): ...',
            "'crunch': engine='cluster': pool='slow' is for what a node executes itself; leave one of them out",
        ),
        Mistake(
            'from onthedot.celery import CeleryEngine\nCeleryEngine("shop")',
            "CeleryEngine: 'shop' is no Celery app; give it, or name it as module:attribute",
        ),
    ),
)
