"""The settings themselves as results: shown with their origins, described, and the profiles."""

from __future__ import annotations

from typing import Any

from compactlab.config.load import Settings
from compactlab.config.schema import flatten, nest, schema_rows
from compactlab.model.results import TableResult
from compactlab.profiles.catalog import all_profiles


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if hasattr(value, "items") else value


def show_table(settings: Settings, version: str | None) -> TableResult:
    """`compactlab config show`: every key with its value and where it came from."""
    config = settings.for_version(version)
    origins = settings.origins(version)
    values = {key: _plain(value) for key, value in flatten(config).items()}
    rows = tuple((key, _shown(value), origins.get(key, "default")) for key, value in values.items())
    document = {
        "schema": "compactlab.config/1",
        "profile": settings.profile_name(version),
        "config": nest(values),
        "origins": dict(sorted(origins.items())),
    }
    return TableResult(
        document, (("Settings", ("key", "value", "from"), rows),), (f"Profile: {document['profile']}",)
    )


def _shown(value: Any) -> str:
    """A value as TOML has it; long lists by their first items."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        items = [_shown(item) for item in value[:3]]
        more = [f"… ({len(value)} in all)"] if len(value) > 3 else []
        return "[" + ", ".join(items + more) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_shown(item)}" for key, item in value.items()) + "}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def schema_table() -> TableResult:
    """`compactlab config schema`: every key with type, default, unit and meaning."""
    rows = schema_rows()
    table = tuple((row["key"], row["type"], _shown(row["default"]), row["unit"], row["doc"]) for row in rows)
    document = {"schema": "compactlab.config-schema/1", "keys": rows}
    return TableResult(document, (("Settings", ("key", "type", "default", "unit", "meaning"), table),))


def profiles_table() -> TableResult:
    """`compactlab config profiles`: the ranges of versions and what they set."""
    profiles = all_profiles()
    table = tuple(
        (profile.name, f"{profile.first or 'first'} to {profile.last or 'newest'}", profile.note)
        for profile in profiles
    )
    document = {
        "schema": "compactlab.profiles/1",
        "profiles": [
            {"name": p.name, "first": p.first, "last": p.last, "note": p.note, "settings": dict(p.settings)}
            for p in profiles
        ],
    }
    return TableResult(document, (("Profiles", ("profile", "versions", "what was measured"), table),))
