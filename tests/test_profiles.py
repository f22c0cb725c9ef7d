"""What changes with the version and the model: profiles, windows, output limits, prices."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.config import resolve
from compactlab.profiles import catalog, models, prices
from compactlab.profiles.naming import ModelName, parse_model


class TestCatalog:
    @pytest.mark.parametrize(
        ("version", "name"),
        [
            ("0.9", "2.1.1"),
            ("2.0.76", "2.1.1"),
            ("2.1", "2.1.1"),
            ("2.1.1", "2.1.1"),
            ("2.1.2", "2.1.7"),
            ("2.1.7", "2.1.7"),
            ("2.1.11", "2.1.7"),
            ("2.1.11.5", "2.1.7"),
            ("2.1.12", "2.1.20"),
            ("2.1.20", "2.1.20"),
            ("2.1.21", "2.1.22"),
            ("2.1.22", "2.1.22"),
            ("2.1.23", "2.1.29"),
            ("2.1.29", "2.1.29"),
            ("2.1.30", "current"),
            ("2.1.217", "current"),
            ("3", "current"),
            (None, "current"),
            ("", "current"),
            ("newest", "current"),
            ("2.x.1", "current"),
            ("2.1.-1", "current"),
            ("9" * 5000, "current"),
            ("v2.1.20", "2.1.20"),
            ("2.1.20-beta.3", "2.1.20"),
            ("2.1.20+local", "2.1.20"),
            (" 2.1.02 ", "2.1.7"),
        ],
    )
    def test_borders(self, version: str | None, name: str) -> None:
        assert catalog.find(version).name == name

    @pytest.mark.parametrize(
        ("version", "reserve", "figure", "reminder", "clears"),
        [
            ("2.1.1", 32_000, "last_line", False, False),
            ("2.1.7", 32_000, "program", True, False),
            ("2.1.20", 32_000, "last_line", True, True),
            ("2.1.22", 20_000, "last_line", True, True),
            ("2.1.29", 20_000, "last_line", True, False),
            ("2.1.36", 20_000, "program", True, False),
        ],
    )
    def test_numbers(self, version: str, reserve: int, figure: str, reminder: bool, clears: bool) -> None:
        config = resolve(start=None).for_version(version)
        assert config.window.reserve_cap == reserve
        assert config.tokens.output_figure == figure
        assert config.tokens.read_reminder is reminder
        assert config.micro.tokens.enabled is clears

    def test_the_ranges_follow_each_other(self) -> None:
        profiles = catalog.all_profiles()
        assert profiles[0].first == ""
        assert profiles[-1].last == ""
        for before, after in pairwise(profiles):
            *head, last = catalog.parse_version(before.last) or ()
            assert catalog.parse_version(after.first) == (*head, last + 1)

    def test_names_are_unique_and_notes_are_sentences(self) -> None:
        profiles = catalog.all_profiles()
        assert len({one.name for one in profiles}) == len(profiles)
        for one in profiles:
            assert one.note.endswith(".")
            assert "\n" not in one.note

    def test_get_takes_names_and_versions(self) -> None:
        for one in catalog.all_profiles():
            assert catalog.get(one.name) is one
        assert catalog.get("2.1.15").name == "2.1.20"

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("curent", "did you mean current"),
            ("zz", "choose one of 2.1.1, 2.1.7"),
            ("a\nb" * 99, "unknown profile"),
        ],
    )
    def test_an_unknown_name(self, name: str, said: str) -> None:
        with pytest.raises(catalog.ProfileError, match=re.escape(said)) as caught:
            catalog.get(name)
        assert len(str(caught.value).splitlines()) == 1

    @given(st.lists(st.integers(0, 400), min_size=3, max_size=3))
    def test_a_release_lies_in_the_range_of_its_profile(self, numbers: list[int]) -> None:
        version = ".".join(map(str, numbers))
        parsed, profile = catalog.parse_version(version), catalog.find(version)
        assert parsed is not None
        assert (catalog.parse_version(profile.first) or ()) <= parsed
        assert parsed <= (catalog.parse_version(profile.last) or (10**9,))

    @given(st.text())
    def test_any_text_has_a_profile(self, version: str) -> None:
        assert catalog.find(version) in catalog.all_profiles()


class TestNames:
    @pytest.mark.parametrize(
        ("name", "family", "version"),
        [
            ("claude-opus-4-5-20251101", "opus", (4, 5)),
            ("claude-opus-4-20250514", "opus", (4,)),
            ("claude-3-5-sonnet-20241022", "sonnet", (3, 5)),
            ("claude-3-opus-latest", "opus", (3,)),
            ("claude-opus-5", "opus", (5,)),
            ("claude-opus-4.5", "opus", (4, 5)),
            ("Claude-Haiku-4-5", "haiku", (4, 5)),
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", "opus", (4, 5)),
            ("anthropic/claude-sonnet-4@20250514", "sonnet", (4,)),
            ("claude-sonnet-4-5[1m]", "sonnet", (4, 5)),
            ("claude-opus", "opus", (0,)),
        ],
    )
    def test_family_and_version(self, name: str, family: str, version: tuple[int, ...]) -> None:
        assert parse_model(name) == ModelName(family, version)

    @pytest.mark.parametrize("name", ["<synthetic>", "", None, "gpt-5", "sonnet", "claude-2.1"])
    def test_names_without_a_family(self, name: str | None) -> None:
        assert parse_model(name) is None


class TestModels:
    @pytest.mark.parametrize("data", [models._data(), prices._data()])
    def test_every_family_has_a_rule_from_zero(self, data: dict[str, object]) -> None:
        families = [rules for rules in data.values() if isinstance(rules, list)]
        assert families
        assert all("0" in [rule["from"] for rule in rules] for rules in families)

    @pytest.mark.parametrize(
        ("name", "window"),
        [
            ("claude-3-5-sonnet-20241022", 200_000),
            ("claude-3-opus-20240229", 200_000),
            ("claude-opus-4-20250514", 200_000),
            ("claude-opus-4-1-20250805", 200_000),
            ("claude-opus-4-5-20251101", 200_000),
            ("claude-opus-4-6", 200_000),
            ("claude-opus-4-7", 200_000),
            ("claude-opus-4-8", 1_000_000),
            ("claude-opus-4-10", 1_000_000),
            ("claude-opus-5", 1_000_000),
            ("claude-opus-5-1-20270101", 1_000_000),
            ("claude-sonnet-4-5-20250929", 200_000),
            ("claude-sonnet-4-6", 200_000),
            ("claude-sonnet-5", 1_000_000),
            ("claude-haiku-4-5-20251001", 200_000),
            ("claude-fable-5", 1_000_000),
            ("claude-fable-6", 1_000_000),
            ("claude-opus-4-5[1m]", 1_000_000),
            ("<synthetic>", 200_000),
            ("someone-else-9", 200_000),
            ("claude-default-5", 200_000),
            ("claude-newfamily-5", 200_000),
            ("", 200_000),
            (None, 200_000),
        ],
    )
    def test_windows(self, name: str | None, window: int) -> None:
        assert models.window_for(name) == window

    @pytest.mark.parametrize(
        ("name", "tokens"),
        [
            ("claude-opus-4-1", 32_000),
            ("claude-opus-4-5", 64_000),
            ("claude-sonnet-4-5", 64_000),
            ("claude-haiku-4-5", 64_000),
            ("claude-3-5-haiku-20241022", 8_192),
            ("claude-3-opus-20240229", 4_096),
            ("unknown", 32_000),
        ],
    )
    def test_output_limits(self, name: str, tokens: int) -> None:
        assert models.max_output(name) == tokens


class TestPrices:
    @pytest.mark.parametrize(
        ("name", "price", "output", "assumed"),
        [
            ("claude-opus-4-20250514", 15, 75, False),
            ("claude-opus-4-1-20250805", 15, 75, False),
            ("claude-opus-4-5-20251101", 5, 25, False),
            ("claude-opus-4-6", 5, 25, False),
            ("claude-opus-4-8", 5, 25, True),
            ("claude-opus-5", 5, 25, True),
            ("claude-sonnet-4-5-20250929", 3, 15, False),
            ("claude-3-5-sonnet-20241022", 3, 15, False),
            ("claude-sonnet-5", 3, 15, True),
            ("claude-haiku-4-5-20251001", 1, 5, False),
            ("claude-3-5-haiku-20241022", 0.8, 4, False),
            ("claude-fable-5", 5, 25, True),
            ("claude-cache-5", 5, 25, True),
            ("someone-else", 5, 25, True),
            (None, 5, 25, True),
        ],
    )
    def test_list_prices(self, name: str | None, price: float, output: float, assumed: bool) -> None:
        found = prices.price_for(name)
        assert (found.input, found.output, found.assumed) == (price, output, assumed)

    def test_cache_prices_are_shares_of_input(self) -> None:
        price = prices.price_for("claude-sonnet-4-5")
        assert (price.cache_write_5m, price.cache_write_1h, price.cache_read) == (3.75, 6.0, 0.3)

    def test_the_table_is_dated(self) -> None:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", prices.as_of())
        assert prices.price_for("claude-opus-4-5").as_of == prices.as_of()

    @given(st.text())
    def test_any_name_has_a_price_and_a_window(self, name: str) -> None:
        assert prices.price_for("claude-" + name).input > 0
        assert models.window_for(name) > 0
        assert models.max_output("claude-" + name) > 0
