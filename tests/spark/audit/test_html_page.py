"""Plots as SVG, read as a browser and a screen reader do."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from airflow_config_providers.spark.audit.html_page import Bar, Plot, monday, percent, ranking, weekly

PLOT = Plot("By DAG", "leaks")


def tree(figure: str) -> ET.Element:
    return ET.fromstring(figure.replace("class=wide", 'class="wide"'))


def bars(figure: str, name: str = "bar") -> list[ET.Element]:
    return [rect for rect in tree(figure).iter("rect") if rect.get("class") == name]


def table(figure: str) -> list[list[str]]:
    return [[cell.text or "" for cell in row] for row in tree(figure).iter("tr")]


def described(figure: str) -> str:
    return tree(figure).findtext("svg/desc", "")


def test_a_bar_is_as_long_as_its_number():
    first, second = bars(ranking(PLOT, [Bar("a", 4), Bar("b", 1)]))

    assert float(first.get("width", 0)) == 4 * float(second.get("width", 0))


def test_the_numbers_are_in_a_table_and_in_the_description():
    figure = ranking(PLOT, [Bar("a", 4_000), Bar("b", 1)])

    assert table(figure) == [["name", "leaks"], ["a", "4,000"], ["b", "1"]]
    assert described(figure) == "a: 4,000; b: 1"
    assert tree(figure).findtext("svg/title") == "By DAG"


def test_a_part_is_shown_beside_its_whole():
    figure = ranking(PLOT, [Bar("a", 1, 4)])

    (part,), (whole,) = bars(figure), bars(figure, "whole")
    assert float(whole.get("width", 0)) == 4 * float(part.get("width", 0))
    assert table(figure) == [["name", "leaks", "of all", "share"], ["a", "1", "4", "25.0 %"]]


def test_of_many_bars_the_first_are_shown_and_the_others_counted():
    figure = ranking(PLOT, [Bar(f"dag{number}", 1) for number in range(20)], count=1_000)

    assert len(bars(figure)) == 15
    assert tree(figure).findtext("p") == "and 985 more"
    assert described(figure).endswith("dag14: 1; and 985 more")


def test_a_week_without_anything_has_its_place():
    weeks = [Bar("2026-11-02", 1), Bar("2026-11-16", 1), Bar("2026-11-23", 1)]

    places = [float(bar.get("x", 0)) for bar in bars(weekly(PLOT, weeks))]

    assert places[1] - places[0] == pytest.approx(2 * (places[2] - places[1]), abs=0.3)


def test_any_date_in_a_record_makes_no_endless_plot():
    figure = weekly(PLOT, [Bar("0001-01-01", 1), Bar("2026-11-16", 1), Bar("9999-12-27", 1)])

    assert len(bars(figure)) == 3


def test_only_the_last_year_is_drawn_and_the_table_has_all():
    figure = weekly(PLOT, [Bar(monday(f"20{year}-06-01"), 1) for year in range(10, 99)])

    assert len(bars(figure)) == 53
    assert len(table(figure)) == 1 + 89


def test_no_bars_are_no_figure():
    assert ranking(PLOT, []) == weekly(PLOT, []) == ""


def test_names_are_no_markup():
    figure = ranking(Plot("<b>", "<i>"), [Bar("<script>\x1b[31m", 1)])

    assert "<script" not in figure
    assert "\x1b" not in figure
    assert table(figure)[1][0] == "<script>\\x1b[31m"


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(0, 0, "0 %"), (0, 9, "0 %"), (9, 9, "100 %"), (1, 10_000, "0.1 %"), (9_999, 10_000, "99.9 %"), (1, 3, "33.3 %")],
)
def test_a_few_are_not_none_and_most_are_not_all(part: int, whole: int, shown: str):
    assert percent(part, whole) == shown
