"""Steps: each is given what it refers to, and returns what its flow can go on with."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, unit

_STEPS = "execution/test_steps.py::test_"

STEPS = (
    Sabotage(
        name="step-condition-not-judged",
        rule="A step whose condition does not hold is skipped.",
        file="execution/steps.py",
        find="if step.when is not None and not holds(step.when, values):",
        replace="if step.when is not None and not holds(step.when, values) and False:",
        tests=unit(f"{_STEPS}a_condition_that_does_not_hold_skips_the_step_and_one_that_cannot_be_judged_fails_it"),
    ),
    Sabotage(
        name="step-gaps-closed",
        rule="The results of a map stand in the order of its items, with None for what went badly.",
        file="execution/steps.py",
        find="found.append(budget.spent_on(result, name) if state is State.SUCCEEDED else None)",
        replace="found += [budget.spent_on(result, name)] if state is State.SUCCEEDED else []",
        tests=unit(f"{_STEPS}the_results_of_a_map_are_a_list_in_order_with_none_for_what_went_badly"),
    ),
    Sabotage(
        name="step-inner-argument-unresolved",
        rule="What a flow in a flow was given refers to the flow around it.",
        file="execution/steps.py",
        find="return copied(resolve(value, self._steps.values(flow)))",
        replace="return copied(value)",
        tests=unit(f"{_STEPS}a_flow_in_a_flow_is_given_what_the_outer_one_knows"),
    ),
    Sabotage(
        name="step-large-result-dropped",
        rule="A result that another step is given is kept whole, or fails the step.",
        file="execution/results.py",
        find="if expected.used_by is None:",
        replace="if True:",
        tests=unit(f"{_STEPS}a_result_of_five_megabytes_fails_a_step_only_if_another_is_given_it"),
    ),
    Sabotage(
        name="step-length-not-noted",
        rule="How long a list is that is mapped over is noted with its end.",
        file="execution/results.py",
        find="None if expected.mapped_by is None else _size(plain, expected.mapped_by)",
        replace="None",
        tests=unit(f"{_STEPS}the_length_of_a_list_is_noted_where_a_step_is_mapped_over_it"),
    ),
    Sabotage(
        name="step-shares-the-limit-of-its-flow",
        rule="A limit that a flow shares with a step in it is refused.",
        file="app/flows/checks.py",
        find="if group is not None and group in held:",
        replace="if group is not None and group in held and False:",
        tests=unit("app/flows/test_checks.py::test_a_limit_that_a_flow_shares_with_a_step_deep_in_it_is_refused"),
    ),
    Sabotage(
        name="item-taken-for-a-reference",
        rule="A value that looks like a reference stays a value.",
        file="model/references.py",
        find="return {VALUE: value} if _looks_marked(value) else value",
        replace="return value",
        tests=unit("model/test_references.py::test_an_item_is_put_in_the_place_of_its_references_and_stays_what_it_is"),
    ),
)
