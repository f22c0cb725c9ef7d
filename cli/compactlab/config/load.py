"""Which setting wins: defaults < profile < file found upward < --config < variables < --set and options.

`resolve` reads everything once and gives an immutable `Settings`, which knows the configuration of every
version of the recorded program and where each value came from. Environment and start directory are
arguments: this module looks at neither by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from compactlab.config.check import contradictions, remarks
from compactlab.config.errors import ConfigError, printable
from compactlab.config.fields import IntTable
from compactlab.config.files import discover, read_file
from compactlab.config.schema import Config, build, keys, nest
from compactlab.config.sources import (
    Entry,
    Place,
    from_env,
    from_options,
    from_pairs,
    from_tables,
)
from compactlab.profiles.catalog import Profile, ProfileError, all_profiles, find, get

_LIMITS = "budget.tool_limits"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user set, over the profiles: gives the configuration of any recorded version.

    `warnings` are one line each. `pinned` is the profile that was asked for, empty where versions decide.
    """

    entries: Mapping[str, Entry]
    pinned: str = ""
    warnings: tuple[str, ...] = ()
    _configs: dict[str, Config] = field(default_factory=dict, compare=False, repr=False)

    def for_version(self, version: str | None) -> Config:
        """The configuration for a recorded version ("2.1.20"); the newest profile's where it is unknown."""
        return self._config(self._profile(version))

    def profile_name(self, version: str | None) -> str:
        """The name of the profile that `for_version` takes."""
        return self._profile(version).name

    def base(self) -> Config:
        """The configuration with the newest profile, or with the one that was asked for."""
        return self.for_version(None)

    def overrides(self) -> dict[str, Any]:
        """What the user set, as nested plain tables with sorted keys."""
        root = nest({name: one.value for name, one in self.entries.items() if not name.startswith(_LIMITS)})
        limits = {name: one.value for name, one in sorted(self.entries.items()) if name.startswith(_LIMITS)}
        if limits:
            budget = root.setdefault("budget", {})
            budget["tool_limits"] = {name[len(_LIMITS) + 1 :]: value for name, value in limits.items()}
            root["budget"] = dict(sorted(budget.items()))
        return dict(sorted(root.items()))

    def origins(self, version: str | None = None) -> dict[str, str]:
        """Where each value came from: "default", "profile 2.1.20", "a.toml:3", "env …", "--set", option."""
        profile = self._profile(version)
        found = dict.fromkeys(keys(), "default")
        for one in _profile_entries(profile.name):
            found[one.key] = one.origin
        for name, one in self.entries.items():
            found[name] = one.origin
        return dict(sorted(found.items()))

    def with_options(self, options: Mapping[str, Any]) -> Settings:
        """The same settings with more options on top, by dotted key: one point of a sweep."""
        merged = dict(self.entries)
        warnings = _merge(from_options(options), merged)
        return _finished(merged, self.pinned, [*self.warnings, *warnings])

    def _profile(self, version: str | None) -> Profile:
        return get(self.pinned) if self.pinned else find(version)

    def _config(self, profile: Profile) -> Config:
        found = self._configs.get(profile.name)
        if found is None:
            found = self._configs[profile.name] = _build(profile, self.entries)
        return found


def resolve(
    *,
    start: Path | None,
    config_files: Sequence[Path] = (),
    env: Mapping[str, str] | None = None,
    sets: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    profile: str | None = None,
) -> Settings:
    """The settings from all their sources; a `ConfigError` with one line for the first thing that is wrong.

    Args:
        start: directory from which a settings file is looked for upward; None looks for none.
        config_files: files given with --config, later ones win.
        env: the environment; only names that begin with COMPACTLAB_ are looked at.
        sets: "layer.key=value" pairs, later ones win.
        options: values of named options by dotted key; None is not given. They win over `sets`.
        profile: name of a profile, or a version; without it each recorded version has its own.
    """
    pinned = _pinned(profile)
    merged: dict[str, Entry] = {}
    warnings = _merge(_all_entries(start, config_files, env or {}, sets, options or {}), merged)
    return _finished(merged, pinned, warnings)


def _all_entries(
    start: Path | None,
    config_files: Sequence[Path],
    env: Mapping[str, str],
    sets: Sequence[str],
    options: Mapping[str, Any],
) -> Iterator[Entry]:
    if start is not None:
        yield from discover(start)
    for path in config_files:
        yield from read_file(path)
    yield from from_env(env)
    yield from from_pairs(sets)
    yield from from_options(options)


def _merge(entries: Iterable[Entry], onto: dict[str, Entry]) -> list[str]:
    """Lays entries over those in force, the newest at the end; returns warnings on what was left out."""
    warnings = []
    for one in entries:
        if one.value is None:
            warnings.append(
                printable(f"{one.where}: {one.key}: 0 or less is ignored; the value in force stays")
            )
        else:
            onto.pop(one.key, None)
            onto[one.key] = one
    return warnings


def _pinned(profile: str | None) -> str:
    if profile is None:
        return ""
    try:
        return get(profile).name
    except ProfileError as error:
        raise ConfigError("--profile", "", str(error)) from None


def _finished(entries: dict[str, Entry], pinned: str, warnings: list[str]) -> Settings:
    """Builds the configuration of every profile in question, so that nothing can fail later."""
    settings = Settings(entries, pinned, ())
    profiles = [get(pinned)] if pinned else all_profiles()
    for one in profiles:
        config = settings._config(one)
        for concerned, message in contradictions(config):
            setter = next((entries[name] for name in reversed(list(entries)) if name in concerned), None)
            where, key = (setter.where, setter.key) if setter else (f"profile {one.name}", concerned[0])
            raise ConfigError(where, key, message)
    warnings.extend(remarks(settings.base()))
    return replace(settings, warnings=tuple(dict.fromkeys(warnings)))


@lru_cache(maxsize=64)
def _profile_entries(name: str) -> tuple[Entry, ...]:
    label = f"profile {name}"
    return tuple(from_tables(get(name).settings, Place(label, label)))


def _build(profile: Profile, entries: Mapping[str, Entry]) -> Config:
    values: dict[str, Any] = {}
    limits = dict(keys()[_LIMITS].default)
    for one in (*_profile_entries(profile.name), *entries.values()):
        if one.key.startswith(_LIMITS + "."):
            limits[one.key[len(_LIMITS) + 1 :]] = one.value
        else:
            values[one.key] = one.value
    values[_LIMITS] = IntTable(limits)
    return build(values)
