"""The settings: defaults, which source wins, what is refused and how the refusal reads."""

from __future__ import annotations

import dataclasses
import json
import pickle
import string
import subprocess
import sys
import tomllib
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab import config as package
from compactlab.config import (
    Config,
    ConfigError,
    Settings,
    digest,
    reference_text,
    resolve,
    schema_rows,
    to_dict,
    to_toml,
)
from compactlab.config.errors import printable
from compactlab.config.fields import IntTable
from compactlab.config.locate import line_of, lines_of
from compactlab.config.schema import build, flatten, keys, tables

MIN = "auto.session_memory.min_tokens"


def value_of(config: Config, name: str) -> Any:
    return flatten(config)[name]


def refused(**sources: Any) -> ConfigError:
    """The error of sources that must not resolve, after a look at its shape."""
    with pytest.raises(ConfigError) as caught:
        resolve(**{"start": None, **sources})
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    assert text.isprintable()
    assert text.startswith(printable(caught.value.where))
    return caught.value


def written(folder: Path, text: str, name: str = "lab.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


class TestDefaults:
    def test_reference_file_holds_every_key_with_its_default(self) -> None:
        text = files("compactlab.config").joinpath("reference.toml").read_text(encoding="utf-8")
        assert text == reference_text(), "write it anew from reference_text()"
        assert tomllib.loads(text) == to_dict(Config())
        assert set(lines_of(text)) == set(keys()) | tables()

    def test_every_key_of_the_reference_stands_under_a_comment(self) -> None:
        lines = reference_text().splitlines()
        for name, number in lines_of(reference_text()).items():
            if name in keys():
                assert lines[number - 2].startswith("# "), name

    def test_reference_file_resolves_to_the_defaults(self, tmp_path: Path) -> None:
        settings = resolve(start=None, config_files=[written(tmp_path, reference_text())])
        assert settings.base() == Config()
        assert settings.for_version("2.1.1") == Config()
        assert settings.warnings == ()

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("window.reserve_cap", 20_000),
            ("window.auto_buffer", 13_000),
            ("window.warning_buffer", 20_000),
            ("window.blocking_buffer", 3_000),
            ("budget.per_result_chars", 50_000),
            ("budget.per_message_chars", 200_000),
            ("budget.preview_bytes", 2_000),
            ("snip.protect_last", 6),
            ("micro.time.gap_minutes", 60.0),
            ("micro.time.keep_recent", 5),
            ("micro.cached.trigger_threshold", 12),
            ("micro.tokens.target_tokens", 40_000),
            ("micro.tokens.min_saving", 20_000),
            ("micro.api.trigger_tokens", 100_000),
            ("collapse.commit_at", 0.9),
            ("auto.max_failures", 3),
            ("auto.session_memory.min_tokens", 10_000),
            ("auto.session_memory.min_text_block_messages", 5),
            ("auto.session_memory.max_tokens", 40_000),
            ("auto.full.files_budget", 50_000),
            ("auto.full.skills_budget", 25_000),
            ("memory.update_tokens", 5_000),
            ("summary.size", 4_000),
            ("tokens.image_tokens", 2_000),
        ],
    )
    def test_documented_numbers(self, name: str, value: object) -> None:
        assert value_of(Config(), name) == value

    def test_only_budget_and_auto_are_on(self) -> None:
        on = {
            name for name, value in flatten(Config()).items() if name.endswith(".enabled") and value is True
        }
        assert on == {"budget.enabled", "auto.enabled"}

    def test_tool_limits_and_exemptions(self) -> None:
        budget = Config().budget
        assert dict(budget.tool_limits) == {"Bash": 30_000, "Grep": 20_000}
        assert budget.exempt_tools == ("Read",)

    def test_schema_rows_cover_every_key(self) -> None:
        rows = schema_rows()
        assert [row["key"] for row in rows] == list(keys())
        for row in rows:
            assert set(row) == {"key", "type", "default", "unit", "doc"}
            assert row["doc"]
            assert row["type"]
        json.dumps(rows)

    def test_config_is_frozen_hashable_picklable_and_replaceable(self) -> None:
        config = Config()
        with pytest.raises(dataclasses.FrozenInstanceError):
            config.auto.enabled = False  # type: ignore[misc]
        assert not hasattr(config, "__dict__")
        assert hash(config) == hash(Config())
        assert pickle.loads(pickle.dumps(config)) == config
        changed = dataclasses.replace(config, auto=dataclasses.replace(config.auto, enabled=False))
        assert changed != config
        assert build({"auto.enabled": False}) == changed

    def test_pad_is_an_exact_fraction(self) -> None:
        assert Config().tokens.pad_ratio == Fraction(4, 3)
        settings = resolve(start=None, sets=["tokens.pad=1.33"])
        assert settings.base().tokens.pad_ratio == Fraction(133, 100)

    @pytest.mark.parametrize(
        ("source", "kind", "tokens", "ratio"),
        [
            ("stub", "stub", None, None),
            ("recorded", "recorded", None, None),
            ("cache", "cache", None, None),
            ("fixed:4400", "fixed", 4400, None),
            ("ratio:0.1", "ratio", None, 0.1),
            ("ratio:1", "ratio", None, 1.0),
        ],
    )
    def test_summary_source_is_parsed(
        self, source: str, kind: str, tokens: int | None, ratio: float | None
    ) -> None:
        summary = resolve(start=None, options={"summary.source": source}).base().summary
        assert (summary.kind, summary.fixed_tokens, summary.ratio) == (kind, tokens, ratio)

    def test_the_package_loads_its_names_late(self) -> None:
        code = "import sys, compactlab.config; print('compactlab.config.schema' in sys.modules)"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert run.stdout.strip() == "False"
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            _ = package.nonsense

    def test_no_third_party_is_imported(self) -> None:
        code = (
            "import sys; from compactlab.config import resolve; resolve(start=None).base();"
            "print([m for m in ('orjson', 'typer', 'pandas', 'difflib', 'rich') if m in sys.modules])"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert run.stdout.strip() == "[]"


class TestTable:
    def test_it_is_a_sorted_hashable_mapping(self) -> None:
        table = IntTable({"b": 2}, a=1)
        assert list(table) == ["a", "b"]
        assert table == {"a": 1, "b": 2}
        assert hash(table) == hash(IntTable(a=1, b=2))
        assert pickle.loads(pickle.dumps(table)) == table
        assert repr(table) == "IntTable({'a': 1, 'b': 2})"
        assert len(table) == 2


class TestPrecedence:
    """Each source wins over those before it: profile, file upward, --config, variables, --set, options."""

    def stages(self, folder: Path) -> list[tuple[str, dict[str, Any]]]:
        written(
            folder, f"[window]\nreserve_cap = 101\n[auto]\n# {MIN}\nmax_failures = 7\n", "compactlab.toml"
        )
        first = written(folder, "window.reserve_cap = 102\n", "first.toml")
        second = written(folder, "\n\n[window]\nreserve_cap = 103\n", "second.toml")
        return [
            ("default", {}),
            ("profile 2.1.20", {"profile": "2.1.20"}),
            ("compactlab.toml:2", {"start": folder}),
            ("first.toml:1", {"config_files": [first]}),
            ("second.toml:4", {"config_files": [first, second]}),
            ("env COMPACTLAB_WINDOW__RESERVE_CAP", {"env": {"COMPACTLAB_WINDOW__RESERVE_CAP": "104"}}),
            ("--set", {"sets": ["window.reserve_cap=1", "window.reserve_cap=105"]}),
            ("option window.reserve_cap", {"options": {"window.reserve_cap": 106}}),
        ]

    @pytest.mark.parametrize(
        ("count", "value"),
        [(2, 32_000), (3, 101), (4, 102), (5, 103), (6, 104), (7, 105), (8, 106)],
    )
    def test_the_last_stage_wins(self, tmp_path: Path, count: int, value: int) -> None:
        sources: dict[str, Any] = {"start": None}
        stages = self.stages(tmp_path)[:count]
        for _, more in stages:
            sources.update(more)
        settings = resolve(**sources)
        assert settings.base().window.reserve_cap == value
        assert settings.origins()["window.reserve_cap"] == stages[-1][0]

    def test_untouched_keys_keep_their_origin(self, tmp_path: Path) -> None:
        sources = {"start": None}
        for _, more in self.stages(tmp_path):
            sources.update(more)
        origins = resolve(**sources).origins()
        assert origins["auto.max_failures"] == "compactlab.toml:5"
        assert origins["auto.enabled"] == "default"
        assert origins["micro.tokens.enabled"] == "profile 2.1.20"
        assert list(origins) == sorted(origins)
        assert not [one for one in origins.values() if str(tmp_path) in one]

    def test_none_is_an_option_not_given(self) -> None:
        settings = resolve(start=None, sets=["window.tokens=5000"], options={"window.tokens": None})
        assert settings.base().window.tokens == 5000

    def test_named_options_have_their_names(self) -> None:
        options = {"window.tokens": 200_000, "tokens.counter": "heuristic", "summary.source": "recorded"}
        origins = resolve(start=None, options=options).origins()
        assert [origins[name] for name in options] == ["--window", "--counter", "--summary"]

    def test_with_options_lies_on_top(self) -> None:
        settings = resolve(start=None, sets=[f"{MIN}=5", "auto.max_failures=9"])
        swept = settings.with_options({MIN: 6})
        assert swept.base().auto.session_memory.min_tokens == 6
        assert swept.base().auto.max_failures == 9
        assert settings.base().auto.session_memory.min_tokens == 5
        with pytest.raises(ConfigError, match=r"^--window: window\.tokens: must be at least 0"):
            settings.with_options({"window.tokens": -1})

    def test_overrides_are_what_the_user_set(self) -> None:
        sets = ["micro.api.keep=4", "budget.tool_limits.Foo=7", "budget.enabled=false", "auto.enabled=false"]
        settings = resolve(start=None, sets=sets)
        assert settings.overrides() == {
            "auto": {"enabled": False},
            "budget": {"enabled": False, "tool_limits": {"Foo": 7}},
            "micro": {"api": {"keep": 4}},
        }
        assert list(settings.overrides()) == ["auto", "budget", "micro"]
        assert resolve(start=None).overrides() == {}

    def test_overrides_written_as_toml_resolve_to_the_same(self, tmp_path: Path) -> None:
        sets = [
            'budget.tool_limits.we"ird. name=7',
            "summary.cache=a\\b \x7f \"c\" 'd'",
            "snip.acknowledgements=好的,ok," + ",".join(f"word{n}" for n in range(40)),
            "collapse.stage_at=0.1",
            "auto.manual_at=",
        ]
        settings = resolve(start=None, sets=sets)
        again = resolve(start=None, config_files=[written(tmp_path, to_toml(settings.overrides()))])
        assert again.overrides() == settings.overrides()
        assert again.base() == settings.base()


class TestFiles:
    def test_found_upward_from_a_directory_below(self, tmp_path: Path) -> None:
        written(tmp_path, "[auto]\nenabled = false\n", "compactlab.toml")
        below = tmp_path / "a" / "b"
        below.mkdir(parents=True)
        settings = resolve(start=below)
        assert settings.base().auto.enabled is False
        assert settings.origins()["auto.enabled"] == "../../compactlab.toml:2"

    def test_the_nearest_file_is_the_only_one(self, tmp_path: Path) -> None:
        written(tmp_path, "[auto]\nenabled = false\n", "compactlab.toml")
        written(tmp_path, "[snip]\nenabled = true\n", "a/compactlab.toml")
        base = resolve(start=tmp_path / "a").base()
        assert (base.auto.enabled, base.snip.enabled) == (True, True)

    def test_own_file_wins_over_pyproject_beside_it(self, tmp_path: Path) -> None:
        written(tmp_path, "[window]\ntokens = 1000000\n", "compactlab.toml")
        written(tmp_path, "[tool.compactlab.window]\ntokens = 500000\n", "pyproject.toml")
        assert resolve(start=tmp_path).base().window.tokens == 1_000_000

    def test_pyproject_table(self, tmp_path: Path) -> None:
        text = '[project]\nname = "x"\n\n[tool.compactlab.auto.session_memory]\nmin_tokens = 7\n'
        path = written(tmp_path, text, "pyproject.toml")
        for sources in ({"start": tmp_path}, {"start": None, "config_files": [path]}):
            settings = resolve(**sources)  # type: ignore[arg-type]
            assert settings.base().auto.session_memory.min_tokens == 7
            assert settings.origins()[MIN] == "pyproject.toml:5"

    def test_a_strangers_pyproject_is_passed_over(self, tmp_path: Path) -> None:
        written(tmp_path, "[auto]\nenabled = false\n", "compactlab.toml")
        for number, text in enumerate(
            [
                "[project]\n",
                "[project\n",
                '[project]\ndependencies = ["compactlab"',
                "[tool]\nx = 'compactlab'",
            ]
        ):
            written(tmp_path, text, f"{number}/pyproject.toml")
            assert resolve(start=tmp_path / str(number)).base().auto.enabled is False

    def test_our_own_broken_pyproject_is_not(self, tmp_path: Path) -> None:
        written(tmp_path, "[tool.compactlab]\nx = \n", "pyproject.toml")
        assert str(refused(start=tmp_path)).startswith("pyproject.toml:2: not valid TOML")

    def test_a_named_pyproject_needs_our_table(self, tmp_path: Path) -> None:
        path = written(tmp_path, "[project]\n", "pyproject.toml")
        assert "no such table" in str(refused(config_files=[path]))
        written(tmp_path, "[tool]\ncompactlab = 3\n", "pyproject.toml")
        assert "expected a table, got 3" in str(refused(config_files=[path]))

    def test_no_file_at_all(self, tmp_path: Path) -> None:
        assert resolve(start=tmp_path / "absent").overrides() == {}

    def test_byte_order_mark_and_crlf(self, tmp_path: Path) -> None:
        path = tmp_path / "c.toml"
        path.write_bytes(b"\xef\xbb\xbf[auto]\r\nenabled = false\r\n")
        assert resolve(start=None, config_files=[path]).base().auto.enabled is False

    @pytest.mark.parametrize(
        ("content", "place", "said"),
        [
            (b"[auto]\nenabled = tru\n", ":2", "not valid TOML"),
            (b'x = """', ":1", "not valid TOML"),
            (b"x = " + b"[" * 6000, "", "not valid TOML"),
            (b"\n\nx = '\xff'", ":3", "not UTF-8"),
            (b"[auto]\n\n[auto.session_memory]\n# c\nmin_token = 3\n", ":5", f"did you mean {MIN}?"),
            (b"[autoo]\nenabled = true", ":1", "did you mean auto?"),
            (b"auto = 3", ":1", "is a table"),
            (b"[[auto]]\nenabled = true", ":1", "is a table"),
            (b"[window]\n'tokens' = 'x'", ":2", "expected a whole number, got 'x'"),
            (b"[auto]\nsession_memory = { min_tokens = 1.5 }", ":2", "expected a whole number, got 1.5"),
            (b"[window]\ntokens = 1979-05-27", ":2", "expected a whole number"),
            (b"[collapse]\ncommit_at = 0.99", ":2", "must not fall"),
            (b"[budget]\ntool_limits = { Bash = 0 }", ":2", "must be at least 1"),
            (b'[budget]\ntool_limits = { "" = 5 }', ":2", "an entry is empty"),
        ],
    )
    def test_errors_name_file_and_line(self, tmp_path: Path, content: bytes, place: str, said: str) -> None:
        path = tmp_path / "c.toml"
        path.write_bytes(content)
        error = refused(config_files=[path])
        assert error.where.startswith(f"{path}{place}")
        assert said in str(error)

    def test_unusable_paths(self, tmp_path: Path) -> None:
        assert "no such file" in str(refused(config_files=[tmp_path / "absent.toml"]))
        assert "is a directory" in str(refused(config_files=[tmp_path]))
        assert "cannot be read" in str(refused(config_files=[Path("a\0b")]))


class TestLines:
    TEXT = "a.b = 1\n[x.'y z']\n\"k\" = '''\nk2 = 3\n'''\nk3 = [\n  1,\n]\n[[list]]\nlast = { in = 1 }  # c = 2\n"

    def test_lines_of_keys(self) -> None:
        assert lines_of(self.TEXT) == {
            "a": 1,
            "a.b": 1,
            "x.y z": 2,
            "x": 3,
            "x.y z.k": 3,
            "x.y z.k3": 6,
            "list": 9,
            "list.last": 10,
        }

    def test_an_unknown_key_has_the_line_of_its_table(self) -> None:
        lines = lines_of(self.TEXT)
        assert line_of("list.last.in", lines) == 10
        assert line_of("nowhere.at.all", lines) is None


class TestEnvironment:
    def test_only_our_variables_are_looked_at(self) -> None:
        env = {"HOME": "/x", "_COMPACTLAB_COMPLETE": "bash", "XCOMPACTLAB_A": "1"}
        assert resolve(start=None, env=env).overrides() == {}

    def test_values_by_type(self) -> None:
        env = {
            "COMPACTLAB_AUTO__SESSION_MEMORY__MIN_TOKENS": " 12_000 ",
            "COMPACTLAB_COLLAPSE__STAGE_AT": "0.5",
            "COMPACTLAB_SNIP__ENABLED": "true",
            "COMPACTLAB_SUMMARY__SOURCE": "recorded",
            "COMPACTLAB_COST__MODEL": "5",
            "COMPACTLAB_SUMMARY__CACHE": "",
            "COMPACTLAB_MICRO__COMPACTABLE_TOOLS": "Read, Bash",
            "COMPACTLAB_FAULTS__OVERFLOW_AT": "3, 1, 3",
            "COMPACTLAB_BUDGET__TOOL_LIMITS__BASH": "9",
            "COMPACTLAB_BUDGET__TOOL_LIMITS__mcp__x": "8",
            "COMPACTLAB_micro__time__keep_recent": "2",
        }
        base = resolve(start=None, env=env).base()
        assert base.auto.session_memory.min_tokens == 12_000
        assert base.collapse.stage_at == 0.5
        assert base.snip.enabled is True
        assert base.summary.source == "recorded"
        assert base.cost.model == "5"
        assert base.micro.compactable_tools == ("Read", "Bash")
        assert base.faults.overflow_at == (1, 3)
        assert dict(base.budget.tool_limits) == {"Bash": 9, "Grep": 20_000, "mcp.x": 8}
        assert base.micro.time.keep_recent == 2

    def test_one_quoted_string_is_a_list_of_one(self) -> None:
        env = {"COMPACTLAB_SNIP__ACKNOWLEDGEMENTS": '"well, ok"'}
        assert resolve(start=None, env=env).base().snip.acknowledgements == ("well, ok",)

    def test_a_whole_table_of_limits(self) -> None:
        env = {"COMPACTLAB_BUDGET__TOOL_LIMITS": "{ Bash = 5, mcp__x = 6 }"}
        limits = resolve(start=None, env=env).base().budget.tool_limits
        assert dict(limits) == {"Bash": 5, "Grep": 20_000, "mcp__x": 6}

    @pytest.mark.parametrize(
        ("variable", "meant"),
        [
            ("COMPACTLAB_WINDOW_TOKENS", "COMPACTLAB_WINDOW__TOKENS"),
            ("COMPACTLAB_WINDOW__TOKEN", "COMPACTLAB_WINDOW__TOKENS"),
            ("COMPACTLAB_MIN_TOKENS", "COMPACTLAB_AUTO__SESSION_MEMORY__MIN_TOKENS"),
            ("COMPACTLAB_SUMMARY_ON_MISS", "COMPACTLAB_SUMMARY__ON_MISS"),
        ],
    )
    def test_unknown_variables_name_the_nearest(self, variable: str, meant: str) -> None:
        error = refused(env={variable: "1"})
        assert error.where == variable
        assert f"did you mean {meant}?" in str(error)

    @pytest.mark.parametrize("variable", ["COMPACTLAB_", "COMPACTLAB_PROFILE", "COMPACTLAB___"])
    def test_unknown_variables_far_from_any(self, variable: str) -> None:
        assert "unknown setting" in str(refused(env={variable: "1"}))

    def test_a_table_is_no_setting(self) -> None:
        assert "is a table; set one of its keys" in str(refused(env={"COMPACTLAB_AUTO": "1"}))


class TestRefusals:
    @pytest.mark.parametrize(
        ("pair", "said"),
        [
            ("min_tokens=3", f"min_tokens: unknown key; did you mean {MIN}?"),
            ("auto.enabld=true", "did you mean auto.enabled?"),
            ("colapse.enabled=true", "did you mean collapse.enabled?"),
            (
                "keep_recent=3",
                "did you mean micro.cached.keep_recent, micro.time.keep_recent or micro.tokens.keep_recent?",
            ),
            ("auto=false", "auto: is a table; set one of its keys, such as auto.enabled"),
            ("budget.tool_limits.=3", "did you mean budget.tool_limits?"),
            ("quux.zzz=3", "`compactlab config schema` lists all keys"),
            ("auto.enabled.x=3", "unknown key"),
            ("window.tokens", "'window.tokens' is not key=value"),
            ("=3", "is not key=value"),
            ("auto.enabled=yes", "expected true or false, got 'yes'"),
            ("auto.enabled=1", "expected true or false, got 1"),
            ("window.tokens=true", "expected a whole number, got True"),
            ("window.tokens=1.0", "expected a whole number, got 1.0"),
            ("window.tokens=", "expected a whole number, got ''"),
            ("window.tokens=1\nx=2", "expected a whole number"),
            ("window.tokens=-1", "must be at least 0, got -1"),
            ("window.tokens=9999999999999", "must be at most 1,000,000,000,000"),
            ("window.tokens=" + "9" * 5000, "expected a whole number"),
            ("window.pct_override=101", "must be at most 100, got 101"),
            ("window.pct_override=-0.1", "must be at least 0"),
            ("tokens.pad=nan", "nan is no number"),
            ("tokens.pad=inf", "must be at most 100"),
            ("tokens.pad=true", "expected a number, got True"),
            ("tokens.chars_per_token=0", "must be above 0, got 0"),
            ("tokens.counter=o200k_bas", "did you mean o200k_base?"),
            ("tokens.counter=gpt", "choose auto, recorded, heuristic, o200k_base or cl100k_base"),
            ("cost.ttl=1d", "choose 5m, 1h or auto"),
            ("auto.session_memory.count=paded", "did you mean padded?"),
            ("summary.on_miss=ignore", "choose error or stub"),
            ("summary.source=recorder", "did you mean recorded?"),
            ("summary.source=", "choose stub, recorded, cache, fixed:N or ratio:R"),
            ("summary.source=stub:3", "unknown value 'stub:3'"),
            ("summary.source=fixed:", "as in fixed:4000"),
            ("summary.source=fixed:-3", "as in fixed:4000"),
            ("summary.source=fixed:0", "as in fixed:4000"),
            ("summary.source=ratio:0", "as in ratio:0.1"),
            ("summary.source=ratio:1.5", "as in ratio:0.1"),
            ("summary.source=ratio:1_0", "as in ratio:0.1"),
            ("summary.source=ratio:.1.", "as in ratio:0.1"),
            ("summary.source=ratio:nan", "as in ratio:0.1"),
            ("collapse.stage_at=0", "must be above 0, got 0"),
            ("collapse.block_at=1.01", "must be at most 1, got 1.01"),
            ("collapse.stage_at=0.92", "collapse.stage_at: stage_at, commit_at and block_at must not fall"),
            ("collapse.block_at=0.5", "collapse.block_at: stage_at, commit_at and block_at must not fall"),
            ("micro.time.keep_recent=0", "must be at least 1"),
            ("auto.max_failures=0", "must be at least 1"),
            ("snip.acknowledgements=a,,b", "an entry is empty"),
            ("snip.acknowledgements=[1]", "expected a list of strings, got [1]"),
            ("faults.overflow_at=1,x", "expected a whole number, got 'x'"),
            ("faults.overflow_at=-1", "must be at least 0"),
            ("budget.tool_limits=3", "expected a table of whole numbers, got 3"),
            ("budget.tool_limits.Bash=0", "budget.tool_limits.Bash: must be at least 1"),
            ("cost.model=a\udcffb", "is not valid Unicode"),
            (f"{MIN}=true", "expected a whole number, got True"),
            (f"{MIN}=-0.5", "expected a whole number, got -0.5"),
            (f"{MIN}=[[[", "expected a whole number, got '[[['"),
            ("a\nb\x1b[0m=3", "a\\nb\\x1b[0m: unknown key"),
            ("x" * 5000 + "=1", "unknown key"),
        ],
    )
    def test_a_wrong_pair(self, pair: str, said: str) -> None:
        error = refused(sets=[pair])
        assert error.where == "--set"
        assert said in str(error)
        assert len(str(error)) < 400

    def test_wrong_options(self) -> None:
        assert str(refused(options={"window.tokens": "x"})).startswith("--window: window.tokens: expected")
        assert "did you mean window.tokens?" in str(refused(options={"windw.tokens": 1}))
        assert "that is too long to show" in str(refused(options={"auto.enabled": 10**5000}))
        assert "too long to show" in str(refused(options={"window.tokens": -(10**5000)}))

    def test_wrong_profiles(self) -> None:
        assert "did you mean current?" in str(refused(profile="curent"))
        assert refused(profile="").where == "--profile"

    def test_an_error_survives_a_process_boundary(self) -> None:
        error = pickle.loads(pickle.dumps(refused(sets=["min_tokens=3"])))
        assert (error.where, error.key) == ("--set", "min_tokens")
        assert str(error).startswith("--set: min_tokens: unknown key")

    def test_more_than_the_most_kept_is_allowed(self) -> None:
        memory = resolve(start=None, sets=[f"{MIN}=50000"]).base().auto.session_memory
        assert memory.min_tokens > memory.max_tokens

    @pytest.mark.parametrize("levels", [(0.9, 0.9, 0.9), (0.1, 1, 1)])
    def test_equal_levels_are_allowed(self, levels: tuple[float, float, float]) -> None:
        names = ("collapse.stage_at", "collapse.commit_at", "collapse.block_at")
        collapse = resolve(start=None, options=dict(zip(names, levels, strict=True))).base().collapse
        assert (collapse.stage_at, collapse.commit_at, collapse.block_at) == levels


class TestNeverReplaced:
    """A session-memory number of 0 or less is left out, so that what is in force stays."""

    @pytest.mark.parametrize(
        "name", ["min_tokens", "min_text_block_messages", "max_tokens", "max_section_tokens"]
    )
    @pytest.mark.parametrize("value", [0, -1, -(10**30)])
    def test_the_default_stays(self, name: str, value: int) -> None:
        key = f"auto.session_memory.{name}"
        settings = resolve(start=None, sets=[f"{key}={value}"])
        assert settings.base() == Config()
        assert settings.overrides() == {}
        assert settings.origins()[key] == "default"
        assert settings.warnings == (f"--set: {key}: 0 or less is ignored; the value in force stays",)

    def test_a_lower_stage_stays_too(self) -> None:
        env = {"COMPACTLAB_AUTO__SESSION_MEMORY__MIN_TOKENS": "7"}
        settings = resolve(start=None, env=env, options={MIN: 0})
        assert settings.base().auto.session_memory.min_tokens == 7
        assert len(settings.warnings) == 1
        assert settings.with_options({MIN: -3}).base() == settings.base()

    def test_the_smallest_positive_number_counts(self) -> None:
        assert resolve(start=None, sets=[f"{MIN}=1"]).base().auto.session_memory.min_tokens == 1


class TestRemarks:
    def test_a_window_without_room(self) -> None:
        (remark,) = resolve(start=None, options={"window.tokens": 30_000}).warnings
        assert remark.startswith("window.tokens: 30000 leaves no room")

    def test_both_forces(self) -> None:
        sets = ["auto.session_memory.force_enable=true", "auto.session_memory.force_disable=true"]
        assert "force_enable wins" in resolve(start=None, sets=sets).warnings[0]

    def test_an_ordinary_run_has_none(self) -> None:
        assert resolve(start=None, options={"window.tokens": 200_000}).warnings == ()


class TestSettings:
    def test_versions_choose_profiles_unless_one_is_asked_for(self) -> None:
        free, pinned = resolve(start=None), resolve(start=None, profile="2.1.20")
        assert [free.profile_name(one) for one in ("2.1.1", "2.1.15", None)] == ["2.1.1", "2.1.20", "current"]
        assert [pinned.profile_name(one) for one in ("2.1.1", "2.1.99", None)] == ["2.1.20"] * 3
        assert free.for_version("2.1.15") == pinned.base()
        assert resolve(start=None, profile="2.1.5").pinned == "2.1.7"

    def test_what_the_user_sets_wins_over_every_profile(self) -> None:
        settings = resolve(start=None, sets=["window.reserve_cap=1"])
        caps = {settings.for_version(one).window.reserve_cap for one in ("2.0.1", "2.1.7", "2.1.15", None)}
        assert caps == {1}

    def test_one_object_a_profile(self) -> None:
        settings = resolve(start=None)
        assert settings.for_version("2.1.13") is settings.for_version("2.1.14")

    def test_it_is_immutable_and_picklable(self) -> None:
        settings = resolve(start=None, sets=["auto.manual_at=3"])
        with pytest.raises(dataclasses.FrozenInstanceError):
            settings.pinned = "x"  # type: ignore[misc]
        again: Settings = pickle.loads(pickle.dumps(settings))
        assert again == settings
        assert again.for_version("2.1.2") == settings.for_version("2.1.2")


class TestDigest:
    def test_known_value_on_every_machine(self) -> None:
        assert digest({"b": [1, 0.1, "é"], "a": True}) == digest({"a": True, "b": [1, 0.1, "é"]})
        assert digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

    def test_a_config_of_the_same_values_has_the_same_digest(self, tmp_path: Path) -> None:
        path = written(tmp_path, "[micro.time]\ngap_minutes = 30\n[faults]\noverflow_at = [2, 1]\n")
        by_file = resolve(start=None, config_files=[path])
        by_set = resolve(start=None, sets=["faults.overflow_at=1,2", "micro.time.gap_minutes=30.0"])
        assert digest(to_dict(by_file.base())) == digest(to_dict(by_set.base()))
        assert digest(by_file.overrides()) == digest(by_set.overrides())

    @pytest.mark.parametrize("seed", ["0", "1", "random"])
    def test_it_does_not_depend_on_the_hash_seed(self, seed: str) -> None:
        code = "from compactlab.config import *; print(digest(to_dict(resolve(start=None).base())))"
        run = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )
        assert run.stdout.strip() == digest(to_dict(Config()))

    def test_to_dict_is_sorted_plain_json(self) -> None:
        plain = to_dict(Config())
        assert json.dumps(plain) == json.dumps(plain, sort_keys=True)
        assert json.loads(json.dumps(plain)) == plain


NAMES = st.one_of(
    st.sampled_from([*keys(), *sorted(tables()), "budget.tool_limits.Bash"]),
    st.text(string.ascii_lowercase + "._\n\x1b", max_size=20),
    st.text(max_size=10),
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=12),
        st.sampled_from(["fixed:3", "ratio:.5", "5m", "error"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def resolves_or_refuses(**sources: Any) -> None:
    """Either a configuration that survives its own TOML and JSON, or one line."""
    try:
        settings = resolve(**{"start": None, **sources})
    except ConfigError as error:
        text = str(error)
        assert text
        assert len(text.splitlines()) == 1
        assert text.isprintable()
        return
    plain = to_dict(settings.base())
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert tomllib.loads(to_toml(plain)) == plain
    assert tomllib.loads(to_toml(settings.overrides())) == settings.overrides()
    assert digest(plain).startswith("sha256:")


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_any_options_resolve_or_are_refused_in_one_line(options: dict[str, Any]) -> None:
    resolves_or_refuses(options=options)


@given(st.lists(st.tuples(NAMES, st.text(max_size=15)), max_size=3))
def test_any_pairs_and_variables_too(pairs: list[tuple[str, str]]) -> None:
    resolves_or_refuses(sets=[f"{name}={text}" for name, text in pairs])
    resolves_or_refuses(env={f"COMPACTLAB_{name.upper().replace('.', '__')}": text for name, text in pairs})


@given(st.text(max_size=60))
def test_the_scan_for_lines_never_fails(text: str) -> None:
    assert all(number >= 1 for number in lines_of(text).values())
