"""The invariants on a recording and on what a replay would send, as one result."""

from __future__ import annotations

from collections import Counter
from typing import Any

from compactlab.engine.tables import names_of
from compactlab.invariants.catalog import BY_CODE, CATALOG
from compactlab.layers.catalog import LAYERS
from compactlab.model.results import SessionReplay, TableResult


def check_table(results: list[SessionReplay], *, recording_only: bool) -> TableResult:
    """`compactlab check`: violations grouped for people, one by one in the JSON."""
    results = sorted(results, key=lambda r: (r.source, r.digest))
    names = names_of(result.source for result in results)
    sessions: list[dict[str, Any]] = []
    rows: list[tuple[Any, ...]] = []
    for result in results:
        kept = [v for v in result.violations if v.layer == "recording" or not recording_only]
        sessions.append(
            {
                "source": result.source,
                "digest": result.digest,
                "calls": result.calls,
                "violations": [v.to_dict() for v in kept],
            }
        )
        groups = Counter((v.layer != "recording", v.code, v.severity, v.layer) for v in kept)
        first = {(v.layer != "recording", v.code, v.severity, v.layer): v for v in reversed(kept)}
        for key, count in sorted(groups.items()):
            rows.append(
                (
                    names[result.source],
                    key[1],
                    BY_CODE[key[1]].name,
                    key[2],
                    key[3],
                    count,
                    first[key].line,
                )
            )
    severities = Counter(v["severity"] for s in sessions for v in s["violations"])
    layers = Counter(v["severity"] for s in sessions for v in s["violations"] if v["layer"] != "recording")
    totals = {
        "sessions": len(sessions),
        "by_severity": dict(sorted(severities.items())),
        "layers_by_severity": dict(sorted(layers.items())),
    }
    document = {"schema": "compactlab.check/1", "sessions": sessions, "totals": totals}
    columns = ("session", "code", "rule", "severity", "layer", "places", "first line")
    tables = (("Violations", columns, tuple(rows)),) if rows else ()
    lines = [
        f"{len(sessions)} sessions: {layers['error']} errors and {layers['warning']} warnings of the layers, "
        f"{severities['info']} faults of the recordings."
    ]
    if rows:
        lines.append(f"What a code means: compactlab explain {rows[-1][1]}")
    return TableResult(document, tables, tuple(lines))


def layers_table() -> TableResult:
    """`compactlab layers`."""
    rows = tuple(
        (number, info.name, info.default, f"[{info.table}]", info.does)
        for number, info in enumerate(LAYERS, 1)
    )
    document = {"schema": "compactlab.layers/1", "layers": [info._asdict() for info in LAYERS]}
    lines = ("Each layer looks at what the one before it left. Settings: compactlab config schema",)
    return TableResult(
        document,
        (("Layers, in their order", ("", "layer", "default", "settings", "what it does"), rows),),
        lines,
    )


def explain_table(code: str) -> TableResult:
    """`compactlab explain CODE`. Raises UsageError, with the nearest code, for one that does not exist."""
    from difflib import get_close_matches

    from compactlab.errors import UsageError

    wanted = code.strip().upper()
    by_name = {invariant.name: invariant for invariant in CATALOG}
    found = BY_CODE.get(wanted) or by_name.get(code.strip().lower())
    if found is None:
        near = get_close_matches(wanted, BY_CODE, 1, 0.5) or get_close_matches(code.lower(), by_name, 1, 0.4)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise UsageError(
            f"no invariant {code!r}{hint} (codes run from {CATALOG[0].code} to {CATALOG[-1].code})"
        )
    facts = [("rule", found.rule), ("severity", found.severity)]
    if found.api_error:
        facts.append(("the API says", found.api_error))
    facts.append(("what to do", found.remedy))
    document = {"schema": "compactlab.explain/1", **found._asdict()}
    return TableResult(document, ((f"{found.code} {found.name}", ("", ""), tuple(facts)),))
